"""What the batches instrument sees of loaders and inputs, and what it lets pass."""

from __future__ import annotations

from tests.instruments.stage import line_of, probed

TRAIN = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, Subset, TensorDataset, WeightedRandomSampler
from torch.utils.data import get_worker_info, random_split

torch.manual_seed(0)
X, Y = torch.randn(400, 5), torch.randint(0, 3, (400,))


def table(n=400):
    return TensorDataset(torch.randn(n, 5), torch.randint(0, 3, (n,)))


def fit(loader, epochs=3, width=5, before=lambda epoch: None):
    net = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(epochs):
        before(epoch)
        for x, y in loader:  # <- loop
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return net


@torch.no_grad()
def evaluate(net, loader):
    return [net(x) for x, _ in loader]  # <- served


class Stream(IterableDataset):
    def __init__(self, n, is_sharded):
        self.rows, self.is_sharded = torch.randn(n, 5), is_sharded

    def __iter__(self):  # <- stream
        worker = get_worker_info()
        start, step = (worker.id, worker.num_workers) if worker and self.is_sharded else (0, 1)
        for at in range(start, len(self.rows), step):
            yield self.rows[at], at % 3


class ByEpoch(Sampler):
    shuffle = True

    def __init__(self, n):
        self.n, self.epoch = n, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter(torch.randperm(self.n, generator=torch.Generator().manual_seed(self.epoch)).tolist())


class Named(Dataset):
    def __init__(self, names):
        self.class_to_idx = {name: at for at, name in enumerate(names)}
        self.rows = torch.randn(60, 5)

    def __len__(self):
        return 60

    def __getitem__(self, at):
        return self.rows[at], at % 3

"""


def _seen(tmp_path, body):
    seen = probed(tmp_path, TRAIN + body, "batches")
    assert (seen.exit, seen.troubles) == (0, []), (seen.stderr, seen.troubles)
    return seen


def test_a_stream_that_every_worker_reads_whole_is_found_at_its_iter(tmp_path):
    seen = _seen(tmp_path, "fit(DataLoader(Stream(200, False), batch_size=10, num_workers=2), 1)\n")
    (found,) = seen.findings
    assert found.facts["at"] == f"main.py:{line_of(TRAIN, '<- stream')}" and found.place == "main.py:Stream.__iter__"
    assert (found.facts["batches.times_served"], found.facts["batches.distinct_samples"], found.facts["batches.workers"]) == (2, 200, 2)


def test_a_shuffling_sampler_that_gives_one_order_is_found_at_the_loop(tmp_path):
    seen = _seen(tmp_path, """
fit(DataLoader(table(), batch_size=10, sampler=ByEpoch(400)))
again = torch.Generator()
fit(DataLoader(table(), batch_size=10, shuffle=True, generator=again), before=lambda epoch: again.manual_seed(1))
""")  # fmt: skip
    assert [found.facts["at"] for found in seen.findings] == [f"main.py:{line_of(TRAIN, '<- loop')}"] * 2
    assert ["set_epoch" in found.facts["says"] for found in seen.findings] == [True, False]


def test_samples_of_training_in_evaluation_are_found_by_index_and_by_value(tmp_path):
    body = """
whole = TensorDataset(X, Y)
net = fit(DataLoader(Subset(whole, range(300)), batch_size=20, shuffle=True))
part = Subset(whole, range(250, 400))  # <- by index
evaluate(net, DataLoader(part, batch_size=20))
held = TensorDataset(X[200:], Y[200:])  # <- by value
evaluate(net, DataLoader(held, batch_size=20))
_, val = random_split(whole, [360, 40])  # <- by name
val_loader = DataLoader(Subset(val.dataset, [at for at in val.indices if at < 300] + [0]), batch_size=20)  # <- named
evaluate(net, val_loader)
"""
    seen = _seen(tmp_path, body)
    shared = {found.facts["at"]: found.facts["batches.shared_by"] for found in seen.findings}
    assert shared == {f"main.py:{line_of(TRAIN + body, mark)}": how for mark, how in
                      (("<- by index", "index"), ("<- by value", "value"), ("<- named", "index"))}  # fmt: skip
    assert seen.fact("batches.overlapping_loaders") == 3


def test_inputs_that_inference_prepares_otherwise_are_found_at_its_call(tmp_path):
    seen = _seen(tmp_path, """
net = fit(DataLoader(TensorDataset(X[:300], Y[:300]), batch_size=20))
evaluate(net, DataLoader(TensorDataset(X[300:] * 40 + 200, Y[300:]), batch_size=20))
""")  # fmt: skip
    (found,) = seen.findings
    assert found.facts["at"] == f"main.py:{line_of(TRAIN, '<- served')}" and found.facts["batches.features_apart"] == 5
    assert found.facts["also"][0].endswith(f"main.py:{line_of(TRAIN, '<- loop') + 1}")


def test_another_process_of_the_run_is_held_against_what_training_saw(tmp_path):
    body = """
