"""Four ranks of gloo, of which one leaves the collective: the picture names it, and every process lives on."""

from __future__ import annotations

from tests.adapters.test_picture import ranks, until


def test_of_four_ranks_the_one_that_left_is_named_twice_alike(tmp_path):
    with ranks(tmp_path, 4) as program:
        taken = until(program, tmp_path, lambda taken: "; rank 1 never entered" in taken.odd and "ranks 0, 2, 3" in taken.odd, 240)
        again = until(program, tmp_path, lambda taken: "; rank 1 never entered" in taken.odd, 240)
    assert taken.odd == again.odd == (
        "rank 1 is in evaluate (prog.py:11), asleep; ranks 0, 2, 3 wait in all_reduce (sync_grads, prog.py:7); "
        "rank 1 never entered collective 4"
    )
    assert {each.pid for each in taken.processes} == {each.pid for each in again.processes}
