"""What goes into the outermost module, by feature: a running mean and spread of training and of inference, and how far they lie apart.

The first calls are measured, then those at powers of two. What another process of the run fed to a module of the same make is read from
the spool, so that training and serving meet. Which of two unlike preparations is the right one, nobody here knows.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
rows: Any = hook.load("_bitten_probes.rows")

FIRST = 32
MOST_FEATURES = 64
MOST_INPUTS = 32
APART = 10.0
"""Standard deviations of training between the two means."""
WIDER = 20.0
"""Times that one spread is the other."""
FEW = 16
"""Samples of inference below which nothing is said."""


class Input:
    """One floating input of one make of module, in training or in inference."""

    def __init__(self, where: tuple[str, str]) -> None:
        self.where, self.calls, self.seen, self.samples = where, 0, 0, 0
        self.dims, self.dtype = 0, ""
        self.low, self.high, self.bad = float("inf"), float("-inf"), 0
        self.means: list[list[float]] = []
        self.mean: list[float] = []
        self.square: list[float] = []
        self.whole = True

    def is_due(self) -> bool:
        self.calls += 1
        return self.calls <= FIRST or self.calls & (self.calls - 1) == 0

    def add(self, count: int, numbers: list[float]) -> None:
        """Numbers are: lowest, highest, share of integers, then the means and the variances of the features."""
        low, high, whole = numbers[:3]
        half = (len(numbers) - 3) // 2
        means, variances = numbers[3 : 3 + half], numbers[3 + half :]
        if low - low != 0 or high - high != 0:
            self.bad += 1
            return
        if self.mean and len(self.mean) != half:
            return
        self.low, self.high, self.whole = min(self.low, low), max(self.high, high), self.whole and whole == 1.0
        self.mean, self.square = self.mean or [0.0] * half, self.square or [0.0] * half
        total = self.samples + count
        for at in range(half):
            self.mean[at] += (means[at] - self.mean[at]) * count / total
            self.square[at] += (variances[at] + means[at] ** 2 - self.square[at]) * count / total
        self.samples, self.seen = total, self.seen + 1

    def spread(self) -> list[float]:
        """Of each feature the standard deviation; below what float32 can tell apart it is nought."""
        found = [max(0.0, square - mean * mean) for mean, square in zip(self.mean, self.square)]
        return [each**0.5 if each > 1e-9 * square else 0.0 for each, square in zip(found, self.square)]


_inputs: dict[tuple[str, str, str], Input] = {}
_makes: Any = weakly.Keys()


def is_used() -> bool:
    return bool(_inputs)


def forked() -> None:
    _inputs.clear()


def look(module: Any, args: Any, kwargs: Any, out: Any) -> None:
    """A call of an outermost module has ended well."""
    torch = sys.modules["torch"]
    is_training = torch.is_grad_enabled() and module.training
    for path, leaf in fingerprint.leaves((*args, kwargs) if kwargs else args):
        if leaf_is_fit(leaf):
            _note(torch, module, path, leaf, "training" if is_training else "inference")
            return


def leaf_is_fit(leaf: Any) -> bool:
    torch = sys.modules["torch"]
    if not isinstance(leaf, torch.Tensor) or leaf.dim() < 2 or leaf.numel() == 0 or leaf.layout is not torch.strided:
        return False
    return bool(leaf.is_floating_point()) or (leaf.dtype is torch.uint8 and leaf.dim() >= 4)


def _note(torch: Any, module: Any, path: str, leaf: Any, phase: str) -> None:
    known = (make(module), path, phase)
    found = _inputs.get(known)
    if found is None:
        if len(_inputs) >= MOST_INPUTS:
            return
        found = _inputs[known] = Input(report.here())
        found.dims, found.dtype = leaf.dim(), str(leaf.dtype)[6:]
    if found.is_due():
        count = int(leaf.shape[0])
        with torch.no_grad():
            vector = _measured(torch, leaf.detach())
        bus.defer(vector, lambda numbers: found.add(count, numbers))


def _measured(torch: Any, data: Any) -> Any:
    data = data.float()
    by_feature = data.movedim(axis(data), -1).reshape(-1, data.shape[axis(data)])
    step = -(-by_feature.shape[1] // MOST_FEATURES)
    chosen = by_feature[:, ::step]
    variance, mean = torch.var_mean(chosen, dim=0, unbiased=False)
    low, high = torch.aminmax(data)
    whole = (chosen == chosen.round()).all().float()
    return torch.cat([torch.stack([low, high, whole]), mean, variance])


def axis(data: Any) -> int:
    """Where the features are: channels of images (first, or last where only there are 1, 3 or 4 of them), else the last axis."""
    if data.dim() >= 4:
        return data.dim() - 1 if data.shape[-1] in (1, 3, 4) and data.shape[1] not in (1, 3, 4) else 1
    return int(data.dim()) - 1


def make(module: Any) -> str:
    """What two modules of the same class and the same shapes of parameters share, in any process."""
    known: str | None = _makes.get(module)
    if known is None:
        inner = getattr(module, "_orig_mod", None) or module
        inner = getattr(inner, "module", None) or inner
        shapes = [tuple(each.shape) for each in inner.parameters()][:500]
        known = f"{type(inner).__qualname__} {shapes}"[:2000]
        _makes[module] = known
    return known


# ---------------------------------------------------------------------------------------------- judging


def conclude() -> dict[str, Any]:
    """Say at the end what lies apart. Returns the facts for the summary."""
    others = _exchange()
    facts: dict[str, Any] = {"batches.skewed_inputs": 0}
    for (kind, path, phase), found in _inputs.items():
        if not found.seen:
            continue
        _tell(kind, path, phase, found)
        if phase == "inference":
            trained = _inputs.get((kind, path, "training")) or others.get((kind, path))
            facts["batches.skewed_inputs"] += int(trained is not None and trained.seen > 0 and _compare(trained, found, path))
    return facts


def _tell(kind: str, path: str, phase: str, found: Input) -> None:
    spread = found.spread()
    live = [each for each in spread if each > 0]
    facts = {"batches.phase": phase, "batches.input_dtype": found.dtype, "batches.input_min": found.low, "batches.input_max": found.high,
             "batches.input_mean": sum(found.mean) / len(found.mean), "batches.inputs_with_nan": found.bad,
             "batches.constant_features": len(spread) - len(live), "batches.duplicate_features": _twins(found, spread)}
    if live:
        facts["batches.scales_ratio"] = max(live) / min(live)
    key = f"input {path} of {kind.split(' ', maxsplit=1)[0]} in {phase}"
    report.fact("batches", key, facts, found.where)
    if phase == "training" and live and found.samples >= FEW:
        _hint(key, found, facts)


def _hint(key: str, found: Input, facts: dict[str, Any]) -> None:
    if found.dims == 2 and facts.get("batches.scales_ratio", 1.0) > 1e3:
        says = f"The features of the input differ in scale by {facts['batches.scales_ratio']:.3g} times, more than 1000: are they scaled?"
        report.hint("batches", key + ", scales", says, {"batches.scales_ratio": facts["batches.scales_ratio"]}, found.where)
    if found.dims >= 4 and found.whole and found.low >= 0 and 1 < found.high <= 255 and found.high > 16:
        says = f"The images come in as whole numbers from {found.low:g} to {found.high:g}: nothing scaled them."
        report.hint("batches", key + ", unscaled", says, {"batches.input_max": found.high}, found.where)


def _twins(found: Input, spread: list[float]) -> int:
    seen = [(mean, each) for mean, each in zip(found.mean, spread) if each > 0]
    return len(seen) - len(set(seen))


def _compare(trained: Input, served: Input, path: str) -> bool:
    count = len(trained.mean)
    if count != len(served.mean) or served.samples < FEW or served.seen < 2 or trained.samples < FEW:
        return False
    apart = [_apart(*each, served.samples) for each in zip(trained.mean, trained.spread(), served.mean, served.spread())]
    known = [each for each in apart if each is not None]
    far = [each for each in known if each[0] > APART or each[1] > WIDER]
    if not known or len(far) <= len(known) / 2:
        return False
    worst = max(far, key=lambda each: max(each[0] / APART, each[1] / WIDER))
    ranges = {"batches.training_range": [trained.low, trained.high], "batches.inference_range": [served.low, served.high]}
    facts = {"batches.means_apart": worst[0], "batches.spreads_ratio": worst[1], "batches.features_apart": len(far),
             "also": [trained.where[0]], **ranges}
    says = (f"In inference the input lies elsewhere than in training in {len(far)} of {len(known)} features: the means are up to "
            f"{worst[0]:.3g} standard deviations apart and the spreads differ up to {worst[1]:.3g} times "
            f"(range {trained.low:.4g} to {trained.high:.4g} in training, {served.low:.4g} to {served.high:.4g} here): "
            f"the two are prepared in different ways.")  # fmt: skip
    tell = report.finding if count > 1 or trained.dims >= 4 else report.hint
    tell("batches", f"skew {path}", says, facts, served.where)
    return True


def _apart(mean: float, spread: float, served: float, served_spread: float, samples: int) -> tuple[float, float] | None:
    if spread <= 0:
        return None
    wider = served_spread / spread
    if served_spread > 0 and samples >= 2 * FEW:
        wider = max(wider, spread / served_spread)
    return abs(served - mean) / spread, wider


# ---------------------------------------------------------------------------------------------- between processes


def _exchange() -> dict[tuple[str, str], Input]:
    """Write down what training saw here, and read what it saw in processes that ended before."""
    import os  # noqa: PLC0415 - loaded long since

    was = hook.set_busy(True)  # an open of ours is no news
    try:
        file = f"{hook.Where.spool}/batches.inputs"
        lines = [repr((kind, path, found.where, found.samples, found.seen, found.dims, found.low, found.high, found.mean, found.square))
                 for (kind, path, phase), found in _inputs.items() if phase == "training" and found.seen]
        before = _read(file) if os.path.exists(file) else {}  # noqa: PTH110 - pathlib imports half the library
        if lines:
            with open(file, "a", encoding="utf-8") as out:  # noqa: PTH123 - as above
                out.write("\n".join(lines) + "\n")
        return before
    except OSError:
        return {}
    finally:
        hook.set_busy(was)


def _read(file: str) -> dict[tuple[str, str], Input]:
    import ast  # noqa: PLC0415 - only where there is such a file

    found = {}
    with open(file, encoding="utf-8") as source:  # noqa: PTH123 - as above
        for line in source.read(1 << 20).splitlines():
            try:
                kind, path, where, *numbers = ast.literal_eval(line)
            except (ValueError, SyntaxError):  # a line that was cut
                continue
            each = Input(tuple(where))
            each.samples, each.seen, each.dims, each.low, each.high, each.mean, each.square = numbers
            found[kind, path] = each
    return found
