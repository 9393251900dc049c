"""What an agent proposes: every fault is named at once, and nothing of a hostile proposal reaches the journal or the screen."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import nouns

from bitten.adapters.journal import FileJournal
from bitten.adapters.redact import redact
from bitten.core.case import Change, Check, Rejection, Script
from bitten.core.ladder import advance, fold
from bitten.core.ports import Brief
from bitten.core.prediction import parse
from bitten.core.trouble import BadInput, Refused
from bitten.steps.propose import hypotheses_from, propose
from bitten.testing import ScriptedAgent

PATCH = "--- a/src/data.py\n+++ b/src/data.py\n@@ -1 +1,2 @@\n x = 1\n+print('bitten-fact rows=1')\n"


def one(**changes):
    return {"claim": "the last window is short", "because": "127 rows where 128 belong", "likelihood": "likely", "look": "python count.py",
            "supports_if": "rows < 128", "refutes_if": "rows == 128", "scope": ["src/data.py:Loader.__iter__"], **changes}


def other(**changes):
    usual = {"claim": "the items vary in length", "likelihood": "possible", "supports_if": "kinds > 1", "refutes_if": "kinds == 1"}
    return one(**{**usual, **changes})


def proposal(*these):
    return {"hypotheses": list(these)}


CASE = fold([nouns.failure()])


def sent_back(given, case=CASE, **options):
    with pytest.raises(BadInput) as refused:
        hypotheses_from(case, given, "agent:x", **options)
    assert refused.value.slug == "bad-proposal"
    return refused.value.why


def test_a_proposal_becomes_numbered_hypotheses_with_checks():
    case = advance(CASE, nouns.hypothesis("h1", "something else"))
    first, second = hypotheses_from(case, proposal(one(), other(look="env:LR=0.1", looks_like=["a short file"])), "agent:x")
    assert (first.id, second.id) == ("h2", "h3")
    assert first.check == Check(parse("rows < 128"), parse("rows == 128"), script=Script(argv=("python", "count.py")))
    assert second.check.change == Change(env={"LR": "0.1"}) and second.looks_like == ("a short file",)
    assert first.source == "agent:x" and first.scope == ("src/data.py:Loader.__iter__",) and not first.generic


def test_a_patch_is_taken_from_the_proposal_and_no_file_is_read():
    first, _ = hypotheses_from(CASE, proposal(one(look="patch", patch=PATCH), other()), "agent:x")
    assert first.check.script == Script(patch=PATCH)


@pytest.mark.parametrize(("change", "words"), [
    ({"refutes_if": None}, r"refutes_if should be a string"),
    ({"refutes_if": "rows about 128"}, r"refutes_if: Can't read the expectation 'rows about 128'.*operator"),
    ({"refutes_if": "rows < 128"}, r"supports_if and refutes_if are the same prediction"),
    ({"supports_if": 'stdout ~ "(a+)+$"'}, r"may search for ever"),
    ({"supports_if": 'stdout ~ "(a|a)*$"'}, r"may search for ever"),
    ({"supports_if": 'stdout ~ "((.*a)b){25}$"'}, r"may search for ever"),
    ({"supports_if": "rows == NaN"}, r'"nan"'),
    ({"supports_if": "rows < 99999999999999999999999"}, r"64 bits"),
    ({"supports_if": "rows in [0, NaN]"}, r'"nan"'),
    ({"supports_if": "rows == " + "[" * 300 + "]" * 300}, r"no plain JSON"),
    ({"supports_if": "rows == " + "[" * 50_000 + "]" * 50_000}, r"2000 at most"),
    ({"scope": ["../other.py"]}, r'scope: "../other.py" leads out of the project'),
    ({"scope": ["/etc/passwd"]}, r"leads out of the project"),
    ({"scope": ["a/../../b.py:f"]}, r"leads out of the project"),
    ({"scope": [".git/config"]}, r"no place for a fix"),
    ({"scope": ["src/.Claude/settings.json"]}, r"no place for a fix"),
    ({"scope": ["a.py:not a name"]}, r"after FILE: comes a function"),
    ({"scope": []}, r"scope has 0 entries; 1 to 4"),
    ({"scope": [7]}, r"scope\[0\] should be a string"),
    ({"patch": PATCH}, r"a patch is given, but look is not 'patch'"),
    ({"look": "patch"}, r"look is 'patch', but `patch` is missing"),
    ({"look": "patch:/etc/passwd"}, r"look is 'patch' alone"),
    ({"look": "patch", "patch": "print('x')"}, r"no hunk.*names no file"),
    ({"look": "patch", "patch": PATCH.replace("b/src/data.py", "b/../../x.py")}, r"leads out of the project"),
    ({"look": "python 'unclosed"}, r"look: Can't read"),
    ({"look": "env:=1"}, r"NAME=VALUE"),
    ({"look": "probe:nothing_like_it"}, r'there is no probe "nothing_like_it"; there are: items'),
    ({"look": "python x.py\x1b[2J"}, r"look holds control characters"),
    ({"likelihood": "certain"}, r"likelihood is one of: likely, possible, unlikely"),
    ({"claim": "\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b"}, r"claim is empty"),
    ({"claim": "short"}, r"claim has 5 characters; 8 to 300"),
    ({"fix": "just do it"}, r'"fix" is unknown; there are: claim'),
    ({"look": "curl -H 'Authorization: Bearer sk-ant-api03-" + "Q7x" * 30 + "'"}, r"look holds a secret"),
])
def test_each_fault_goes_back_in_words_that_say_what_to_mend(change, words):
    assert re.search(rf"hypotheses\[1\]\.?.*{words}", sent_back(proposal(other(), one(**change)), probes=("items",), redact=redact))


@pytest.mark.parametrize("pattern", ["^loss: (nan|inf)$", r"\d+ rows?", "(?:ab)+c", "(nan)+ at .*"])
def test_a_pattern_that_comes_to_an_end_is_taken(pattern):
    first, _ = hypotheses_from(CASE, proposal(one(supports_if=f"stdout ~ {json.dumps(pattern)}"), other()), "agent:x")
    assert first.check.supports_if.value == pattern


def test_a_missing_refutation_is_named_and_so_is_every_other_fault():
    bad = one(supports_if="rows is many", scope=["/x"])
    assert sent_back(proposal({k: v for k, v in one().items() if k != "refutes_if"}, other())) == "hypotheses[0].refutes_if is missing."
    told = sent_back(proposal(bad, other(refutes_if="kinds > 1")))
    assert "hypotheses[0].supports_if" in told and "leads out" in told and "hypotheses[1].supports_if and refutes_if are the same" in told


@pytest.mark.parametrize("given", [{}, {"hypotheses": "h1"}, {"hypotheses": [one()]}, proposal(one(), 7), {"hypotheses": None},
                                   proposal(*(one(claim=f"claim number {n}") for n in range(4))), {**proposal(one(), other()), "more": 1}])
def test_what_is_no_proposal_at_all_goes_back(given):
    assert sent_back(given)


def test_the_same_claim_or_the_same_check_twice_is_one():
    assert "hypotheses[1] is hypotheses[0] again" in sent_back(proposal(one(), one(claim="The  LAST window is short")))
    assert "hypotheses[1] is hypotheses[0] again" in sent_back(proposal(one(), one(claim="in other words the same")))


def test_what_was_refuted_goes_back_with_the_fact_that_refuted_it():
    h = nouns.hypothesis()
    case = fold([nouns.failure(), h, nouns.evidence(h, rows=128)])
    with pytest.raises(Refused) as refused:
        hypotheses_from(case, proposal(one(claim=h.claim.upper()), other()), "agent:x")
    assert refused.value.slug == "already-refuted" and "rows = 128" in refused.value.why
    with pytest.raises(Refused):
        hypotheses_from(case, proposal(one(claim="quite another claim", look="probe:items"), other()), "agent:x")


def test_what_a_person_rejected_goes_back_with_the_reason():
    h = nouns.hypothesis()
    case = fold([nouns.failure(), h, Rejection(h, "the file is whole")])
    assert "rejected by a person, as h1: the file is whole" in sent_back(proposal(one(), other()), case)


def test_what_is_known_already_is_not_added_twice():
    case = CASE
    for each in hypotheses_from(CASE, proposal(one(), other()), "agent:x"):
        case = advance(case, each)
    assert hypotheses_from(case, proposal(one(), other()), "agent:x") == []


def test_words_are_cleaned_for_a_terminal_and_secrets_in_them_masked():
    secret = "sk-ant-api03-" + "Q7x" * 30
    first, _ = hypotheses_from(CASE, proposal(one(claim=f"the\x1b[2J key\u202e {secret}\nis wrong"), other()), "agent:x", redact=redact)
    assert "\x1b" not in first.claim and "\u202e" not in first.claim and "\n" not in first.claim and secret not in first.claim


class Heard:
    def __init__(self):
        self.words, self.turns = [], 0

    def says(self, words):
        self.words.append(words)

    def spent(self, spent):
        self.turns = spent.turns

    def proposes(self, proposal):
        raise AssertionError("the table answers")


def at_the_table(steps, case=CASE):
    events = []

    def put(new):
        nonlocal case
        for each in new:
            case = advance(case, each)
            events.append(each)

    agent, heard = ScriptedAgent(steps), Heard()
    answer = propose(lambda: case, agent, Brief("diagnose", "think", "/nowhere"), heard, put)
    return events, agent, heard, answer


def test_a_refused_proposal_is_mended_and_its_evidence_at_hand_comes_with_it():
    bad = proposal({k: v for k, v in one().items() if k != "refutes_if"}, other())
    good = proposal(one(look="captured", supports_if="exit == 2", refutes_if="exit == 0"), other())
    events, agent, heard, answer = at_the_table([{"proposes": bad}, {"proposes": good}, {"says": "$told"}])
    assert [type(each).__name__ for each in events] == ["Hypothesis", "Evidence", "Hypothesis"]
    assert "refutes_if is missing" in agent.told[0] and agent.told[1].startswith("Accepted: h1: the last window is short (captured facts")
    assert heard.words == [agent.told[1]] and answer.ended == "done" and answer.gated


def test_who_has_proposed_is_done_until_all_of_it_is_refuted():
    again = proposal(one(claim="a third one, surely", supports_if="a == 1", refutes_if="a == 2"), other(look="bare"))
    events, agent, _, _ = at_the_table([{"proposes": proposal(one(), other())}, {"proposes": again}])
    assert len(events) == 2 and "you are done" in agent.told[1]
    refuted = [each | {"look": "captured", "supports_if": f"exit == {n}", "refutes_if": "exit == 2"}
               for n, each in enumerate((one(), other()))]
    events, agent, _, _ = at_the_table([{"proposes": proposal(*refuted)}, {"proposes": again}])
    assert len(events) == 6 and agent.told[1].startswith("Accepted: h3")


words = st.one_of(st.text(max_size=30), st.sampled_from([
    "captured", "patch", "bare", "probe:", "env:A=b", "tree:-x", "../x", "/x", "a.py:f", "exit == 2", "exit exists", "loss == Infinity",
    "loss == [1, {\"a\": NaN}]", "x ~ [", "x in [1e999]", "x == \"\ud800\"",
    "x == " + "[" * 500 + "]" * 500, PATCH, "likely", "the claim is"]))
values = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
                      lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(words, inner, max_size=4)), max_leaves=8)


@st.composite
def hostile(draw):
    """A proposal, some of whose fields are anything."""
    def bent(given):
        for name in draw(st.lists(st.sampled_from([*given, "patch", "looks_like", "extra"]), max_size=3)):
            if draw(st.booleans()):
                given[name] = draw(st.one_of(words, st.lists(words, max_size=3), values))
            else:
                given.pop(name, None)
        return given
    return {"hypotheses": [bent(one()), bent(other()), *draw(st.lists(values, max_size=1))]}


@settings(max_examples=150)
@given(st.one_of(hostile(), values))
def test_whatever_is_proposed_is_sent_back_or_comes_back_from_disk_as_it_went_there(tmp_path_factory, given):
    try:
        found = hypotheses_from(CASE, given, "agent:x", ("items",), redact)
    except (BadInput, Refused) as refused:
        assert refused.slug == "bad-proposal" and not re.search("[\x00-\x08\x0b-\x1f\x7f]", str(refused))
        str(refused).encode()
        return
    folder = tmp_path_factory.mktemp("case")
    journal = FileJournal(folder, folder)
    for event in (nouns.failure(), *found):
        journal.append(event, "x", "pipe")
    assert journal.load().hypotheses == tuple(found)
    for each in found:
        assert not re.search("[\x00-\x1f\x7f\u202a-\u202e]", each.claim + each.because + "".join(each.scope))
        assert not any(part in ("..", "") for path in each.scope for part in path.partition(":")[0].split("/"))
