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
