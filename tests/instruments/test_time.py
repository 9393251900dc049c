"""Where the time goes: waiting for data, and compiling again and again."""

from __future__ import annotations

from tests.instruments.stage import line_of, probed

WARM = ("torch", "numpy", "torch._dynamo")
HEAD = """
import time, torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
"""
COMPILED = HEAD + """
class Scale(nn.Module):
    def __init__(self):
        super().__init__(); self.lin, self.known = nn.Linear(4, 4), {}
    def forward(self, x):  # <- function
        if len(x) not in self.known:  # <- here
            self.known[len(x)] = 1 / len(x)
        return self.lin(x) * self.known[len(x)]
fast = torch.compile(Scale(), backend="eager")
for i in SIZES:
    fast(torch.ones(i, 4))
print("done")
"""


def test_compiling_again_below_the_limit_or_for_any_size_is_only_counted(tmp_path):
    few = COMPILED.replace("SIZES", "range(3, 6)")
    free = COMPILED.replace("SIZES", "range(3, 16)").replace("self.known[len(x)]\n", "2\n").replace("len(x) not in self.known", "False")
    for source, count in ((few, 3), (free, 2)):
        seen = probed(tmp_path, source, "time", warm=WARM)
        assert (seen.findings, seen.troubles, seen.fact("time.compilations")) == ([], [], count)


def test_waiting_for_data_is_told_as_its_share_of_the_time_between_steps(tmp_path):
    source = HEAD + """
class Slow(torch.utils.data.Dataset):
    def __len__(self): return 12
    def __getitem__(self, i):
        time.sleep(0.02)
        return torch.ones(4)
loader = torch.utils.data.DataLoader(Slow())  # <- here
for x in loader:
    opt.zero_grad(); net(x).sum().backward(); opt.step()
print("done")
"""
    seen = probed(tmp_path, source, "time", warm=WARM)
    busy = source.replace("time.sleep(0.02)", "pass").replace("opt.step()", "opt.step(); time.sleep(0.02)")
    fast = probed(tmp_path, busy, "time", warm=WARM)
    assert (seen.stdout, seen.troubles, seen.findings, fast.findings, fast.hints) == ("done\n", [], [], [], [])
    assert seen.fact("time.wait_share") > 0.5 > fast.fact("time.wait_share")
    assert [each.facts["at"] for each in seen.hints] == [f"main.py:{line_of(source, '# <- here')}"]
    assert (seen.fact("time.steps"), seen.fact("time.step") > 0.02) == (10, True)
