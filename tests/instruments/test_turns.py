"""Each turn in a real program: the condition is changed, and whether it was ever met is told."""

from __future__ import annotations

from bitten.adapters import vocabulary
from tests.instruments.stage import line_of, probed, probed_alone

COPY = {"BITTEN_COPY": "1"}
HEAD = """
import random, torch
from torch.utils.data import DataLoader, TensorDataset
"""
STEP = HEAD + """
w = torch.nn.Parameter(torch.tensor([1.0]))
opt = torch.optim.SGD([w], lr=1.0, momentum=0.5)
plan = torch.optim.lr_scheduler.ExponentialLR(opt, 0.5)
for _ in range(2):
    opt.zero_grad()
    (w * 1.0).sum().backward()
    opt.step()  # <- step
    plan.step()
print(w.item(), opt.param_groups[0]["lr"], opt.param_groups[0]["momentum"])
"""


def turned(tmp_path, source: str, *turns: str, **more):
    seen = probed(tmp_path, source, "turns", turns=turns, env=COPY, **more)
    assert seen.exit == 0 and seen.troubles == [], (seen.stderr, seen.troubles)
    told = {name for each in seen.of("turns") for name in each.facts if "." in name and "warp" not in name}
    assert told <= {*vocabulary._literal(vocabulary.FOLDER / "turns.py", "FACTS")}, told
    return seen


def test_a_learning_rate_is_changed_while_an_optimizer_steps_and_schedulers_go_on_from_their_own(tmp_path):
    seen = turned(tmp_path, STEP, "lr=0.5")
    assert seen.stdout == f"{1 - 0.5 * 1 - 0.25 * 1.5} 0.25 0.5\n"
    assert (seen.fact("turn.lr"), seen.fact("turn.lr.times"), seen.fact("turn.steps")) == ("applied", 2, 2)
    assert seen.of("turns")[0].facts["at"] == f"main.py:{line_of(STEP, '# <- step')}"


def test_a_step_that_raised_leaves_no_changed_rate_behind(tmp_path):
    source = STEP.replace("    opt.step()", "    opt.step(lambda: 1 / 0) if 0 else None\n    opt.step()").replace(
        "opt.zero_grad()", "opt.zero_grad()\n    try:\n        opt.step(lambda: 1 / 0)\n    except ZeroDivisionError:\n        pass")
    assert turned(tmp_path, source, "lr=0.5").stdout.split()[1:] == ["0.25", "0.5"]


NOTHING = "import torch, numpy\nprint(torch.ones(2).sum().item())\n"


def test_a_turn_that_meets_nothing_says_so(tmp_path):
    names = ("lr=0.5", "autocast=off", "scaler=on", "compile=off", "workers=0", "batch=2", "overfit=one", "skip=1", "shuffle_labels=on",
             "device=cpu")
    seen = turned(tmp_path, NOTHING, *names)
    assert {each.partition("=")[0]: seen.fact(f"turn.{each.partition('=')[0]}") for each in names} == {
        each.partition("=")[0]: "never met" for each in names}


def test_a_turn_that_there_is_not_or_that_has_no_such_value_says_so_and_the_others_are_in_place(tmp_path):
    seen = turned(tmp_path, STEP, "warp=9", "workers=many", "skip=0", "overfit=two", "lr=0.5")
    states = [seen.fact(f"turn.{name}").partition(":")[0] for name in ("warp", "workers", "skip", "overfit", "lr")]
    assert states == [*["failed"] * 4, "applied"]


def test_outside_of_a_copy_nothing_is_changed(tmp_path):
    seen = probed(tmp_path, STEP, "turns", turns=("lr=0.5",))
    assert seen.stdout.split()[0] == f"{1 - 1 - 0.5 * 1.5}" and seen.fact("turn.lr") == "refused: only in a throw-away copy"


PRECISION = HEAD + """
net = torch.nn.Linear(2, 2)
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(net(torch.ones(1, 2)).dtype)
@torch.autocast("cpu", dtype=torch.bfloat16)
def called(x):
    return net(x)
print(called(torch.ones(1, 2)).dtype)
fast = torch.compile(net, backend="eager")
also = torch.compile(backend="eager")(net.forward)
print(fast is net, also == net.forward)
"""


