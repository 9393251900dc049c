"""What the seeds instrument sees: who seeded, workers that draw alike, and numberings that hang on the hash seed."""

from __future__ import annotations

from tests.instruments.stage import line_of, probed

WAVES = """
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

shared = np.random.default_rng(0)  # <- global


class Held:
    def __init__(self):
        self.rng = np.random.default_rng(7)  # <- held

    def __call__(self, x):
        return x + self.rng.normal(0, 0.1, x.shape).astype("float32")


class Waves(Dataset):
    def __init__(self, draw):
        self.rows, self.draw = np.zeros((80, 4), "float32"), draw

    def __len__(self):
        return 80

    def __getitem__(self, at):
        return torch.from_numpy(self.draw(self.rows[at])), at % 2


def from_global(x):
    return x + shared.normal(0, 0.1, x.shape).astype("float32")


def from_numpy(x):
    return x + np.random.normal(0, 0.1, x.shape).astype("float32")


def all_alike(worker):  # <- init
    np.random.seed(3)


def each_its_own(worker):
    info = get_worker_info()
    np.random.seed(info.seed % 2**32)
    if isinstance(info.dataset.draw, Held):
        info.dataset.draw.rng = np.random.default_rng(info.seed)


def fit(dataset, epochs=2, **asked):
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(dataset, batch_size=10, **asked)
    for _ in range(epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()


torch.manual_seed(0)
"""


def _seen(tmp_path, body):
    seen = probed(tmp_path, WAVES + body, "seeds")
    assert (seen.exit, seen.troubles) == (0, []), (seen.stderr, seen.troubles)
    return seen


def test_a_generator_copied_into_workers_is_found_where_it_was_made(tmp_path):
    seen = _seen(tmp_path, """
fit(Waves(Held()), num_workers=2)
fit(Waves(from_global), num_workers=2)
fit(Waves(from_numpy), num_workers=2, worker_init_fn=all_alike)
""")  # fmt: skip
    found = {each.facts["seeds.generator"]: each.facts["at"] for each in seen.findings}
    assert found == {"Waves.draw.rng": f"main.py:{line_of(WAVES, '<- held')}", "__main__.shared": f"main.py:{line_of(WAVES, '<- global')}",
                     "numpy.random": f"main.py:{line_of(WAVES, '<- init')}"}  # fmt: skip
    assert {each.facts["seeds.workers_alike"] for each in seen.findings} == {2} and seen.fact("seeds.generators_copied") == 3


def test_one_worker_that_begins_each_pass_alike_is_found(tmp_path):
    (found,) = _seen(tmp_path, "fit(Waves(Held()), 3, num_workers=1)\n").findings
    assert (found.facts["seeds.workers_alike"], found.facts["seeds.passes_alike"]) == (0, 3)


def test_generators_that_differ_or_are_not_drawn_from_are_let_pass(tmp_path):
    seen = _seen(tmp_path, """
class Shuffled(IterableDataset):
    def __init__(self):
        self.rng = random.Random(5)

    def __iter__(self):  # all workers shuffle alike, and each takes its share
        info, rows = get_worker_info(), list(range(80))
        self.rng.shuffle(rows)
        for at in rows[info.id :: info.num_workers]:
            yield torch.full((4,), float(at)), at % 2


class Split(Waves):
    def __init__(self):
        super().__init__(from_numpy)
        self.rng = np.random.default_rng(1)
        self.order = self.rng.permutation(80)


class Numbered(Waves):
    def __init__(self):
        super().__init__(None)
        self.noise = np.random.RandomState(0)

    def __getitem__(self, at):  # the same noise for a sample whoever asks for it
        self.noise.seed(at)
        return torch.from_numpy(self.noise.normal(size=4)).float(), at % 2


fit(Numbered(), num_workers=2)
fit(Waves(Held()), num_workers=2, worker_init_fn=each_its_own)
fit(Waves(Held()))
fit(Waves(from_numpy), num_workers=2)
fit(Split(), num_workers=2)
fit(Shuffled(), num_workers=2)
with torch.no_grad():
    for _ in range(2):
        for x, _ in DataLoader(Waves(Held()), batch_size=10, num_workers=2):  # the same noise at each evaluation, on purpose
            x.sum()
""")  # fmt: skip
    assert [each.facts["says"] for each in seen.findings] == []
    assert seen.fact("seeds.generators_copied") == 0 and "numpy.random" in seen.fact("seeds.generators_drawn_in_workers")


