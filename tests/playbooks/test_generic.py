"""What may explain any failure: what the person changed, but not what the failing run itself wrote."""

from __future__ import annotations

from dataclasses import replace

from bitten.core.failure import FileSeen, Surroundings
from bitten.playbooks.generic import generic
from tests import nouns


def claims(changed, files=()):
    around = Surroundings(files=files, changed=changed, head="a" * 40, parent="b" * 40)
    return [(each.claim, each.scope) for each in generic.suspects(replace(nouns.failure(), surroundings=around))]


def test_an_uncommitted_change_is_suspected_but_for_what_the_run_wrote():
    wrote = (FileSeen("out/rows.jsonl", "wrote", 3),)
    assert claims(("out/rows.jsonl", "train.py"), wrote)[0] == ("the uncommitted change brought it", ("train.py",))
    assert claims(("out/rows.jsonl",), wrote)[0][0] == "the last commit brought it"
