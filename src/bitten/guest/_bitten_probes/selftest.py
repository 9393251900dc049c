"""`python selftest.py NAME`: a tiny program in which the fault is planted that this instrument has to find, at the line marked `# <- NAME`.

A stranger to the instruments: it is copied to a project of its own and run as any program. `FAULTS` has one for each name.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def missing_value() -> None:
    """One number of one input row is not there, at the fourth step."""
    import torch  # noqa: PLC0415 - each fault imports what it needs

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        x = torch.randn(8, 4)
        if step == 3:
            x[5, 1] = float("nan")
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()  # <- nan
        loss.backward()
        optimizer.step()
        print("loss", loss.item())


FAULTS: dict[str, Callable[[], None]] = {"nan": missing_value}


def main() -> None:
    fault = FAULTS.get(sys.argv[1])
    if fault is None:
        sys.exit(f"no fault is planted for {sys.argv[1]}; there is one for: {', '.join(FAULTS)}")
    fault()


if __name__ == "__main__":
    main()
