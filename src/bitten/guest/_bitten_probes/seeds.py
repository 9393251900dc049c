"""Who seeded what, on which line; which random states loader workers begin with; and what hangs on the hash seed of strings.

Two parts do the work: worker_states.py and set_order.py. Reading a state draws nothing. Which operations of a device are not deterministic
is not watched: the flags that govern it are told.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")
worker_states: Any = hook.load("_bitten_probes.worker_states")
set_order: Any = hook.load("_bitten_probes.set_order")

MANY = 20
MOST_LINES = 64

FACTS = {
    "seeds.library": {
        "says": "whose generator a line seeded", "unit": "python, numpy, numpy generator or torch", "threshold": "", "source": "",
        "misfires": "",
    },
    "seeds.seed": {
        "says": "the seed it gave first; the name of a type where that is no number", "unit": "number", "threshold": "", "source": "",
        "misfires": "",
    },
    "seeds.calls": {"says": "how often the line seeded", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "seeds.same_seed_calls": {
        "says": "how often it gave that same seed", "unit": "calls", "threshold": "a hint at 20, where an optimizer stepped",
        "source": "ours: what is drawn after it is the same each time", "misfires": "evaluation that is made repeatable on purpose",
    },
    "seeds.first_at_step": {
        "says": "steps made before the line first seeded", "unit": "steps", "threshold": "", "source": "", "misfires": "",
    },
    "seeds.python_seeded": {
        "says": "a line of the program seeded the module random", "unit": "true or false", "threshold": "", "source": "",
        "misfires": "a seed set by a library on its own account is not seen",
    },
    "seeds.numpy_seeded": {
        "says": "a line of the program seeded numpy's global generator", "unit": "true or false", "threshold": "", "source": "",
        "misfires": "as for python",
    },
    "seeds.torch_seeded": {
        "says": "a line of the program seeded torch", "unit": "true or false", "threshold": "", "source": "", "misfires": "as for python",
    },
    "seeds.hash_seed": {
        "says": "PYTHONHASHSEED in the environment, empty where unset", "unit": "", "threshold": "", "source": "",
        "misfires": "set by the program after its start it has no effect on itself",
    },
    "seeds.hash_is_random": {
        "says": "whether hashes of strings differ from seed to seed", "unit": "true or false", "threshold": "", "source": "",
        "misfires": "",
    },
    "seeds.deterministic": {
        "says": "torch.use_deterministic_algorithms at the end", "unit": "true or false", "threshold": "", "source": "", "misfires": "",
    },
    "seeds.cudnn_benchmark": {
        "says": "cuDNN picks its algorithms by timing them", "unit": "true or false", "threshold": "", "source": "", "misfires": "",
    },
    "seeds.cudnn_deterministic": {
        "says": "cuDNN is held to deterministic algorithms", "unit": "true or false", "threshold": "", "source": "", "misfires": "",
    },
    "seeds.matmul_precision": {
        "says": "float32 matrix products: highest, or high and medium with TF32 or bfloat16", "unit": "highest, high or medium",
        "threshold": "", "source": "", "misfires": "",
    },
    "seeds.generators_drawn_in_workers": {
        "says": "generators that the first batches of a training loader's workers drew from", "unit": "paths", "threshold": "",
        "source": "", "misfires": "map-style datasets only; a worker that fetched one batch is not told of",
    },
    "seeds.generators_copied": {
        "says": "generators among them that began alike", "unit": "generators", "threshold": "", "source": "", "misfires": "",
    },
    "seeds.generator": {
        "says": "the path of a generator below its dataset or module, or the name of a global one", "unit": "", "threshold": "",
        "source": "", "misfires": "",
    },
    "seeds.workers_alike": {
        "says": "workers of one pass that began with the same state of a generator that two batches drew from", "unit": "workers",
        "threshold": "2, for a map-style dataset that trains", "source": "pytorch issue 5059 and its many likes",
        "misfires": "draws that must not differ from worker to worker",
    },
    "seeds.passes_alike": {
        "says": "passes of one training in which a worker began with the same state", "unit": "passes", "threshold": "2, as above",
        "source": "the same reports: a copy is made anew for each pass", "misfires": "draws wanted alike in every epoch",
    },
    "seeds.names_in_set_order": {
        "says": "the first names of a list or numbering that stands in a set's order", "unit": "names",
        "threshold": "any, where a process without training loads weights, its module has as many classes, features or rows, no file"
        " brought the names in an order, string hashes are random, and a line of the program takes an order from a set",
        "source": "the Python documentation on PYTHONHASHSEED",
        "misfires": "an order that was written to a text file, or that nothing hangs on",
    },
    "seeds.names": {"says": "how many names stand in it", "unit": "names", "threshold": "", "source": "", "misfires": ""},
}  # fmt: skip

_lines: dict[tuple[str, str], dict[str, Any]] = {}


def install() -> None:
    bus.listen("seeds", batch=worker_states.batch, step_post=_stepped, root_pre=set_order.called, forked=_forked, end=_end)
    _on("random", "seed", "python")
    _on("numpy.random", "seed", "numpy")
    _on("numpy.random", "default_rng", "numpy generator")
    _on("torch", "manual_seed", "torch")
    patches.on_import("torch.utils.data.dataloader",
                      lambda module: bus.wrap("seeds", module._DatasetKind, "create_fetcher", None, worker_states.fetcher))
    patches.on_import("torch", _files_of_torch)
    for module in ("json", "pickle"):
        patches.on_import(module, _files_of)


def _on(module: str, function: str, library: str) -> None:
    patches.on_import(module, lambda found: _watch(found, function, lambda args, kwargs: _seeded(library, args, kwargs)))


def _watch(module: Any, name: str, before: Callable[..., Any] | None, after: Callable[..., Any] | None = None) -> None:
    """A function that the program may hand to a worker by pickle: found again by the name that it is called by."""
    if bus.wrap("seeds", module, name, before, after):
        placed = getattr(module, name)
        placed.__module__, placed.__qualname__ = module.__name__, name


def _files_of_torch(torch: Any) -> None:
    _watch(torch, "save", set_order.before_save)
    _watch(torch, "load", set_order.before_load, set_order.after_load)


def _files_of(module: Any) -> None:
    for name in ("dump", "dumps"):
        _watch(module, name, set_order.before_dump)
    for name in ("load", "loads"):
        _watch(module, name, None, set_order.after_parse)


def _seeded(library: str, args: Any, kwargs: Any) -> None:
    where = report.line(_asker(sys._getframe(3)))
    if not where[0]:
        return
    seed = next(iter([*args, *kwargs.values()]), None)
    told = seed if type(seed) in (int, type(None)) else type(seed).__name__
    found = _lines.get((library, where[0]))
    if found is None:
        if len(_lines) >= MOST_LINES:
            return
        found = _lines[library, where[0]] = {"where": where, "first": told, "calls": 0, "same": 0, "step": bus.Now.step}
    found["calls"] += 1
    found["same"] += told == found["first"]


def _asker(frame: FrameType | None) -> FrameType | None:
    """The caller, unless a library seeds while it is imported, or the loader's worker: it stands on whatever line it was forked at."""
    each = frame
    while each is not None:
        if each.f_code.co_name == "_worker_loop" or each.f_code.co_filename.startswith("<frozen importlib"):
            return None
        if report.user_frame(each) is each:
            break
        each = each.f_back
    return each


