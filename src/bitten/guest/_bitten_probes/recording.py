"""What one run was like, mark by mark, so that two runs can be laid side by side. Judges nothing; reads values and keeps none.

Everything in the first steps, at the first call of each model over each loader, and little at steps that are powers of two; nothing
between. Each mark has what it was made of, so that a difference can be told from what merely follows from an earlier one.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
tape: Any = hook.load("_bitten_probes.tape")
calls: Any = hook.load("_bitten_probes.calls")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
pieces: Any = hook.load("_bitten_probes.pieces")
data: Any = hook.load("_bitten_probes.recorded_data")
models: Any = hook.load("_bitten_probes.recorded_models")
patches: Any = hook.load("_bitten_patches")

FACTS = {
    "recording.bytes": {"says": "what this process wrote into its recording", "unit": "bytes", "threshold": "", "source": "",
                        "misfires": ""},
    "recording.seconds": {"says": "what looking at calls of functions took", "unit": "s", "threshold": "", "source": "",
                          "misfires": ""},
}
NAME = "recording"
LARGE = 5_000_000
"""Elements of weights, above which steps after the first ones tell of no gradient and no weight."""


class Step:
    """Digests of the step that is going on."""

    losses = gradients = ""


def install() -> None:
    bus.listen(NAME, batch=data.batch, backward=_backward, settled=_settled, step_post=_step_post, forked=_forked, end=_end)
    calls.wait()
    patches.on_import("torch", _torch)
    patches.on_import("torch.utils.data.dataloader", data.install)
    patches.on_import("torch.utils.data", data.install_package)
    patches.on_import("numpy.random", _numpy)
    patches.on_import("random", lambda module: _seeding(module, "seed", "random.seed"))
    for name in ("sklearn.base", "sklearn.utils._param_validation"):
        patches.on_import(name, lambda module: bus.wrap(NAME, module, "get_config", lambda args, kwargs: calls.again()))


# ---------------------------------------------------------------------------------------------- seeds


def _torch(torch: Any) -> None:
    tape.Tape.has_torch = True
    _seeding(torch, "manual_seed", "torch.manual_seed")
    models.install(torch)


def _numpy(module: Any) -> None:
    _seeding(module, "seed", "numpy.random.seed")
    _seeding(module, "default_rng", "numpy.random.default_rng")


def _seeding(owner: Any, name: str, key: str) -> None:
    bus.wrap(NAME, owner, name, lambda args, kwargs: _seeded(key, next(iter((*args, *kwargs.values())), None)))


def _seeded(key: str, value: Any) -> None:
    """A library seeds for itself too (transformers imports with one): only the person's own calls are told."""
    caller: FrameType | None = sys._getframe(1)
    while caller is not None and calls.frames.is_ours(caller.f_code):
        caller = caller.f_back
    where = report.line(caller)
    if caller is not None and not calls.frames.is_library(caller.f_code.co_filename):
        shown = value if isinstance(value, (bool, int, float)) or value is None else pieces.brief(value) or type(value).__name__
        tape.mark("seeds", key, where, value="none" if shown is None else shown)


# ---------------------------------------------------------------------------------------------- loss, gradient, update


def _is_light() -> bool:
    step = bus.Now.step
    return bool(step & (step - 1) == 0)


def _backward(tensors: Any) -> None:
    if not (models.is_full() or _is_light()):
        return
    values = [each for each in tensors if fingerprint.is_tensor(each)]
    tape.mark("loss", "backward", report.here(), fps=tape.prints(values))
    Step.losses = tape.digest(Step.losses, *values)


def _settled(optimizer: Any, number: int) -> None:
    """Gradients, as the optimizer is about to use them."""
    if not _looked_at(optimizer):
        return
    weights = tape.digest([models.known(each) for each in _parameters(optimizer)])
    if weights and Step.losses:
        weights = tape.digest(weights, Step.losses, models.Kept.inputs)
    found = []
    for name, each in _named(optimizer):
        if each.grad is not None:
            found.append(fingerprint.digest(fingerprint.thinned(each.grad, fingerprint.HASHED)))
            owner = _owner(each)
            tape.mark("gradient", name, bus.birthplace(owner) if owner is not None else ("", ""),
                      fps={"": fingerprint.of(each.grad, tape.ELEMENTS)}, given=weights, also=[report.here()[0]])
        else:
            tape.mark("gradient", name, value="none")
    Step.gradients = tape.digest(found, weights)
    Step.losses = ""


def _looked_at(optimizer: Any) -> bool:
    if models.is_full():
        return True
    return _is_light() and sum(each.numel() for each in _parameters(optimizer)) <= LARGE


def _parameters(optimizer: Any) -> list[Any]:
    return [each for group in optimizer.param_groups for each in group["params"]]


def _named(optimizer: Any) -> list[tuple[str, Any]]:
    known = {}
    for root in list(models.roots):
        for path, each in root.named_parameters():
            known[id(each)] = f"{models.roots[root]}: {path}"
    return [(known.get(id(each), f"parameter {at}"), each) for at, each in enumerate(_parameters(optimizer))]


def _owner(parameter: Any) -> Any:
    for root in list(models.roots):
        for each in root.modules():
            if any(own is parameter for own in each._parameters.values()):
                return each
    return None


def _step_post(optimizer: Any, number: int) -> None:
    if _looked_at(optimizer):
        where = bus.birthplace(optimizer)
        here = report.here()[0]
        if number == 0:
            _settings(optimizer, where)
        for name, each in _named(optimizer):
            tape.mark("update", name, where, fps={"": fingerprint.of(each, tape.ELEMENTS)}, given=Step.gradients, also=[here])
        tape.flush()
    if bus.Now.step + 1 >= models.FULL or calls.Now.again:
        calls.end()
    models.Kept.digests.clear()
    tape.Tape.step = bus.Now.step + 1


def _settings(optimizer: Any, where: tuple[str, str]) -> None:
    tape.mark("update", "optimizer", where, value=type(optimizer).__name__)
    for at, group in enumerate(optimizer.param_groups):
        for name, value in sorted(group.items()):
            if name != "params" and isinstance(value, (bool, int, float, tuple, str)):
                tape.mark("update", f"optimizer group {at} {name}", where, value=value if not isinstance(value, tuple) else list(value))


# ---------------------------------------------------------------------------------------------- how it ends


def _forked() -> None:
    tape.forked()
    calls.forked()


def _end() -> None:
    calls.end()
    tape.flush()
    report.fact(NAME, "summary", {"recording.bytes": tape.Tape.written, "recording.seconds": round(calls.Now.spent, 3)})
