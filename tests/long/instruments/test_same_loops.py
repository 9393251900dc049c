"""Loops that the optimizer and weights instruments watch most closely compute what they compute unwatched: weights, losses, chance."""

from __future__ import annotations

import pytest

from tests.instruments.loops import BROKEN, HEAD, HEALTHY
from tests.instruments.stage import probed

WARM = ("torch", "numpy", "torch._dynamo")
TELL = """
import gc
every = [each for each in gc.get_objects() if issubclass(type(each), nn.Module)]
weights = [each for net in every for each in net.parameters()]
print(sorted(float(each.detach().double().sum()) for each in weights if not each.is_meta), len(weights), torch.rand(3).tolist())
"""


@pytest.mark.parametrize("name", [*HEALTHY, *BROKEN])
def test_a_watched_loop_ends_with_the_same_weights_and_the_same_chance(tmp_path, name):
    source = HEAD + {**HEALTHY, **BROKEN}[name] + TELL
    plain, armed = probed(tmp_path, source, warm=WARM), probed(tmp_path, source, "optimizer", "weights", "time", warm=WARM)
    assert (armed.exit, armed.stderr, armed.troubles) == (plain.exit, plain.stderr, []) and plain.exit == 0, armed.stderr
    assert len(plain.stdout) > 60 and armed.stdout == plain.stdout
