"""The moments of training, as instruments are told of them."""

from __future__ import annotations

from tests.instruments.stage import probed, probed_alone

LOOP = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(5):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(torch.randn(3, 4)), torch.zeros(3, 2))
    loss.backward()
    opt.step()
    print(loss.item())
"""
LISTENER = """
import sys
def listen():
    bus = sys.modules["_bitten_hook"].load("_bitten_probes.bus")
    told = []
    for name in ("root_pre", "root_post", "backward", "step_pre", "settled", "step_post", "zero_grad"):
        bus.listen("test", **{name: lambda *args, name=name: told.append(name)})
    bus.listen("bad", root_post=lambda *args: 1 / 0)
    return told
"""


def test_a_step_of_training_is_told_in_its_order_and_an_instrument_that_fails_takes_only_itself_out(tmp_path):
    source = LOOP.replace("import torch\n", "import torch\nimport listener\ntold = listener.listen()\n", 1) + "print(told[:7], len(told))\n"
    seen = probed(tmp_path, {"main.py": source, "listener.py": LISTENER}, "seeds")
    order = ["zero_grad", "root_pre", "root_post", "backward", "step_pre", "settled", "step_post"]
    assert seen.stdout.splitlines()[-1] == f"{order} 35", seen.stderr
    assert [each.split(":")[0] for each in seen.troubles if "bad" in each] == ["instrument bad at root_post"]


def test_an_armed_program_prints_the_same_numbers_as_a_plain_one(tmp_path):
    plain, armed = probed_alone(tmp_path, LOOP), probed_alone(tmp_path, LOOP, "all")
    assert (armed.exit, armed.stdout, armed.stderr) == (0, plain.stdout, "")
    assert any(armed.log.of("armed")) and not any(plain.log.of("armed"))


def test_a_compiled_model_is_closed_and_torch_warns_of_no_hooks_of_ours(tmp_path):
    source = LOOP.replace("opt = ", "net = torch.compile(net, backend='eager')\nopt = ", 1)
    plain, armed = probed(tmp_path, source), probed(tmp_path, source, "all")
    assert (armed.exit, armed.stdout, armed.stderr) == (0, plain.stdout, "")


def test_torchscript_reads_functions_as_they_were_before_we_came(tmp_path):
    source = LOOP + "print(torch.jit.script(torch.nn.CrossEntropyLoss())(torch.zeros(2, 3), torch.tensor([0, 1])).item())\n"
    seen = probed(tmp_path, source, "all")
    assert seen.exit == 0 and seen.stdout.splitlines()[-1].startswith("1.09"), seen.stderr


def test_torchscript_finds_what_a_scripted_class_names_where_the_program_has_it(tmp_path):
    functions = "def twice(x: int) -> int:\n    return 2 * x\n"
    scripted = "@torch.jit.script\nclass Box:\n    def __init__(self, x: int):\n        self.x = twice(x)\nprint(Box(2).x)\n"
    seen = probed(tmp_path, LOOP + functions + scripted, "all")
    assert seen.exit == 0 and seen.stdout.splitlines()[-1] == "4", seen.stderr


SEEN_BY_TOOLS = """
from torch.fx.experimental.proxy_tensor import make_fx
from torch.func import functional_call, grad, vmap
from torch.utils._python_dispatch import TorchDispatchMode
x, y = torch.randn(3, 4), torch.zeros(3, 2)
traced = torch.jit.trace(net, x)
print(traced.graph, make_fx(net)(x).code)
class Log(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {}))
with Log(), torch.no_grad():
    net(x), net(x), net(x)
def loss(weights, row, wanted):
    return ((functional_call(net, weights, (row,)) - wanted) ** 2).mean()
weights = {name: each.detach() for name, each in net.named_parameters()}
print([each.sum().item() for each in vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y).values()])
"""


def test_what_tools_trace_transform_or_log_has_no_operation_of_ours(tmp_path):
    plain, armed = probed(tmp_path, LOOP + SEEN_BY_TOOLS), probed(tmp_path, LOOP + SEEN_BY_TOOLS, "all")
    assert (armed.exit, armed.stdout, armed.stderr, armed.troubles) == (0, plain.stdout, plain.stderr, []) and plain.exit == 0


def test_functions_that_are_watched_can_be_pickled_by_their_names(tmp_path):
    source = """
import functools, pickle, torch
torch.zeros(2, 2).argmax(1)
kinds = [torch.cat, torch.max, torch.Tensor.argmax, torch.Tensor.__eq__, torch.load, torch.nn.functional.cross_entropy,
         torch.nn.utils.clip_grad_norm_, torch.nn.Module.train]
print([pickle.loads(pickle.dumps(each)) is each for each in kinds], pickle.loads(pickle.dumps(functools.partial(torch.softmax, dim=1))))
"""
    plain, armed = probed_alone(tmp_path, source), probed_alone(tmp_path, source, "all")
    assert (armed.exit, armed.stderr) == (0, "") and armed.stdout.startswith(str([True] * 8)), armed.stderr
    assert plain.stdout.startswith(str([True] * 8))


KEPT = """
import gc, os, weakref
import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.zeros(8, 3))
loader = DataLoader(data, 2, num_workers=1, persistent_workers=True)
for batch in loader:
    pass
