"""Train the model and score it on held-out text.

    make train RUN=2026-05-04-charngram
    python -m src.train --run 2026-05-04-charngram --config config.json

Leaves the checkpoint in runs/RUN/model.pt.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import torch.utils.data
from torch import Tensor

from src.data import DataLoader, collate, load
from src.model import CharModel

Batches = torch.utils.data.DataLoader[tuple[Tensor, Tensor]]


def batches(windows: DataLoader, batch_size: int) -> Batches:
    return torch.utils.data.DataLoader(windows, batch_size=batch_size, num_workers=1, collate_fn=collate)


def next_char_loss(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def train(model: CharModel, data: Batches, epochs: int, learning_rate: float, log_every: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    step = 0
    for _ in range(epochs):
        for features, targets in data:
            loss = next_char_loss(model(features), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % log_every == 0:
                print(f"step={step} loss={loss.item():.2f}", flush=True)


@torch.no_grad()
def evaluate(model: CharModel, data: Batches) -> tuple[float, float]:
    """Mean loss, and the share of characters guessed right."""
    logits, targets = zip(*((model(features), targets) for features, targets in data), strict=True)
    scores, truth = torch.cat(logits), torch.cat(targets)
    return next_char_loss(scores, truth).item(), (scores.argmax(-1) == truth).float().mean().item()


def save(model: CharModel, symbols: str, config: dict[str, Any], run: str) -> Path:
    path = Path("runs", run, "model.pt")
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"model": model.state_dict(), "symbols": symbols, "config": config}, path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the character model.")
    parser.add_argument("--run", required=True, help="the run's name: its checkpoint goes to runs/NAME/")
    parser.add_argument("--config", type=Path, default=Path("config.json"))
    args = parser.parse_args()
    config = json.loads(args.config.read_text(encoding="utf-8"))

    torch.manual_seed(config["seed"])
    torch.set_num_threads(1)  # the matrices are too small to share between cores
    training, held_out, vocabulary = load(Path(config["manifest"]), config["width"], config["window"], config["held_out_windows"])
    model = CharModel(config["width"], config["hidden"], config["reach"], len(vocabulary.symbols))
    train(model, batches(training, config["batch_size"]), config["epochs"], config["learning_rate"], config["log_every"])
    val_loss, val_acc = evaluate(model, batches(held_out, config["batch_size"]))
    print(f"val_loss={val_loss:.3f}\nval_acc={val_acc:.3f}")
    print(f"saved {save(model, vocabulary.symbols, config, args.run)}")


if __name__ == "__main__":
    main()
