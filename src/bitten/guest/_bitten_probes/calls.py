"""Calls of the person's own functions, and of a few documented ones of libraries: what came in, what went out.

By the interpreter's profile hook. It sees the thread that imported the framework, as long as the recording looks: until training runs,
in its first steps, in the first evaluations, when an estimator works. A program that profiles itself takes the hook's place. Of one
function only the first calls are kept.
"""

from __future__ import annotations

import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
profiling: Any = hook.load("_bitten_probes.profiling")
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
tape: Any = hook.load("_bitten_probes.tape")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
pieces: Any = hook.load("_bitten_probes.pieces")
frames: Any = hook.load("_bitten_frames")
patches: Any = hook.load("_bitten_patches")
values: Any = hook.load("_bitten_values")

EVENTS = 10_000_000
SECONDS = 8.0
"""Of our own work on calls, for a process."""
AGAIN = 40
"""How often it is looked again after the first steps."""
CALLS = 24
"""Of one function, at each step that is looked at."""
SEAMS = (
    ("/sklearn/model_selection/_split.py", ("train_test_split", "split"), "split"),
    ("/torch/utils/data/dataset.py", ("random_split",), "split"),
    ("/transformers/tokenization_utils_base.py", ("__call__", "encode", "encode_plus", "batch_encode_plus"), "tokenizer"),
    ("/sklearn/metrics/", None, "metric"),
    ("/torch/nn/functional.py", None, "loss"),
    ("/torch/nn/init.py", None, "init"),
    ("/sklearn/", ("fit", "partial_fit", "transform", "fit_transform", "predict", "predict_proba", "decision_function"), "estimator"),
    ("/imblearn/", ("fit_resample",), "estimator"),
)  # fmt: skip
LOSSES = ("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
          "binary_cross_entropy_with_logits", "kl_div", "ctc_loss", "cosine_embedding_loss", "triplet_margin_loss", "gaussian_nll_loss")
DULL = frozenset(("<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"))
CLOCKS = ("time", "sec", "elapsed", "clock", "speed", "now", "date", "memory", "path", "stamp", "duration", "throughput")
"""In the name of a function whose number says nothing of the training."""
WORDS = ("text", "texts", "set")
SPLITS = ("split", "fold", "holdout", "partition")


class Seen:
    """What is known of one piece of code."""

    def __init__(self, code: CodeType, stage: str) -> None:
        self.stage, self.name = stage, code.co_name
        self.count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
        self.is_generator = bool(code.co_flags & 0x20)
        self.calls: dict[int, int] = {}

    def wanted(self) -> bool:
        done = self.calls.get(tape.Tape.step, 0)
        self.calls[tape.Tape.step] = done + 1
        return done < CALLS


class Now:
    complained = False
    events = again = 0
    ready = False
    spent = 0.0
    on = False
    codes: dict[CodeType, Any] = {}  # noqa: RUF012 - one hook a process
    open: dict[FrameType, Any] = {}  # noqa: RUF012 - as above
    initialised: dict[int, tuple[str, str, str, str]] = {}  # noqa: RUF012 - as above
    forwards: dict[int, tuple[str, str]] = {}  # noqa: RUF012 - as above
    births: dict[int, tuple[Any, str]] = {}  # noqa: RUF012 - as above
    yielded: dict[CodeType, int] = {}  # noqa: RUF012 - as above


HEAVY = ("torch", "numpy", "pandas", "scipy", "sklearn", "transformers", "torchvision", "lightning", "accelerate", "datasets", "matplotlib",
         "tensorflow", "jax", "xgboost", "lightgbm")
"""Whose import is not looked at: millions of calls, none of them the person's."""
ENDS = ("torch", "numpy", "sklearn")


class _Importing:
    """First in sys.meta_path: finds nothing, and hears of what is about to be imported."""

    pending: set[str] = set()  # noqa: RUF012 - one a process

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> None:
        top = name.partition(".")[0]
        if top in HEAVY and Now.ready and not cls.is_under_way():
            cls.pending.add(name)
            end()
            patches.on_import(name, _imported)

    @classmethod
    def is_under_way(cls) -> bool:
        cls.pending = {name for name in cls.pending if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)}
        return bool(cls.pending)


def _imported(module: Any) -> None:
    _Importing.pending.discard(module.__name__)
    begin()


def wait() -> None:
    """For the first framework; from then on calls are looked at, but for those of further imports."""
    sys.meta_path.insert(0, _Importing)
    for name in ENDS:
        patches.on_import(name, _arrived)


def _arrived(module: Any) -> None:
    Now.ready = True
    begin()


def begin() -> None:
    """Look, unless somebody else profiles, or all that may be spent is."""
    if not Now.on and not _Importing.is_under_way() and Now.events < EVENTS and Now.spent < SECONDS:
        Now.on = profiling.begin(_event)


def again() -> None:
    """Look once more, until the next step is done: an epoch has ended, an estimator is about to work."""
    if Now.again < AGAIN and not Now.on:
        Now.again += 1
        begin()