worker = loader._iterator._workers[0].pid
kept = weakref.ref(data)
del data, loader, batch
gc.collect()
print(kept() is None, os.path.exists(f"/proc/{worker}"))
net, kept = torch.nn.Linear(3, 2), []
for _ in range(2):
    out = net(torch.zeros(4, 3))
    kept.append(weakref.ref(out))
    torch.nn.functional.cross_entropy(input=out, target=torch.zeros(4, dtype=torch.long), weight=torch.ones(2)).backward()
    torch.optim.SGD(net.parameters(), lr=0.1).step()
del out
gc.collect()
print([each() is None for each in kept])
"""


def test_a_loader_its_workers_and_what_a_loss_was_given_end_when_the_program_lets_go_of_them(tmp_path):
    seen = probed(tmp_path, KEPT, "all")
    assert seen.stdout.splitlines() == ["True False", "[True, True]"] and seen.troubles == [], seen.stderr


def test_nothing_is_looked_at_while_a_cuda_graph_is_captured(tmp_path):
    source = LOOP.replace("for i", "torch.cuda.is_initialized = torch.cuda.is_current_stream_capturing = lambda: True\nfor i", 1)
    plain, armed = probed(tmp_path, source), probed(tmp_path, source, "all")
    assert (armed.exit, armed.stdout, armed.stderr) == (0, plain.stdout, "")
    assert armed.fact("loss.calls") == 0 and probed(tmp_path, LOOP, "all").fact("loss.calls") == 5


def test_a_reader_that_fails_leaves_the_others_their_numbers_and_is_named_a_few_times(tmp_path):
    source = LOOP.replace("import torch\n", "import torch, sys\nbus = sys.modules['_bitten_probes.bus']\ngot = []\n", 1).replace(
        "    loss.backward()\n", "    for call in (lambda numbers: 1 / 0, got.append):\n        bus.defer(loss.detach().reshape(1), call)\n"
        "    loss.backward()\n").replace("range(5)", "range(40)") + "print(len(got))\n"  # fmt: skip
    seen = probed(tmp_path, source, "seeds")
    assert seen.stdout.splitlines()[-1] == "40" and len(seen.troubles) == 20, seen.stderr


def test_what_a_parent_loaded_is_not_told_by_its_workers(tmp_path):
    source = LOOP + """
net.load_state_dict({name: each.clone() for name, each in net.state_dict().items()})
for batch in torch.utils.data.DataLoader(list(range(4)), 2, num_workers=2):
    pass
"""
    seen = probed(tmp_path, source, "weights")
    told = [each["facts"]["weights.loads"] for each in seen.log.of("sighting") if each["key"] == "summary"]
    assert (told, seen.troubles) == ([1], []), seen.stderr

TABLE = """
import pickle, torch
HANDLED = {}
class Mine:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return HANDLED.get(func, "nobody")
class Sub(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return HANDLED[func] if func in HANDLED else super().__torch_function__(func, types, args, kwargs or {})
for each in (torch.max, torch.cat, torch.argmax, torch.Tensor.argmax, torch.nn.functional.cross_entropy):
    HANDLED[each] = each.__name__
x = torch.zeros(3).as_subclass(Sub)
print(torch.max(Mine()), torch.cat([Mine()]), torch.argmax(Mine()), torch.nn.functional.cross_entropy(Mine(), Mine()))
print(torch.max(x), torch.cat([x]), torch.argmax(x), x.argmax(), pickle.loads(pickle.dumps(torch.cat)) == torch.cat)
"""


def test_a_programs_own_table_of_torchs_functions_finds_each_of_them(tmp_path):
    seen = probed(tmp_path, TABLE, "all")
    assert (seen.exit, seen.troubles) == (0, []), seen.stderr
    assert seen.stdout == "max cat argmax cross_entropy\nmax cat argmax argmax True\n"


ODD = """
import torch
class Odd(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.seen = torch.nn.Linear(4, 2), 0
    def __hash__(self):
        return hash((id(type(self)), self.seen))  # raises until it is made, and changes with each call
    def __eq__(self, other):
        raise RuntimeError("not to be asked")
    def forward(self, x):
        self.seen += 1
        return self.net(x)
net = Odd()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(6):
    opt.zero_grad()
    net(torch.ones(3, 4)).square().mean().backward()
    opt.step()
print("done")
"""


def test_a_module_with_a_hash_of_its_own_puts_no_instrument_out_and_nothing_is_said_when_the_interpreter_ends(tmp_path):
    seen = probed_alone(tmp_path, ODD, "all", "recording")
    assert (seen.exit, seen.stdout, seen.stderr, seen.troubles) == (0, "done\n", "", [])
