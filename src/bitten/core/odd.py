"""Which process of a picture is elsewhere than the rest, in a sentence. Knows what each one shows, not how it was seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .failure import Process

COLLECTIVES = frozenset({
    "all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_gather_coalesced", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "barrier", "monitored_barrier", "broadcast", "broadcast_object_list", "gather", "gather_object",
    "isend", "irecv", "send", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list",
    "batch_isend_irecv", "init_process_group", "new_group", "destroy_process_group", "allreduce", "allgather", "reducescatter", "alltoall",
})  # fmt: skip
IDLE = frozenset({"queue.get", "poll", "a message of another process", "a child process to end", "a thread to end", "a result"})
"""Waits that another process or thread ends: who waits so is not the one to look at."""

Entered = Mapping[int, Mapping[str, int]]
"""Rank → group → number of the last collective that it entered there; the default group's name is empty."""


def odd(processes: Sequence[Process], entered: Entered | None = None) -> str:
    """A sentence; empty where nothing stands out, or too little was seen."""
    ranks = [each for each in processes if each.rank is not None and each.worker is None and (each.stack or each.waits or each.collective)]
    return "; ".join(filter(None, [_of_ranks(ranks), *_never(ranks, entered or {})])) if len(ranks) > 1 else _of_others(processes)


def place(process: Process) -> str:
    """`evaluate (train.py:17)`; the innermost library function where none of the person's is there."""
    frame = process.site or (process.stack[-1] if process.stack else None)
    return f"{frame.function} ({frame.file.rpartition('/')[2] if not frame.mine else frame.file}:{frame.line})" if frame else ""


def in_collective(process: Process) -> bool:
    """It waits in one by its stack, or has begun one that is not finished and stands in a library or a lock."""
    stands = not process.stack or not process.stack[-1].mine or "lock" in process.waits
    return process.waits in COLLECTIVES or (process.collective.endswith("not finished") and stands)


def _of_ranks(ranks: Sequence[Process]) -> str:
    groups: dict[str, list[Process]] = {}
    for each in ranks:
        groups.setdefault(_standing(each), []).append(each)
    if len(groups) < 2:
        return ""
    ordered = sorted(groups.values(), key=lambda group: (in_collective(group[0]), len(group)))
    return "; ".join(f"{_named(group)} {_verb(group)}" for group in ordered[:4])


def _standing(process: Process) -> str:
    return f"{in_collective(process)} {process.waits if in_collective(process) else ''} {place(process)}"


def _named(group: Sequence[Process]) -> str:
    numbers = sorted(each.rank for each in group if each.rank is not None)
    return f"rank {numbers[0]}" if len(numbers) == 1 else f"ranks {', '.join(map(str, numbers))}"


def _verb(group: Sequence[Process]) -> str:
    first, one = group[0], len(group) == 1
    where = place(first)
    if in_collective(first):
        operation = first.waits if first.waits in COLLECTIVES else first.collective.split()[1]
        frame = first.site
        inside = f" ({frame.function}, {frame.file}:{frame.line})" if frame else ""
        return f"{'waits' if one else 'wait'} in {operation}{inside}"
    waiting = f", {_in(first.waits)}" if first.waits else ""
    return f"{'is' if one else 'are'} in {where}{waiting}" if where else f"{'is' if one else 'are'} elsewhere{waiting}"


def _in(waits: str) -> str:
    return "asleep" if waits == "sleep" else f"waiting for {waits}" if waits in IDLE or waits.startswith("a ") else f"in {waits}"


def _never(ranks: Sequence[Process], entered: Entered) -> Iterable[str]:
    """Who has not entered the collective that the others are in; else, where the same number is not the same operation everywhere."""
    for group in sorted({group for each in entered.values() for group in each}):
        last = {rank: groups[group] for rank, groups in entered.items() if group in groups}
        behind = sorted(rank for rank, number in last.items() if number < max(last.values()))
        inside = f" of group {group}" if group else ""
        if behind:
            names = f"rank {behind[0]}" if len(behind) == 1 else f"ranks {', '.join(map(str, behind))}"
            yield f"{names} never entered collective {max(last.values())}{inside}"
            return
    operations: dict[str, list[Process]] = {}
    for each in ranks:
        if each.collective.endswith("not finished"):
            operations.setdefault(each.collective.removesuffix(", not finished"), []).append(each)
    if len({operation.split()[0] for operation in operations}) == 1 < len(operations):
        number = next(iter(operations)).split()[0]
        said = " and ".join(f"{name.partition(' ')[2]} on {_named(group)}" for name, group in operations.items())
        yield f"collective {number} is {said}"


def _of_others(processes: Sequence[Process]) -> str:
    """Of one program's processes and threads: who does not wait for another of them, and who does."""
    seen = [each for each in processes if each.site]
    busy = [each for each in seen if each.waits not in IDLE]
    idle = [each for each in seen if each.waits in IDLE]
    told = busy[:3] + (idle[:1] if busy else idle[:2])
    return "; ".join(f"{each.name} {_verb([each])}" for each in told)