def test_autocast_and_compilation_are_taken_out(tmp_path):
    plain = turned(tmp_path, PRECISION)
    seen = turned(tmp_path, PRECISION, "autocast=off", "compile=off")
    assert plain.stdout == "torch.bfloat16\ntorch.bfloat16\nFalse False\n"
    assert seen.stdout == "torch.float32\ntorch.float32\nTrue True\n"
    assert (seen.fact("turn.autocast.times"), seen.fact("turn.compile.times")) == (2, 2)


HALF = HEAD + """
w = torch.nn.Parameter(torch.full((4,), 1.0))
opt = torch.optim.SGD([w], lr=2.0**16)
for step in range(4):
    opt.zero_grad()
    for part in range(2):
        with torch.autocast("cpu", dtype=torch.float16):
            small = (w * 1.0).to(torch.float16) * 2.0**-13
            out = small * (6e4 if step == 1 else 1.0)
        (out.float() * 2.0**-13).mean().backward()
    grad = w.grad.clone()
    opt.step()
    print(step, (grad[0] * 2**26).item(), w[0].item() < 1.0)
"""


def test_a_scaler_saves_gradients_that_would_vanish_in_half_precision(tmp_path):
    plain, seen = turned(tmp_path, HALF), turned(tmp_path, HALF, "scaler=on")
    assert plain.stdout.splitlines()[0] == "0 0.0 False"
    assert seen.stdout.splitlines()[0] == "0 0.5 True", seen.stdout + str(seen.fact("turn.scaler"))
    assert seen.fact("turn.scaler.times") == 8


def test_a_scaler_is_refused_where_the_program_has_one_or_its_hooks_see_gradients(tmp_path):
    own = HALF.replace("(out.float()", "torch.amp.GradScaler('cpu').scale(out.float()")
    hooked = HALF.replace("opt = ", "w.register_hook(lambda grad: None)\nopt = ", 1)
    assert turned(tmp_path, own, "scaler=on").fact("turn.scaler").startswith("refused: the program scales")
    assert turned(tmp_path, hooked, "scaler=on").fact("turn.scaler").startswith("refused: hooks")


OVERFLOW = HEAD + """
w = torch.nn.Parameter(torch.ones(2))
opt = torch.optim.AdamW([w], lr=0.1)
scale = [1.0, 1e4, 1.0]
for factor in scale:
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = (w.to(torch.float16) * 1.0)
    (out.float() * factor).sum().backward()
    before = w.detach().clone()
    opt.step()
    print(bool((w == before).all()), bool(torch.isfinite(w).all()))
"""


def test_a_scaler_that_can_pass_over_no_step_has_failed_and_takes_no_other_turn_with_it(tmp_path):
    own = OVERFLOW.replace("opt = torch.optim.AdamW([w], lr=0.1)", """
class Own(torch.optim.Optimizer):
    def step(self):
        for each in self.param_groups[0]["params"]:
            each.data.add_(each.grad, alpha=-self.param_groups[0]["lr"])
opt = Own([w], {"lr": 0.1})""").replace("[1.0, 1e4, 1.0]", "[1.0, 1e4, 1.0, 1.0, 1.0]")
    seen = turned(tmp_path, own, "scaler=on", "lr=0.5")
    assert seen.fact("turn.scaler").startswith("failed: TypeError: a step can't be passed over"), seen.fact("turn.scaler")
    assert (seen.fact("turn.lr"), seen.fact("turn.lr.times"), seen.fact("turn.steps")) == ("applied", 5, 5)


def test_a_rate_times_one_is_no_change(tmp_path):
    assert turned(tmp_path, STEP, "lr=1").fact("turn.lr") == "failed: ValueError: times 1 is no change"


def test_a_step_whose_scaled_gradients_overflow_is_passed_over(tmp_path):
    assert turned(tmp_path, OVERFLOW, "scaler=on").stdout == "True True\nTrue True\nFalse True\n"


