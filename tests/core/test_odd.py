"""The odd one out, of pictures made by hand."""

from __future__ import annotations

from bitten.core.failure import Frame, Process
from bitten.core.odd import odd

LIBRARY = Frame("/lib/torch/distributed/distributed_c10d.py", 3219, "all_reduce")


def rank(number, function, line, waits="", collective="", library=True):
    stack = (Frame("train.py", 15, "main", mine=True), Frame("train.py", line, function, mine=True), *([LIBRARY] if library else []))
    return Process(100 + number, f"rank {number}", rank=number, stack=stack, waits=waits, collective=collective)


def waiting(number, sequence=5):
    return rank(number, "sync_grads", 7, "all_reduce", f"{sequence} all_reduce [2, 3], not finished")


def evaluating(number):
    return rank(number, "evaluate", 17, "sleep", "4 all_reduce [2, 3]", library=False)


def test_the_rank_that_left_the_collective_is_named_with_the_one_that_it_never_entered():
    ranks = [waiting(0), evaluating(1), waiting(2), waiting(3)]
    assert odd(ranks, {0: {"": 5}, 1: {"": 4}, 2: {"": 5}, 3: {"": 5}}) == (
        "rank 1 is in evaluate (train.py:17), asleep; ranks 0, 2, 3 wait in all_reduce (sync_grads, train.py:7); "
        "rank 1 never entered collective 5"
    )


def test_of_two_ranks_the_one_outside_the_collective_is_the_odd_one():
    assert odd([waiting(0), evaluating(1)]).startswith("rank 1 is in evaluate")
    assert odd([evaluating(0), waiting(1)]).startswith("rank 0 is in evaluate")


def test_where_most_ranks_left_the_collective_those_in_it_are_still_named_last():
    told = odd([waiting(0), evaluating(1), evaluating(2), evaluating(3)])
    assert told.startswith("ranks 1, 2, 3 are in evaluate") and "rank 0 waits in all_reduce" in told


def test_ranks_that_wait_in_different_operations_are_told_apart():
    other = rank(2, "share", 30, "broadcast", "5 broadcast [4], not finished")
    told = odd([waiting(0), waiting(1), other], {0: {"": 5}, 1: {"": 5}, 2: {"": 5}})
    assert told.startswith("rank 2 waits in broadcast (share, train.py:30); ranks 0, 1 wait in all_reduce")
    assert told.endswith("collective 5 is all_reduce [2, 3] on ranks 0, 1 and broadcast [4] on rank 2")


def test_the_same_operation_on_other_sizes_is_told_though_all_stand_at_one_line():
    short = rank(1, "sync_grads", 7, "all_reduce", "5 all_reduce [2, 2], not finished")
    told = odd([waiting(0), short], {0: {"": 5}, 1: {"": 5}})
    assert told == "collective 5 is all_reduce [2, 3] on rank 0 and all_reduce [2, 2] on rank 1"


def test_a_group_of_its_own_has_its_own_numbers():
    told = odd([waiting(0), evaluating(1)], {0: {"": 3, "tensor": 9}, 1: {"": 3, "tensor": 8}})
    assert told.endswith("rank 1 never entered collective 9 of group tensor")


def test_ranks_that_all_stand_alike_have_no_odd_one():
    assert odd([waiting(0), waiting(1)], {0: {"": 5}, 1: {"": 5}}) == ""


def test_a_worker_that_reads_is_named_before_who_waits_for_it():
    main = Process(1, "train.py", stack=(Frame("train.py", 20, "main", mine=True),), waits="queue.get")
    idle = Process(2, "DataLoader worker 0", worker=0, stack=(Frame("train.py", 20, "main", mine=True),), waits="queue.get")
    stuck = Process(3, "DataLoader worker 1", worker=1, stack=(Frame("data.py", 9, "__getitem__", mine=True),), waits="read of /data/x")
    assert odd([main, idle, stuck]) == (
        "DataLoader worker 1 is in __getitem__ (data.py:9), in read of /data/x; train.py is in main (train.py:20), waiting for queue.get"
    )


def test_threads_that_hold_each_other_s_locks_are_both_named():
    one = Process(1, "work.py", stack=(Frame("work.py", 9, "first", mine=True),), waits="lock acquire")
    two = Process(1, "work.py, thread B", stack=(Frame("work.py", 15, "second", mine=True),), waits="lock acquire")
    told = odd([one, two])
    assert told == "work.py is in first (work.py:9), in lock acquire; work.py, thread B is in second (work.py:15), in lock acquire"


def test_nothing_seen_is_nothing_said():
    assert odd([]) == odd([Process(1, "make")]) == ""
