from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitten.adapters.runs import tape as module
from bitten.adapters.runs.tape import Tape


@pytest.fixture(scope="module")
def small():
    """A tape of 10 bytes of head and 20 of ring: the same code, quicker to fill."""
    held = module.HEAD, module.RING
    module.HEAD, module.RING = 10, 20
    yield
    module.HEAD, module.RING = held


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("tape") / "output"


def test_what_fits_is_kept_whole_and_in_order(small, place):
    tape = Tape(place)
    tape.add(1, b"out 1\n")
    tape.add(2, b"err 1\n")
    tape.add(1, b"out 2\n")
    assert (tape.read(), tape.read(1), tape.read(2)) == (b"out 1\nerr 1\nout 2\n", b"out 1\nout 2\n", b"err 1\n")
    tape.close()


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(min_size=1, max_size=33)), max_size=30))
def test_the_beginning_and_the_end_are_kept_and_a_gap_is_said(small, place, parts):
    tape = Tape(place)
    for stream, data in parts:
        tape.add(stream, data)
    whole, read = b"".join(data for _, data in parts), tape.read()
    tape.close()
    if len(whole) <= 30:
        assert read == whole
    else:
        assert read.startswith(whole[:10]) and read.endswith(whole[-20:]) and b"bytes not kept]" in read


def test_the_file_does_not_grow_with_the_output(small, place):
    tape = Tape(place)
    for _ in range(1000):
        tape.add(1, b"x" * 17)
    tape.close()
    assert place.stat().st_size <= 30


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(min_size=1, max_size=33)), max_size=30))
def test_another_process_finds_on_a_tape_what_its_writer_would_have_read(small, place, parts):
    tape = Tape(place)
    for stream, data in parts:
        tape.add(stream, data)
    told, found = Tape.found(place, tape.marks), Tape.found(place)
    assert [told.read(), told.read(1), told.read(2)] == [tape.read(), tape.read(1), tape.read(2)]
    assert found.read() == found.read(1)
    assert found.read().replace(b"bytes", b"")[-20:] == tape.read().replace(b"bytes", b"")[-20:]
    for each in (tape, told, found):
        each.close()
