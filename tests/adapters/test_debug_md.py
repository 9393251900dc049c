from hypothesis import given
from hypothesis import strategies as st

from bitten.adapters.debug_md import merge, sections

DRAWN = """\
# bug-2026-05-04

## Command

make train

## What I expected

{expected}

## What happened

```
## not a heading
RuntimeError: stack
```

## What I've already tried

{tried}

## Environment

python 3.11
"""
FIRST = DRAWN.format(expected="Nothing said yet.", tried="Nothing yet.")
LAST = sections(FIRST)


def test_sections_are_read_by_real_headings():
    assert list(LAST) == ["Command", "What I expected", "What happened", "What I've already tried", "Environment"]
    assert LAST["What happened"] == "```\n## not a heading\nRuntimeError: stack\n```"


def test_without_a_file_or_an_edit_the_drawing_stands():
    assert merge(FIRST, None, {}) == (FIRST, {})
    newer = DRAWN.format(expected="Nothing said yet.", tried="- h1 was refuted")
    assert merge(newer, FIRST, LAST) == (newer, {})


def test_it_is_enough_to_know_what_was_drawn_last_in_the_persons_sections():
    last = {name: LAST[name] for name in ("What I expected", "What I've already tried")}
    assert merge(FIRST.replace("3.11", "3.12"), FIRST, last) == (FIRST.replace("3.11", "3.12"), {})


def test_an_edit_is_kept_and_handed_back():
    edited = FIRST.replace("Nothing said yet.", "Loss to *fall*.  \n\n\n- soon")
    newer = FIRST.replace("3.11", "3.12")
    assert merge(newer, edited, LAST) == (edited.replace("3.11", "3.12"), {"What I expected": "Loss to *fall*.  \n\n\n- soon"})


def test_an_emptied_section_stays_empty():
    document, changed = merge(FIRST, FIRST.replace("Nothing yet.", ""), LAST)
    assert changed == {"What I've already tried": ""}
    assert "Nothing yet." not in document


def test_once_it_is_noted_it_is_no_change_any_more():
    edited = FIRST.replace("Nothing said yet.", "It to train.")
    noted = DRAWN.format(expected="It to train.", tried="Nothing yet.")
    assert merge(noted, edited, LAST) == (noted, {})


def test_the_persons_own_headings_in_a_section_of_theirs_belong_to_it():
    edited = FIRST.replace("Nothing yet.", "Half the rate.\n\n## My plan\n\n```\n# no heading\n```\n\nAsk Ann")
    document, changed = merge(FIRST, edited, LAST)
    assert changed == {"What I've already tried": "Half the rate.\n\n### My plan\n\n```\n# no heading\n```\n\nAsk Ann"}
    assert document == edited
    noted = DRAWN.format(expected="Nothing said yet.", tried=changed["What I've already tried"])
    assert merge(noted, document, sections(FIRST)) == (noted, {})
    assert merge(noted, noted, sections(noted)) == (noted, {})


def test_own_headings_elsewhere_stay_where_they_stand():
    edited = FIRST.replace("## What happened", "## My idea\n\nmask?\n\n## What happened").replace("python 3.11\n", "python 3.11\n\n# Links\nhttp://x")
    document, changed = merge(FIRST.replace("3.11", "3.12"), edited, LAST)
    assert "# Links\nhttp://x" in document and document.index("mask?") < document.index("## What happened")
    assert merge(FIRST, document, LAST)[0].count("# Links") == 1
    assert list(changed) == ["What I expected"]


def test_lines_put_among_ours_are_kept_at_the_end_once():
    edited = FIRST.replace("RuntimeError: stack\n", "RuntimeError: stack\nonly on gpu 1!\n")
    document, changed = merge(FIRST, edited, LAST)
    assert changed == {}
    assert document.endswith("## What you wrote elsewhere\n\nonly on gpu 1!\n")
    assert merge(FIRST, document, LAST) == (document, {})


def test_words_before_the_first_section_are_kept_too():
    assert merge(FIRST, "urgent!\n" + FIRST, LAST)[0].endswith("## What you wrote elsewhere\n\nurgent!\n")


def test_a_fence_never_closed_swallows_nothing_and_does_not_grow():
    edited = FIRST.replace("Nothing said yet.", "like\n```\nthis")
    document, changed = merge(FIRST, edited, LAST)
    assert (document, changed) == (edited, {"What I expected": "like\n```\nthis"})
    assert merge(FIRST, document, LAST) == (document, changed)


def test_other_line_ends_alone_are_no_edit():
    assert merge(FIRST, FIRST.replace("\n", "\r\n"), LAST) == (FIRST, {})


WORDS = st.lists(st.sampled_from(["alpha", "## Beta", "# Gamma", "### Delta", "```", "- epsilon", "", "## Command", "> zeta", "eta\n===",
                                  "theta\n---", "<!-- iota", "    kappa"]), max_size=6).map("\n".join)


@given(WORDS, WORDS, WORDS)
def test_no_word_of_a_person_is_ever_lost_nor_said_twice(expected, tried, ending):
    edited = DRAWN.format(expected=expected, tried=tried) + ending + "\n"
    document, _ = merge(FIRST, edited, LAST)
    again, _ = merge(FIRST, document, LAST)
    for word in ("alpha", "Beta", "Gamma", "Delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"):
        assert document.count(word) >= edited.count(word)
        assert again.count(word) == document.count(word)
