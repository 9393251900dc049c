# ruff: noqa: E501 - a small file, or a story of records, is easier read unbroken
"""What changed since the last good run, in lines."""

from __future__ import annotations

from bitten.core.failure import FileSeen, Resolved
from bitten.core.state import NOTHING, Moved, State, since

GOOD = State(at=1_000_000.0, head="a" * 40, packages={"numpy": "1.26.4", "old": "1"}, environment={"OMP_NUM_THREADS": "4"},
             configs=(Resolved("conf.yaml", {"lr": "0.1", "dim": "64"}),),
             data=(FileSeen("data/a.csv", "data", 80, 1.0, digest="d1", rows=8), FileSeen("conf.yaml", "config", 9, 1.0, digest="c1")))


def told(now: State, moved: Moved | None = None) -> tuple[str, ...]:
    return since(GOOD, now, moved or Moved())[1:]


def like(**changes) -> State:
    return State(**{**{name: getattr(GOOD, name) for name in GOOD.__dataclass_fields__}, "at": GOOD.at + 7300, **changes})


def test_a_run_like_the_last_good_one_has_nothing_to_tell_but_when_that_was():
    assert since(GOOD, like(), Moved())[0].endswith(", 2 hours before this one")
    assert told(like()) == (NOTHING,)


def test_commits_are_counted_and_named_and_a_lost_ancestor_is_said():
    assert told(like(), Moved(("b1 newest", "b2 older"), 9, ("a.py",))) == ("commits: 9: b1 newest; b2 older and 7 more", "files: a.py")
    assert told(like(), Moved((), -1)) == (f"commits: HEAD was {'a' * 12}, which is not among its ancestors now",)


def test_long_lists_are_cut_with_their_count():
    line = told(like(), Moved(files=tuple(f"m{at}.py" for at in range(30))))[0]
    assert line.endswith("m5.py and 24 more")


def test_packages_that_changed_came_or_went_are_told():
    assert told(like(packages={"numpy": "2.0.0", "extra": "3"})) == (
        "packages: numpy 1.26.4 → 2.0.0, old is gone (was 1), new extra 3",)


def test_a_value_of_a_config_is_told_with_both_and_its_file_is_not_told_again():
    data = (GOOD.data[0], FileSeen("conf.yaml", "config", 9, 5.0, digest="c2"))
    now = like(configs=(Resolved("conf.yaml", {"lr": "1.0", "dim": "64", "seed": "3"}),), data=data)
    assert told(now) == ("conf.yaml: lr 0.1 → 1.0, new seed 3",)


def test_data_that_grew_or_was_exchanged_is_told_and_a_mere_touch_is_not():
    def of(**changes):
        return told(like(data=(FileSeen(**{"path": "data/a.csv", "role": "data", "size": 80, "modified": 1.0, "digest": "d1", "rows": 8, **changes}),)))

    assert of(rows=7, size=70, digest="d2") == ("data/a.csv: 8 → 7 lines",)
    assert of(rows=-1, size=70, digest="d2") == ("data/a.csv: 80 → 70 bytes",)
    assert of(digest="d2") == ("data/a.csv: same size, other content",)
    assert of(modified=2.0) == (NOTHING,)
    assert of(modified=2.0, digest="") == ("data/a.csv: changed in time, not in size",)


def test_data_of_the_project_that_the_good_run_did_not_read_is_told():
    new = (FileSeen("data/b.csv", "data", 1), FileSeen("/tmp/xyz", "data", 1))
    assert told(like(data=new)) == ("data/b.csv: read now, and not then",)


def test_the_environment_is_compared_name_by_name():
    assert told(like(environment={"OMP_NUM_THREADS": "1", "nvidia driver": "550.1"})) == (
        "environment: OMP_NUM_THREADS 4 → 1, new nvidia driver 550.1",)
