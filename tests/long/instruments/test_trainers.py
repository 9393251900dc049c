"""The instruments inside trainers that call the program, and not the other way round: Lightning, the Hugging Face Trainer, accelerate."""

from __future__ import annotations

import pytest

from tests.instruments.stage import line_of, probed_alone

NET = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1))
        self.head = torch.nn.Linear(16, 3)
        self.calls = 0

    def forward(self, x):
        self.calls += self.training
        hidden = self.body(x)
        if 0 < BAD <= self.calls:
            hidden = hidden + torch.log(hidden.min() - 1.0)  # <- bad
        return self.head(hidden)


class Rows(torch.utils.data.Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(3)
        self.x = torch.randn(64, 6, generator=generator)
        self.y = (self.x @ torch.randn(6, 3, generator=generator)).argmax(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, at):
        return self.x[at], self.y[at]


def told(model):
    print("weights", sum(float(each.detach().double().sum()) for each in model.parameters()))
"""
LIGHTNING = """
import logging
import warnings
warnings.simplefilter("ignore")
import lightning
import torch
from net import Net, Rows, told
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Task(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.net(x), y)
        self.log("loss", loss, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_acc", (self.net(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


lightning.seed_everything(1, verbose=False)
task = Task()
loader = torch.utils.data.DataLoader(Rows(), batch_size=16, shuffle=True)

trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, accumulate_grad_batches=1)
trainer.fit(task, loader, torch.utils.data.DataLoader(Rows(), batch_size=16))
told(task)
"""
TRAINER = """
import os
import sys
os.environ["HF_HUB_OFFLINE"] = "1"
import warnings
warnings.simplefilter("ignore")
import torch
from transformers import Trainer, TrainingArguments, set_seed
from transformers.utils import logging
from net import Net, Rows, told
logging.set_verbosity_error()
logging.disable_progress_bar()


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x, labels=None):
        logits = self.net(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def collate(rows):
    return {"x": torch.stack([x for x, _ in rows]), "labels": torch.stack([y for _, y in rows])}


set_seed(1)
model = Classifier()
arguments = TrainingArguments("out", num_train_epochs=3, per_device_train_batch_size=16, learning_rate=1e-2, use_cpu=True, report_to=[],
                              save_strategy="no", logging_strategy="no", disable_tqdm=True, remove_unused_columns=False, max_grad_norm=1.0)
Trainer(model, arguments, train_dataset=Rows(), data_collator=collate).train()
told(model)
"""
ACCELERATE = """
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from net import Net, Rows, told

set_seed(1)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loader = torch.utils.data.DataLoader(Rows(), batch_size=8, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(3):
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
told(model)
"""
TRAINERS = {"lightning": LIGHTNING, "transformers": TRAINER, "accelerate": ACCELERATE}


def files(name: str, bad: int) -> dict[str, str]:
    return {"main.py": TRAINERS[name], "net.py": NET.replace("BAD", str(bad))}


def weights(seen) -> str:
    """The line that tells them; the Hugging Face Trainer also prints how long it took."""
    return next((line for line in seen.stdout.splitlines() if line.startswith("weights")), "")


@pytest.mark.parametrize("name", TRAINERS)
def test_a_healthy_training_prints_the_same_numbers_and_gives_no_finding(tmp_path, name):
    plain, armed = probed_alone(tmp_path, files(name, -1)), probed_alone(tmp_path, files(name, -1), "all", "recording")
    assert plain.exit == armed.exit == 0, plain.stderr + armed.stderr
    assert weights(armed) == weights(plain) != ""
    assert armed.troubles == []
    assert [each.facts["says"] for each in armed.findings] == []
    assert armed.fact("nan.kind") == "none"


@pytest.mark.parametrize("name", TRAINERS)
def test_a_nan_that_the_model_makes_is_named_with_its_line(tmp_path, name):
    seen = probed_alone(tmp_path, files(name, 5), "nan")
    assert seen.troubles == []
    found = seen.of("nan")
    first = next(each for each in found if each.finding)
    line = f"net.py:{line_of(NET, '# <- bad')}"
    assert (first.facts["nan.kind"], first.facts["nan.op"], first.facts["at"]) == ("forward op", "log", line)