LOADERS = HEAD + """
torch.manual_seed(0)
def work():
    data = TensorDataset(torch.arange(12.0).reshape(12, 1), torch.arange(12) + 100)
    train = DataLoader(data, batch_size=4, shuffle=True)
    valid = DataLoader(data, batch_size=6)
    net = torch.nn.Linear(1, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.0)
    for epoch in range(2):
        net.train()
        for x, y in train:
            print("train", x.flatten().tolist(), y.tolist())
            opt.zero_grad()
            net(x).sum().backward()
            opt.step()
            x.zero_()
        net.eval()
        for x, y in valid:
            with torch.no_grad():
                net(x)
            print("valid", x.flatten().tolist(), y.tolist())
    print("drawn", torch.rand(1).item(), train.num_workers)
if __name__ == "__main__":
    work()
"""


WORKERS = LOADERS.replace("shuffle=True", "shuffle=True, num_workers=1, prefetch_factor=3, persistent_workers=True, timeout=30")


def rows(seen, kind: str = "train") -> list[str]:
    return [line for line in seen.stdout.splitlines() if line.startswith(kind)]


def test_workers_go_with_all_that_hangs_on_them(tmp_path):
    plain, seen = turned(tmp_path, WORKERS), turned(tmp_path, WORKERS, "workers=0")
    assert rows(plain, "drawn")[0].endswith(" 1") and rows(seen, "drawn")[0].endswith(" 0")
    assert len(rows(seen)) == 6 and seen.fact("turn.workers.times") == 1


def test_batches_get_another_size_but_not_where_a_sampler_of_their_own_makes_them(tmp_path):
    seen = turned(tmp_path, LOADERS, "batch=0.5")
    assert (len(rows(seen)), len(rows(seen, "valid")), seen.fact("turn.batch.times")) == (12, 8, 2)
    own = LOADERS.replace("batch_size=4, shuffle=True", "batch_sampler=[[0, 1], [2]]").replace("DataLoader(data, batch_size=6)", "[]")
    assert turned(tmp_path, own, "batch=2").fact("turn.batch").startswith("refused: the loader's batches")


def test_overfitting_one_batch_hands_it_out_as_often_as_there_were_batches_and_leaves_validation_alone(tmp_path):
    plain, seen = turned(tmp_path, WORKERS), turned(tmp_path, WORKERS, "overfit=one")
    assert len(rows(seen)) == len(rows(plain)) == 6 and len(set(rows(plain))) == 6
    assert set(rows(seen)) == {rows(plain)[0]} and rows(seen, "valid") == rows(plain, "valid")
    assert (seen.fact("turn.overfit.times"), len(seen.fact("turn.overfit.batch")), seen.fact("turn.overfit.mode")) == (5, 16, "train")


def test_one_batch_of_training_is_skipped(tmp_path):
    plain, seen = turned(tmp_path, LOADERS), turned(tmp_path, LOADERS, "skip=2")
    assert rows(seen) == rows(plain)[:2] + rows(plain)[3:] and seen.fact("turn.skip.times") == 1
    later = turned(tmp_path, LOADERS, "skip=4")
    assert rows(later) == rows(plain)[:4] + rows(plain)[5:], "the second of the second epoch"


def test_a_loader_is_told_from_others_by_identity_though_it_has_no_hash_of_its_own(tmp_path):
    odd = LOADERS.replace("def work", "class Odd(DataLoader):\n    __hash__ = None\ndef work").replace("train = DataLoader", "train = Odd")
    plain, seen = turned(tmp_path, odd), turned(tmp_path, odd, "skip=2")
    assert rows(seen) == rows(plain)[:2] + rows(plain)[3:] and seen.fact("turn.skip.times") == 1


def test_labels_are_shuffled_among_their_rows_and_the_programs_own_random_numbers_stay(tmp_path):
    plain, seen = turned(tmp_path, LOADERS), turned(tmp_path, LOADERS, "shuffle_labels=on")
    parts = [[line.partition("] ") for line in rows(each)] for each in (plain, seen)]
    assert [a[0] for a in parts[0]] == [b[0] for b in parts[1]] and parts[0] != parts[1]
    assert [sorted(eval(a[2])) for a in parts[0]] == [sorted(eval(b[2])) for b in parts[1]]
    assert rows(seen, "drawn") == rows(plain, "drawn")


