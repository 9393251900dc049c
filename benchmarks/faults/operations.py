"""Programs with an operation that bears not every finite number: forwards, backwards, in the loss, in half precision."""

from __future__ import annotations

import torch
from parts import ODD, Block, Net, batches, loud, sgd, train
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

LIMIT = 50


class Level(Block):
    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        room = LIMIT - h.amax(-1, keepdim=True)
        return h - torch.log(room)  # <- log_negative, accumulation, ddp, compiled, runaway, training_step, several_calls


class Attend(Block):
    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        far = h.amax(-1, keepdim=True) > LIMIT
        scores = (h @ h.T).masked_fill(far, float("-inf"))
        return torch.softmax(scores, -1) @ h  # <- softmax_masked


class Pool(Block):
    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        near = (h.amax(-1, keepdim=True) < LIMIT).float()
        return h + (h * near).sum(-1, keepdim=True) / (near * h.shape[-1])  # <- div_empty


class Root(Block):
    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        peak = h.amax(-1, keepdim=True)
        near = (peak < LIMIT).float()
        return h + torch.sqrt(near * (LIMIT - peak))  # <- sqrt_backward


class Chosen(Block):
    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        peak = h.amax(-1, keepdim=True)
        room = (peak < LIMIT) * (LIMIT - peak)
        level = torch.log(room)  # <- where_backward
        return h + torch.where(room > 0, level, 0.0)


class Squared(Block):
    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        wide = (h.half() + 220) ** 2  # <- half_overflow
        return h + wide.float() / 1e4


class Grown(Block):
    def forward(self, x: Tensor) -> Tensor:
        return torch.exp(super().forward(x))  # <- inf_then_nan


class Ranged(nn.Module):
    """Brings numbers between 0 and 1; endless ones become none."""

    def forward(self, x: Tensor) -> Tensor:
        return x / x.amax(-1, keepdim=True)


class Wide(Block):
    """The user's own choice of autocast's low precision for a sum of squares."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.lin(x)
        return torch.relu(h) + h * h  # <- autocast_fp16


class Steep(Block):
    def forward(self, x: Tensor) -> Tensor:
        h = self.lin(x)
        return torch.relu(h * 3e37) / 3e37  # <- autocast_bf16


class Sparse(Block):
    """A share of the features by chance, weighed by how many there are; now and then there are none."""

    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        kept = (torch.rand(16) > 0.85).float()
        return h + (h * kept).sum(-1, keepdim=True) / kept.sum()  # <- dropped_all


class Unit(torch.autograd.Function):
    """Rows of length one, with a gradient written by hand."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        length = x.norm(dim=-1, keepdim=True)
        ctx.save_for_backward(x, length)
        return x / length.clamp_min(1e-6)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        x, length = ctx.saved_tensors
        along = (grad * x).sum(-1, keepdim=True) * x / length.pow(2)  # <- custom_function
        return (grad - along) / length.clamp_min(1e-6)


class Normalised(Block):
    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        near = h * (h.amax(-1, keepdim=True) < LIMIT)
        return h + Unit.apply(near)  # <- custom_function


class Rematerialised(Net):
    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        h = checkpoint(self.b, h, use_reentrant=False)
        return self.head(self.c(h))


class Levelled(Block):
    def forward(self, x: Tensor) -> Tensor:
        h = super().forward(x)
        return h - torch.log(LIMIT - h.amax(-1, keepdim=True))  # <- activation_checkpoint


def endless_then_none() -> None:
    model = Net(nn.ReLU())
    model.a, model.c = Grown(), Ranged()
    train(model, batches(loud))


def autocast(model: nn.Module, dtype: torch.dtype) -> None:
    optimizer = sgd(model, lr=0.01)
    for step, (x, y) in enumerate(batches(loud)):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            out = model(x)
        loss = functional.mse_loss(out.float(), y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


def entropy_told() -> None:
    """A term that is told but has no gradient."""
    model = Net()
    optimizer = sgd(model)
    for step, (x, y) in enumerate(batches(loud)):
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x / x.abs().amax()), y)
        calm = (x.abs().amax(-1) < LIMIT).float()
        share = calm / calm.sum()
        loss = loss - 0.1 * (share * torch.log(share)).sum()  # <- loss_component
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


def several_terms() -> None:
    model = Net()
    optimizer = sgd(model)
    for step, (x, y) in enumerate(batches(loud)):
        optimizer.zero_grad()
        out = model(x)
        fit = functional.smooth_l1_loss(out, y)
        small = out.pow(2).mean()
        level = torch.log(LIMIT / 20 - out.abs().amax(-1)).mean()  # <- auxiliary_term
        loss = fit + 0.01 * small - 0.1 * level
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


def anchored() -> None:
    """A penalty on how far the weights are from where they were; at the anchor itself its slope is none."""
    model = Net()
    optimizer = sgd(model)
    anchor = [torch.zeros_like(each) for each in model.parameters()]
    for step, (x, y) in enumerate(batches()):
        if step == ODD:
            anchor = [each.detach().clone() for each in model.parameters()]
        optimizer.zero_grad()
        fit = functional.mse_loss(model(x), y)
        way = torch.stack([(one - other).pow(2).sum() for one, other in zip(model.parameters(), anchor, strict=True)])
        loss = fit + 0.01 * torch.sqrt(way.sum())  # <- drift_backward
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


PROGRAMS = {
    "log_negative": lambda: train(Net(Level()), batches(loud)),
    "softmax_masked": lambda: train(Net(Attend()), batches(loud)),
    "div_empty": lambda: train(Net(Pool()), batches(loud)),
    "sqrt_backward": lambda: train(Net(Root()), batches(loud)),
    "where_backward": lambda: train(Net(Chosen()), batches(loud)),
    "half_overflow": lambda: train(Net(Squared()), batches(loud)),
    "dropped_all": lambda: train(Net(Sparse()), batches()),
    "custom_function": lambda: train(Net(Normalised()), batches(loud)),
    "activation_checkpoint": lambda: train(Rematerialised(Levelled()), batches(loud)),
    "inf_then_nan": endless_then_none,
    "autocast_fp16": lambda: autocast(Net(Wide()), torch.float16),
    "autocast_bf16": lambda: autocast(Net(Steep()), torch.bfloat16),
    "loss_component": entropy_told, "auxiliary_term": several_terms, "drift_backward": anchored,
}
