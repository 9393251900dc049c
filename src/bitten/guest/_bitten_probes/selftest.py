"""`python selftest.py NAME`: a tiny program in which the fault is planted that this instrument has to find, at the line marked `# <- NAME`.

A stranger to the instruments: it is copied to a project of its own and run as any program. `FAULTS` has one for each name.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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


def softmax_twice() -> None:
    """A loss that takes raw scores is given probabilities."""
    import torch  # noqa: PLC0415 - as above

    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 3), torch.nn.Softmax(dim=1)]
    model = torch.nn.Sequential(*layers)  # <- loss
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
        torch.autograd.backward(loss)
        optimizer.step()
        print("loss", loss.item())


def choice_over_the_batch() -> None:
    """The chosen class of each sample is a chosen sample of each class."""
    import torch  # noqa: PLC0415 - as above

    torch.manual_seed(0)
    model, x, y = torch.nn.Linear(4, 3), torch.randn(3, 4), torch.tensor([0, 1, 2])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        torch.autograd.backward(torch.nn.functional.cross_entropy(model(x), y))
        optimizer.step()
    with torch.no_grad():
        chosen = model(x).argmax(dim=0)  # <- metrics
    print("accuracy", (chosen == y).float().mean().item())


def left_in_eval() -> None:
    """An evaluation switches to eval mode, and nobody back."""
    import torch  # noqa: PLC0415 - as above

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
        if step == 3:
            model.eval()  # <- mode
            with torch.no_grad():
                print("loss", model(torch.randn(8, 4)).pow(2).mean().item())


def carried_through_folds() -> None:
    """One model goes through all folds: from the second on it was trained on the rows that it is tested on."""
    import numpy as np  # noqa: PLC0415 - as above
    import torch  # noqa: PLC0415

    torch.manual_seed(0)
    x, y, model = torch.randn(40, 5), torch.randint(0, 2, (40,)), torch.nn.Sequential(torch.nn.Linear(5, 2))  # <- tables
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for held in np.array_split(np.arange(40), 4):
        others = np.setdiff1d(np.arange(40), held)
        for _ in range(3):
            optimizer.zero_grad()
            loss: Any = torch.nn.functional.cross_entropy(model(x[others]), y[others])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            print("correct", (model(x[held]).argmax(1) == y[held]).sum().item())


def accumulation_thrown_away() -> None:
    """Gradients of four parts of a batch should add up, and are cleared before each part."""
    import torch  # noqa: PLC0415 - as above

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        for part in torch.randn(4, 2, 4):
            optimizer.zero_grad()  # <- optimizer
            loss = model(part).pow(2).mean() / 4
            loss.backward()
        optimizer.step()
        print("loss", loss.item())


def best_by_reference() -> None:
    """The best state is kept without a copy, so it goes on changing."""
    import torch  # noqa: PLC0415 - as above

    torch.manual_seed(0)
    model, best = torch.nn.Linear(4, 2), None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
        best = best or model.state_dict()  # <- weights
    model.load_state_dict(best or {})
    print("loss", loss.item())


def compiled_for_each_size() -> None:
    """What is looked up by size makes a compiled function good for that size alone."""
    import torch  # noqa: PLC0415 - as above

    known: dict[int, float] = {}

    def scaled(x: torch.Tensor) -> torch.Tensor:  # <- time
        if len(x) not in known:
            known[len(x)] = 1 / len(x)
        return x * known[len(x)]

    compiled = torch.compile(scaled, backend="eager")
    for size in range(3, 16):
        print("sum", compiled(torch.ones(size)).sum().item())


def shuffled_alike() -> None:
    """A loader that shuffles begins each pass with the same seed."""
    import torch  # noqa: PLC0415 - as above

    torch.manual_seed(0)
    model, again = torch.nn.Linear(4, 2), torch.Generator()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    samples: Any = torch.randn(40, 4)
    loader: Any = torch.utils.data.DataLoader(samples, batch_size=8, shuffle=True, generator=again)
    for _ in range(3):
        again.manual_seed(1)
        for x in loader:  # <- batches
            optimizer.zero_grad()
            loss: Any = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
        print("loss", loss.item())


class Noisy:
    """Samples with noise from a generator that each worker gets a copy of."""

    def __init__(self) -> None:
        import random  # noqa: PLC0415 - as above

        self.rng = random.Random(0)  # <- seeds

    def __len__(self) -> int:
        return 40

    def __getitem__(self, at: int) -> list[float]:
        return [at + self.rng.random(), self.rng.random()]


def noise_copied_into_workers() -> None:
    """Two workers draw the same noise."""
    import torch  # noqa: PLC0415 - as above

    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    samples: Any = Noisy()
    for pair in torch.utils.data.DataLoader(samples, batch_size=5, num_workers=2):
        optimizer.zero_grad()
        loss: Any = model(torch.stack(pair, 1).float()).pow(2).mean()
        loss.backward()
        optimizer.step()
        print("loss", loss.item())


def end_that_is_padding() -> None:
    """The mark that ends each text pads too, and where it stands no label counts."""
    import torch  # noqa: PLC0415 - as above

    torch.manual_seed(0)
    pad = end = 9  # <- tokens
    texts: Any = [[*torch.randint(0, 9, (3 + at % 4,)).tolist(), end] for at in range(40)]

    def collate(some: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        ids = torch.tensor([text + [pad] * (8 - len(text)) for text in some])[:, : max(map(len, some))]
        return ids, ids.masked_fill(ids == pad, -100)

    table = torch.nn.Embedding(10, 10)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
    for ids, labels in torch.utils.data.DataLoader(texts, batch_size=8, collate_fn=collate):
        optimizer.zero_grad()
        loss: Any = torch.nn.functional.cross_entropy(table(ids)[:, :-1].transpose(1, 2), labels[:, 1:])
        loss.backward()
        optimizer.step()
        print("loss", loss.item())


FAULTS: dict[str, Callable[[], None]] = {
    "nan": missing_value,
    "optimizer": accumulation_thrown_away,
    "weights": best_by_reference,
    "time": compiled_for_each_size,
    "loss": softmax_twice,
    "metrics": choice_over_the_batch,
    "mode": left_in_eval,
    "tables": carried_through_folds,
    "batches": shuffled_alike,
    "seeds": noise_copied_into_workers,
    "tokens": end_that_is_padding,
}


def main() -> None:
    fault = FAULTS.get(sys.argv[1])
    if fault is None:
        sys.exit(f"no fault is planted for {sys.argv[1]}; there is one for: {', '.join(FAULTS)}")
    fault()


if __name__ == "__main__":
    main()
