"""A parcel is the same each time it is written; one that means harm is not opened, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitten.adapters.handing_on import parcel
from bitten.core.trouble import BadInput

FILES = {"case/events.jsonl": b"{}\n", "tree/src/a b.py": "x = 'ä'\n".encode()}


def archive(*entries, form="w:gz"):
    """A tar of entries, each a name or a TarInfo with its content."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode=form) as made:
        for entry, content in entries:
            info = entry if isinstance(entry, tarfile.TarInfo) else tarfile.TarInfo(entry)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return whole.getvalue()


def odd(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.fixture
def refused(tmp_path):
    def slug(content):
        file = tmp_path / "case.bitten.tgz"
        file.write_bytes(content)
        with pytest.raises(BadInput) as why:
            parcel.unpack(str(file))
        assert [path.name for path in tmp_path.rglob("*")] == ["case.bitten.tgz"]
        return why.value.slug
    return slug


def test_what_was_packed_comes_back_and_the_bytes_are_the_same_each_time(tmp_path):
    packed = parcel.pack({"case": "1-x"}, FILES)
    assert packed == parcel.pack({"case": "1-x"}, dict(reversed(FILES.items())))
    (tmp_path / "p").write_bytes(packed)
    found = parcel.unpack(str(tmp_path / "p"))
    assert (dict(found.files), found.told["case"]) == (FILES, "1-x")


@pytest.mark.parametrize("name", ["../out", "case/../../out", "/etc/passwd", "case//x", "case/./x", "case/a\\b", "C:x", "case/.git/config",
                                  "case/.GIT/x", "case/\x1b[2J", "case/" + "x" * 300, "a/" * 20 + "x", "case/x.", "case/x "])
def test_a_name_that_leads_elsewhere_is_refused(refused, name):
    assert refused(archive((name, b"x"))) == "parcel-unsafe"


@pytest.mark.parametrize("entry", [odd("case/x", tarfile.SYMTYPE, "/etc/passwd"), odd("case/x", tarfile.LNKTYPE, "case/y"),
                                   odd("case", tarfile.DIRTYPE), odd("case/x", tarfile.CHRTYPE), odd("case/x", tarfile.FIFOTYPE)])
def test_what_is_no_plain_file_is_refused(refused, entry):
    assert refused(archive((entry, b""))) == "parcel-unsafe"


def test_two_files_of_one_name_are_refused(refused):
    assert refused(archive(("case/a", b"1"), ("case/A", b"2"))) == "parcel-unsafe"


def test_a_bomb_is_not_unfolded(refused, monkeypatch):
    monkeypatch.setattr(parcel, "WHOLE", 1 << 20)
    monkeypatch.setattr(parcel, "LARGEST", 1 << 20)
    assert refused(archive(*((f"case/{n}", bytes(1 << 20)) for n in range(6)))) == "parcel-unsafe"
    assert refused(archive(("case/x", bytes(2 << 20)))) == "parcel-unsafe"
    assert refused(archive((odd("case/x", tarfile.XHDTYPE), bytes(6 << 20)))) == "parcel-unsafe"


def test_too_many_files_are_refused(refused, monkeypatch):
    monkeypatch.setattr(parcel, "FILES", 10)
    assert refused(archive(*((f"case/{n}", b"") for n in range(20)))) == "parcel-unsafe"


@pytest.mark.parametrize("content", [b"", b"nothing", gzip.compress(b"no tar at all" * 100, mtime=0), parcel.pack({}, FILES)[:-40],
                                     archive(("case/events.jsonl", b"{}")), archive(("parcel.json", b"[" * 100_000)),
                                     archive(("parcel.json", b"[]")), archive(("parcel.json", b"{}"))],
                         ids=["empty", "words", "no archive", "cut", "no label", "a deep label", "a list", "an empty label"])
def test_what_is_no_parcel_is_said_to_be_none(refused, content):
    assert refused(content) == "parcel-unreadable"


def test_a_parcel_of_another_form_or_with_changed_content_is_refused(refused):
    manifest = json.dumps({"form": parcel.FORM + 1, "files": {}}).encode()
    assert refused(archive(("parcel.json", manifest))) == "parcel-other-form"
    manifest = json.dumps({"form": parcel.FORM, "files": {"case/x": "0" * 64}}).encode()
    assert refused(archive(("parcel.json", manifest), ("case/x", b"changed"))) == "parcel-damaged"
    assert refused(archive(("parcel.json", manifest))) == "parcel-damaged"


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 600))
def test_whatever_is_cut_or_changed_ends_in_our_own_words(tmp_path_factory, noise, at):
    packed = bytearray(parcel.pack({}, FILES))
    packed[at % len(packed):at % len(packed) + len(noise)] = noise
    file = tmp_path_factory.getbasetemp() / "noise"
    file.write_bytes(packed)
    with contextlib.suppress(BadInput):
        assert dict(parcel.unpack(str(file)).files) == FILES