def end() -> None:
    if Now.on:
        Now.on = False
        profiling.end(_event)
        Now.open.clear()


def forked() -> None:
    Now.open.clear()
    Now.events, Now.spent = EVENTS - 300_000, 0.0


def _event(frame: FrameType, event: str, arg: Any) -> None:
    Now.events += 1
    if event == "call":
        code = frame.f_code
        seen = Now.codes.get(code)
        if seen is None:
            seen = Now.codes[code] = _known(code)
        if seen:
            _guarded(_called, seen, frame)
    elif event == "return" and frame in Now.open:
        _guarded(_returned, Now.open.pop(frame), frame, arg)
    if Now.events > EVENTS or Now.spent > SECONDS:
        end()


def _guarded(do: Any, *args: Any) -> None:
    began = perf_counter()
    was = hook.set_busy(True)
    try:
        do(*args)
    except Exception as error:  # this one call is not told
        if not Now.complained:
            Now.complained = True
            hook.emit("note", text=f"a call was not recorded: {type(error).__name__}: {str(error)[:200]}")
    finally:
        hook.set_busy(was)
        Now.spent += perf_counter() - began


def _known(code: CodeType) -> Any:
    """What to do with calls of this code: nothing, for most."""
    file, name = code.co_filename, code.co_name
    if name in DULL or not code.co_flags & 1 or frames.is_ours(code):
        return False
    if not frames.is_library(file):
        if file[:1] == "<" and file[:4] != "<ipy":  # made from text, as a named tuple's are
            return False
        return Seen(code, "own") if not name.startswith("__") or name in ("__call__", "__getitem__", "__init__") else False
    for part, names, stage in SEAMS:
        if part in file and (name in names if names else _is_seam(stage, name)):
            return Seen(code, stage)
    return False


def _is_seam(stage: str, name: str) -> bool:
    if stage == "loss":
        return name in LOSSES
    if stage == "init":
        return name.endswith("_") and not name.startswith("_")
    return not name.startswith("_") and name.endswith(("_score", "_error", "_loss", "auc", "matrix", "report", "_curve", "_deviance"))


# ---------------------------------------------------------------------------------------------- one call


def _called(seen: Seen, frame: FrameType) -> None:
    if frame in Now.open or bus.is_closed() or not seen.wanted():
        return
    if seen.stage != "own" and _own_caller(frame) is None:
        return
    variables = frame.f_locals
    names = frame.f_code.co_varnames[: seen.count]
    args = {name: variables[name] for name in names if name in variables}
    owner = args.pop("self", None)
    if seen.stage == "own" and _is_module(owner):
        if seen.name == "forward":
            Now.open[frame] = (seen, owner, None, "", {})
        return
    if seen.stage == "split" and _is_within("split"):
        return
    if seen.name == "__init__" and owner is not None:
        _born(owner, frame)
    if seen.stage == "init":
        Now.open[frame] = (seen, None, args, "", tape.random_states())
        return
    Now.open[frame] = (seen, owner, args, _given(seen, owner, args), tape.random_states())


def _born(owner: Any, frame: FrameType) -> None:
    """Where an object of the person's was made, whose settings stand there; the outermost call of `__init__` comes first."""
    import weakref  # noqa: PLC0415 - loaded by every framework

    known = Now.births.get(id(owner))
    if (known is None or known[0]() is not owner) and len(Now.births) < 10_000:
        try:
            Now.births[id(owner)] = (weakref.ref(owner), report.line(_own_caller(frame))[0])
        except TypeError:  # a kind without weak references
            return


def _birthplace(owner: Any) -> str:
    known = Now.births.get(id(owner))
    return str(known[1]) if known is not None and known[0]() is owner else ""


def _is_within(stage: str) -> bool:
    """Whether it works for another seam of its kind, which tells of both."""
    return any(call[0].stage == stage for call in Now.open.values())


def _own_caller(frame: FrameType) -> Any:
    """For a library's function: that it works for the person's line, not for another seam of the same kind."""
    caller = frame.f_back
    for _ in range(12):
        if caller is None:
            return None
        if not frames.is_library(caller.f_code.co_filename) and not frames.is_ours(caller.f_code):
            return caller
        caller = caller.f_back
    return None


def _is_module(value: Any) -> bool:
    nn = values.loaded("torch", "nn")
    return nn is not None and isinstance(value, nn.Module)


def _given(seen: Seen, owner: Any, args: dict[str, Any]) -> str:
    """A digest of what it works on: arrays and texts, without the settings that stand beside them; numbers where there is nothing else."""
    data = [args[name] for name in ("arrays", "X") if name in args] if seen.stage == "split" else []
    data = data or [each for each in args.values() if not _is_setting(each)]
    given = tape.digest(*(data or [each for each in args.values() if each is not None]))
    if owner is None or not given:
        return str(given)
    state = _state(owner, fitted=seen.stage == "estimator")
    if seen.stage == "estimator" and seen.name.startswith(("fit", "partial_fit")):
        state = {}
    return str(tape.digest(given, *(each for each in state.values() if not _is_setting(each)))) if seen.name != "__init__" else str(given)