def test_the_label_of_a_dict_is_found_by_its_name_and_none_is_guessed(tmp_path):
    source = HEAD + """
for data in ([{"x": torch.tensor(i), "labels": torch.tensor(i)} for i in range(8)], [torch.tensor(i) for i in range(8)]):
    for batch in DataLoader(data, batch_size=8):
        print(batch)
"""
    seen = turned(tmp_path, source, "shuffle_labels=on")
    one, other = seen.stdout.splitlines()
    assert "'x': tensor([0, 1, 2, 3, 4, 5, 6, 7])" in one and "'labels': tensor([0, 1, 2, 3, 4, 5, 6, 7])" not in one
    assert other == "tensor([0, 1, 2, 3, 4, 5, 6, 7])" and seen.fact("turn.shuffle_labels.times") == 1
    alone = turned(tmp_path, source.replace("batch_size=8", "batch_size=1"), "shuffle_labels=on")
    assert alone.fact("turn.shuffle_labels").startswith("refused: nothing tells"), "one row has no other to change places with"


SEEDS = """
import random
import numpy as np
import torch
if SEEDED:
    random.seed(7); np.random.seed(7); torch.manual_seed(7)
print(random.random(), np.random.rand(), torch.rand(1).item(), np.random.default_rng(8).random(),
      torch.rand(1, generator=torch.Generator().manual_seed(9)).item())
"""


def test_a_seed_moves_all_seeds_by_one_distance_and_seeds_what_is_not(tmp_path):
    def drawn(seeded, *turns):
        return turned(tmp_path, SEEDS.replace("SEEDED", str(seeded)), *turns).stdout.split()

    plain, same, other = drawn(True), drawn(True, "seed=7"), drawn(True, "seed=3")
    assert same == plain and not set(other) & set(plain)
    own = turned(tmp_path, SEEDS.replace("SEEDED", "True"), "seed=7").fact("turn.seed")
    assert own == "failed: ValueError: it is the program's own first seed, and moves none"
    assert other == drawn(True, "seed=3") and drawn(False, "seed=3")[:3] == other[:3] and drawn(False)[0] != drawn(False)[0]


STATE = """
import torch
torch.set_num_threads(1)
torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark
print(torch.are_deterministic_algorithms_enabled(), torch.get_num_threads())
net = torch.nn.Linear(2, 2).cuda() if MOVED else torch.nn.Linear(2, 2)
if MOVED:
    torch.cuda.set_device(0)
    torch.cuda.synchronize()
x = torch.zeros(1, 2, device="cuda") if MOVED else torch.zeros(1, 2)
print(net.to(torch.device("cuda:0"))(x.to("cuda")).device if MOVED else "cpu")
"""


def test_determinism_threads_and_device_are_set(tmp_path):
    seen = turned(tmp_path, STATE.replace("MOVED", "True"), "deterministic=on", "threads=2", "device=cpu")
    assert seen.stdout == "True 2\ncpu\n"
    assert {seen.fact(f"turn.{name}") for name in ("deterministic", "threads", "device")} == {"applied"}
    assert turned(tmp_path, STATE.replace("MOVED", "False")).stdout == "False 1\ncpu\n"


def test_from_the_first_import_on_the_same_is_changed(tmp_path):
    turns = ("seed=3", "threads=2", "lr=0.5", "workers=0", "overfit=one", "device=cpu")
    source = WORKERS.replace("torch.manual_seed(0)", "torch.manual_seed(0); print(torch.get_num_threads(), torch.initial_seed())")
    seen = probed_alone(tmp_path, source, "turns", turns=turns, env=COPY)
    assert seen.exit == 0 and seen.troubles == [], seen.stderr
    assert seen.stdout.startswith("2 3\n") and len(set(rows(seen))) == 1
    assert [seen.fact(f"turn.{each.partition('=')[0]}") for each in turns] == [*["applied"] * 5, "never met"]


def test_numbers_without_a_turn_are_the_programs_own(tmp_path):
    assert turned(tmp_path, LOADERS).stdout == probed(tmp_path, LOADERS).stdout
