"""A noun is what a frozen dataclass is, made more quickly."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, replace

import msgspec
import pytest

from bitten.core.noun import noun


@noun
class Pair:
    left: int
    right: tuple[str, ...] = ()
    more: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.left < 0:
            raise ValueError("left")


@dataclass(frozen=True)
class Frozen:
    left: int
    right: tuple[str, ...] = ()


def test_two_of_the_same_values_are_one() -> None:
    assert Pair(1, ("a",)) == Pair(1, ("a",)) != Pair(2, ("a",))
    assert Pair(1) != Frozen(1)


def test_it_stands_in_a_set_when_its_values_can() -> None:
    @noun
    class Single:
        left: int

    assert len({Single(1), Single(1), Single(2)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Pair(1))


def test_it_reads_as_a_dataclass_does() -> None:
    assert repr(Pair(1, ("a",))) == "Pair(left=1, right=('a',), more={})"


def test_nothing_of_it_can_be_changed() -> None:
    pair = Pair(1)
    with pytest.raises(FrozenInstanceError):
        pair.left = 2
    with pytest.raises(FrozenInstanceError):
        pair.other = 2
    with pytest.raises(FrozenInstanceError):
        del pair.left


def test_it_is_replaced_and_matched_and_read_from_json() -> None:
    assert replace(Pair(1), left=2) == Pair(2)
    match Pair(1, ("a",)):
        case Pair(left=1, right=("a",)):
            pass
        case _:
            pytest.fail("it did not match")
    assert msgspec.convert(msgspec.to_builtins(Pair(1, ("a",))), type=Pair) == Pair(1, ("a",))


def test_its_constructor_refuses_also_what_is_read_or_replaced() -> None:
    with pytest.raises(ValueError, match="left"):
        replace(Pair(1), left=-1)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"left": -1}, type=Pair)


def test_what_a_class_says_of_itself_stands() -> None:
    @noun
    class Named:
        left: int

        def __hash__(self) -> int:
            return 7

        def __str__(self) -> str:
            return "named"

    assert hash(Named(1)) == 7
    assert str(Named(1)) == "named"