def _stepped(optimizer: Any, number: int) -> None:
    worker_states.stepped(optimizer, number)


def _forked() -> None:
    _lines.clear()
    worker_states.forked()
    set_order.forked()


def _end() -> None:
    torch = sys.modules.get("torch")
    for (library, _), found in _lines.items():
        _tell(library, found)
    facts = {**worker_states.conclude(), **set_order.conclude(), "seeds.hash_seed": os.environ.get("PYTHONHASHSEED", "")}
    seeded = {library for library, _ in _lines}
    facts.update({"seeds.python_seeded": "python" in seeded, "seeds.numpy_seeded": "numpy" in seeded,
                  "seeds.torch_seeded": "torch" in seeded})
    if torch is not None and hasattr(torch, "backends"):
        facts.update(_flags(torch))
    if not hook.Where.is_forked or _lines:
        report.fact("seeds", "summary", facts)


def _tell(library: str, found: dict[str, Any]) -> None:
    facts = {"seeds.library": library, "seeds.seed": found["first"], "seeds.calls": found["calls"], "seeds.same_seed_calls": found["same"],
             "seeds.first_at_step": found["step"]}
    report.fact("seeds", f"{library} {found['where'][0]}", facts, found["where"])
    if found["same"] >= MANY and found["first"] is not None and bus.Now.step:
        says = (f"This line gave {library} the same seed {found['same']} times: whatever is drawn after it is the same each time.")
        report.hint("seeds", f"again {library} {found['where'][0]}", says, {"seeds.same_seed_calls": found["same"]}, found["where"])


def _flags(torch: Any) -> dict[str, Any]:
    cudnn = torch.backends.cudnn
    found = {"seeds.deterministic": torch.are_deterministic_algorithms_enabled(), "seeds.cudnn_benchmark": cudnn.benchmark,
             "seeds.cudnn_deterministic": cudnn.deterministic, "seeds.matmul_precision": torch.get_float32_matmul_precision()}
    return {name: value for name, value in found.items() if type(value) in (bool, str)}