import os
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
images = torch.rand(64, 3, 8, 8)
if os.fork() == 0:
    for _ in range(3):
        net(images)
    os._exit(0)
os.wait()
net.eval()
for image in images:
    net(255 * image[None])  # <- raw
"""
    (found,) = _seen(tmp_path, body).findings
    assert found.facts["at"] == f"main.py:{line_of(TRAIN + body, '<- raw')}"
    assert found.facts["batches.training_range"][1] <= 1 < found.facts["batches.inference_range"][1]


def test_classes_that_two_datasets_number_differently_are_found(tmp_path):
    seen = _seen(tmp_path, """
net = fit(DataLoader(Named(["a", "b", "c"]), batch_size=10, shuffle=True))
evaluate(net, DataLoader(Named(["b", "a", "c"]), batch_size=10))
""")  # fmt: skip
    (found,) = seen.findings
    assert found.facts["batches.classes_renumbered"] == 2


def test_healthy_loaders_give_no_finding(tmp_path):
    seen = _seen(tmp_path, """
fit(DataLoader(Stream(200, True), batch_size=10, num_workers=2), 2)
sampler = ByEpoch(400)
fit(DataLoader(table(), batch_size=10, sampler=sampler), before=sampler.set_epoch)
fit(DataLoader(table(), batch_size=10))
fit(DataLoader(table(), batch_size=10, sampler=WeightedRandomSampler(torch.ones(400), 400)))
one = DataLoader(table(), batch_size=10, shuffle=True)
for _ in range(2):  # two models, compared from the same seed
    torch.manual_seed(0)
    fit(one, 1)
a, b = random_split(TensorDataset(X, Y), [300, 100])
net = fit(DataLoader(a, batch_size=20, shuffle=True))
evaluate(net, DataLoader(b, batch_size=20))
train_eval_loader = DataLoader(Subset(a, range(100)), batch_size=20)
evaluate(net, train_eval_loader)
net = fit(DataLoader(TensorDataset(torch.cat([X[:300], X[:50]]), torch.cat([Y[:300], Y[:50]])), batch_size=20, shuffle=True))  # oversampled
evaluate(net, DataLoader(TensorDataset(X[300:] * 3 + 2, Y[300:]), batch_size=20))  # the world has shifted
bits = torch.eye(6)[torch.randint(0, 6, (400,))]
net = fit(DataLoader(TensorDataset(bits[:300], Y[:300]), batch_size=20, shuffle=True), width=6)
evaluate(net, DataLoader(TensorDataset(bits[300:], Y[300:]), batch_size=20))
net = fit(DataLoader(Named(["a", "b", "c"]), batch_size=10, shuffle=True))
evaluate(net, DataLoader(Named(["a", "b", "c"]), batch_size=10))
fit(DataLoader(table(6), batch_size=3, shuffle=True), 4)
folds, whole = torch.arange(400).chunk(4), TensorDataset(X, Y)
for fold in folds:
    train_loader = DataLoader(Subset(whole, [at for at in range(400) if at not in fold]), batch_size=20, shuffle=True)
    val_loader = DataLoader(Subset(whole, fold.tolist()), batch_size=20)
    net = fit(train_loader)
    evaluate(net, val_loader)
class Twice(Stream):
    def __iter__(self):
        yield from super().__iter__()
        yield from super().__iter__()


fit(DataLoader(Twice(100, True), batch_size=10, num_workers=2), 1)
everything = DataLoader(whole, batch_size=20)  # what the model says of all there is
evaluate(net, everything)
""")  # fmt: skip
    assert [found.facts["says"] for found in seen.findings] == []
    assert seen.fact("batches.skewed_inputs") == 0 and seen.fact("batches.overlapping_loaders") == 0


def test_facts_and_hints_of_batches_are_told(tmp_path):
    seen = _seen(tmp_path, """
scales = torch.tensor([1.0, 1.0, 5000.0, 1.0, 1.0])
rows = torch.randn(1001, 5) * scales
rows[:, 3] = 2.0
rows[:, 4] = rows[:, 0]
labels = (torch.arange(1001) >= 950).long()
fit(DataLoader(TensorDataset(rows, labels), batch_size=10), 1)
""")  # fmt: skip
    assert seen.findings == []
    told = {name: seen.fact("batches." + name) for name in (
        "batches_of_one", "classes", "label_max", "imbalance", "constant_features", "duplicate_features", "samples", "never_served",
        "epochs", "used_for")}  # fmt: skip
    assert told == {"batches_of_one": 1, "classes": 1, "label_max": 0, "imbalance": 1.0, "constant_features": 1, "duplicate_features": 1,
                    "samples": 1001, "never_served": 0, "epochs": 1, "used_for": "training"}  # fmt: skip
    assert [hint.facts["says"].split(":")[0][:40] for hint in seen.hints] == ["The features of the input differ in scal"]