def test_every_line_that_seeds_is_told_and_one_that_repeats_itself_prompts(tmp_path):
    body = """
np.random.seed(11)  # <- numpy
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(25):
    random.seed(4)  # <- again
    net(torch.ones(1, 4)).sum().backward()
    opt.step()
"""
    seen = _seen(tmp_path, body)
    told = {each.facts["at"]: (each.facts["seeds.library"], each.facts["seeds.seed"], each.facts["seeds.calls"])
            for each in seen.of("seeds") if "seeds.library" in each.facts}  # fmt: skip
    source = WAVES + body
    assert told[f"main.py:{line_of(source, '<- numpy')}"] == ("numpy", 11, 1) and told[f"main.py:{line_of(source, '<- again')}"][2] == 25
    assert told[f"main.py:{line_of(source, '<- global')}"] == ("numpy generator", 0, 1)
    assert [each.facts["at"] for each in seen.hints] == [f"main.py:{line_of(source, '<- again')}"] and seen.findings == []
    assert (seen.fact("seeds.python_seeded"), seen.fact("seeds.deterministic")) == (True, False)


def test_watched_functions_go_to_a_worker_by_pickle(tmp_path):
    seen = _seen(tmp_path, """
import json
import pickle
for each in (random.seed, np.random.seed, np.random.default_rng, torch.manual_seed, torch.load, torch.save, json.loads, pickle.loads):
    assert pickle.loads(pickle.dumps(each)) is each, each
print(pickle.loads(pickle.dumps([1, 2])), json.loads(json.dumps({"a": 1})))
""")  # fmt: skip
    assert seen.stdout == "[1, 2] {'a': 1}\n"


NAMES = """
import os

import torch
from torch import nn



def apart(start):  # names whose places in a set hang on no other's
    found = {}
    for at in range(start, start + 200):
        found.setdefault(hash(f"kind{at}") % 8, f"kind{at}")
    return list(found.values())[:6]


kinds = next(names for names in map(apart, range(0, 9000, 200)) if sorted(names, key=lambda name: hash(name) % 32) != sorted(names))
rows = [(name, at) for at in range(8) for name in kinds]


def classes():
    names = ORDER  # <- order
    return names


def model(n):
    return nn.Linear(2, n)


def train():
    names = classes()
    net = model(len(names))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.ones(4, 2)).sum().backward()
    opt.step()
    torch.save(SAVED, "net.pt")
    os._exit(0)


def predict():
    saved = torch.load("net.pt")
    names = LOADED
    net = model(len(names))
    with torch.no_grad():
        print(names[int(net(torch.ones(1, 2)).argmax())] in kinds)


if os.fork() == 0:
    train()
os.wait()
predict()
"""


def _named(tmp_path, order, saved="net.state_dict()", loaded="classes()"):
    work = NAMES.replace("ORDER", order).replace("SAVED", saved).replace("LOADED", loaded)
    seen = probed(tmp_path, work, "seeds")
    assert (seen.exit, seen.troubles, seen.stdout) == (0, [], "True\n"), (seen.stderr, seen.troubles)
    return seen, f"main.py:{line_of(work, '<- order')}"


def test_class_names_in_a_sets_order_are_found_where_weights_come_from_another_process(tmp_path):
    seen, line = _named(tmp_path, "list({name for name, _ in rows})")
    (found,) = seen.findings
    assert (found.facts["at"], found.facts["seeds.names"]) == (line, 6)
    assert [hint.facts["at"] for hint in seen.hints] == [line]  # of the process that trains


def test_names_that_are_sorted_or_saved_with_the_weights_are_let_pass(tmp_path):
    saved = ("list(set(name for name, _ in rows))", '{"net": net.state_dict(), "names": names}', 'saved["names"]')
    for asked in (("sorted({name for name, _ in rows})",), ("list(dict.fromkeys(name for name, _ in rows))",), saved):
        seen, _ = _named(tmp_path, *asked)
        assert seen.findings == [] and seen.hints == []


def test_a_program_that_parses_millions_of_lines_pays_a_second_for_it(tmp_path):
    seen = probed(tmp_path, """
import json, sys
seen = sys.modules["_bitten_hook"].load("_bitten_probes.set_order").Seen
line = json.dumps({"text": "hello", "tags": ["a", "b", "c"]})
before = seen.spent
for _ in range(100):
    json.loads(line)
among, seen.spent = seen.spent - before, 1.0
for _ in range(100):
    json.loads(line)
print(among > 0, seen.spent)
""", "seeds")  # fmt: skip
    assert (seen.exit, seen.troubles, seen.stdout) == (0, [], "True 1.0\n"), (seen.stderr, seen.troubles)