def _is_setting(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float)


def _state(owner: Any, *, fitted: bool) -> dict[str, Any]:
    """What an object holds, by name; of an estimator what it learned. Of no object that keeps its names in another way."""
    found = getattr(owner, "__dict__", None)
    if type(found) is not dict:
        return {}
    return {name: each for name, each in found.items() if (_is_learned(name) if fitted else _is_readable(each))}


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _is_readable(value: Any) -> bool:
    return type(value) in (list, dict, tuple, str, int, float, bool) or fingerprint.is_tensor(value) or fingerprint.is_array(value)


def _returned(call: Any, frame: FrameType, out: Any) -> None:
    seen, owner, args, given, random = call
    if seen.stage == "init":
        _initialised(args, frame, random)
        return
    if args is None:
        file = frames.absolute(frame.f_code.co_filename)
        Now.forwards[id(owner)] = f"{file}:{frame.f_lineno}", f"{file}:{frames.full_name(frame)}"
        return
    is_item = seen.is_generator or seen.name == "split"
    prints = None if out is None and is_item else tape.prints(_made(seen, owner, args, out))
    key = _key(seen, owner, frame)
    stage = _stage(seen, owner, args, prints, out, key) if prints else ""
    if stage:
        where, also = _places(seen, owner, frame)
        key = f"{key} item {_next(frame)}" if is_item else key
        tape.mark(stage, key, where, fps=prints, given=given, random=tape.drawn(random), also=also, kind="call")


def _made(seen: Seen, owner: Any, args: dict[str, Any], out: Any) -> Any:
    """What a call gave; of one that gives nothing, or its own object, what that holds now, or what it was handed."""
    if out is not None and out is not owner:
        return out
    if owner is not None:
        return _state(owner, fitted=seen.stage == "estimator")
    return args if seen.stage == "own" else None


def _next(frame: FrameType) -> int:
    number = Now.yielded.get(frame.f_code, 0)
    Now.yielded[frame.f_code] = number + 1
    return number


def _key(seen: Seen, owner: Any, frame: FrameType) -> str:
    if owner is not None:
        return f"{type(owner).__name__}.{seen.name}"
    return str(frames.full_name(frame)).replace(".<locals>", "")


def _places(seen: Seen, owner: Any, frame: FrameType) -> tuple[tuple[str, str], list[str]]:
    """The line that returned, and who called; for a library's function the caller's."""
    caller = _own_caller(frame)
    called = report.line(caller) if caller is not None else ("", "")
    if seen.stage != "own":
        return called, []
    file = frames.absolute(frame.f_code.co_filename)
    born = _birthplace(owner) if owner is not None else ""
    return (f"{file}:{frame.f_lineno}", f"{file}:{frames.full_name(frame)}"), [each for each in (called[0], born) if each]


def _stage(seen: Seen, owner: Any, args: dict[str, Any], prints: dict[str, Any], out: Any, key: str) -> str:
    """Which part of the training a function belongs to, by what comes in and goes out; empty where it is none of ours to tell."""
    if seen.stage == "estimator":
        return _of_estimator(seen, owner)
    if seen.stage != "own":
        return str(seen.stage)
    if bus.depth() > 0:
        return "forward"
    if any(word in key.lower() for word in SPLITS):
        return "split"
    if all(not each["shape"] and each["dtype"] not in WORDS for each in prints.values()):
        return _of_number(seen, args, out, key)
    return _of_data(seen, args, prints)


def _of_estimator(seen: Seen, owner: Any) -> str:
    if not hasattr(type(owner), "predict") or hasattr(type(owner), "transform"):
        return "preprocessing"
    return "update" if seen.name.startswith(("fit", "partial_fit")) else "forward"


def _of_number(seen: Seen, args: dict[str, Any], out: Any, key: str) -> str:
    """A number made of numbers alone is a setting or a schedule, no metric."""
    if any(word in key.lower() for word in CLOCKS) or seen.name in ("__init__", "__getitem__"):
        return ""
    if fingerprint.is_tensor(out) and out.requires_grad:
        return "loss"
    return "" if all(_is_setting(each) or type(each) is str for each in args.values()) else "metric"


def _of_data(seen: Seen, args: dict[str, Any], prints: dict[str, Any]) -> str:
    kinds = {each["dtype"] for each in prints.values()}
    has_texts = any(type(each) is str or (type(each) in (list, tuple) and each and type(each[0]) is str) for each in args.values())
    if kinds <= set(WORDS):
        return "tokenizer" if has_texts else ""
    if has_texts and any("int" in each or each == "numbers by text" for each in kinds):
        return "tokenizer"
    return "batch" if seen.is_generator else "preprocessing"


def _initialised(args: dict[str, Any], frame: FrameType, random: dict[str, str]) -> None:
    """Who filled a weight last."""
    tensor = args.get("tensor")
    caller = _own_caller(frame)
    if tensor is not None and caller is not None and len(Now.initialised) < 20_000:
        Now.initialised[id(tensor)] = (*report.line(caller), frame.f_code.co_name, tape.drawn(random))
