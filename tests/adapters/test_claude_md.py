import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitten.adapters.claude_md import entries, insert
from bitten.core.trouble import BadInput

ENTRY = "- (2026-05-04) Off-by-one in DataLoader.\n  Caught by a stack trace.\n  Lesson: test the length."
TEXT = "(2026-05-04) Off-by-one in DataLoader.\nCaught by a stack trace.\nLesson: test the length."


def added(old: bytes, new: bytes) -> bytes:
    """What was put in, given that nothing else changed."""
    at = next((n for n, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(old))
    length = len(new) - len(old)
    assert any(new[:n] + new[n + length:] == old for n in range(at + 1))
    return new[at:at + length]


def test_a_missing_file_is_made_with_the_section():
    assert insert(None, ENTRY).decode() == f"## Things that have bitten us\n\n{ENTRY}\n"


def test_a_missing_section_is_made_at_the_end():
    assert insert(b"# Us\n\nBe kind.\n", ENTRY).decode() == f"# Us\n\nBe kind.\n\n## Things that have bitten us\n\n{ENTRY}\n"


def test_the_entry_is_the_last_of_the_list_and_text_below_stays_below():
    old = b"# Us\n\n### **Things that have bitten us!**\n\n* a\n  more\n* b\n\nWords.\n\n## Next\n\n- other\n"
    assert insert(old, ENTRY).decode() == old.decode().replace("* b\n", "* b\n" + ENTRY.replace("- (", "* (") + "\n")


def test_a_section_without_a_list_gets_one_below_its_words():
    old = b"## Things that have bitten us\nRead these.\n## Next\n"
    assert insert(old, "x").decode() == "## Things that have bitten us\nRead these.\n\n- x\n\n## Next\n"


def test_a_heading_in_a_code_block_a_quote_or_a_comment_does_not_count():
    title = "## Things that have bitten us"
    old = f"```\n{title}\n- a\n```\n> {title}\n> - b\n\n<!--\n{title}\n- c\n-->\n\n    {title}\n"
    assert insert(old.encode(), "x").decode() == f"{old}\n{title}\n\n- x\n"


def test_line_endings_byte_order_mark_and_missing_final_newline_are_kept():
    old = "\ufeff## Things that have bitten us\r\n\r\n- a  \r\n- b".encode()
    assert insert(old, "x\ny") == old + b"\r\n- x\r\n  y"


def test_a_loose_list_stays_loose_and_its_indentation_is_taken_up():
    old = b"## Things that have bitten us\n\n  - a\n\n  - b\n\n## Next\n"
    assert insert(old, "x\ny").decode() == "## Things that have bitten us\n\n  - a\n\n  - b\n\n  - x\n    y\n\n## Next\n"


def test_bytes_that_are_no_utf8_stay_as_they_are():
    old = b"caf\xe9\n\n## Things that have bitten us\n- a\n"
    assert insert(old, "x") == old + b"- x\n"


def test_a_block_that_is_never_closed_is_named_and_nothing_written():
    with pytest.raises(BadInput) as trouble:
        insert(b"# Us\n\n```\ncode\n", ENTRY)
    assert trouble.value.slug == "lesson-has-no-place"


def test_a_file_in_another_encoding_is_refused():
    with pytest.raises(BadInput) as trouble:
        insert("# Us".encode("utf-16"), ENTRY)
    assert trouble.value.slug == "lesson-file-not-text"


def test_entries_come_back_without_their_markers():
    assert entries(insert(insert(None, "first"), ENTRY)) == ["first", TEXT]
    assert entries(b"# Nothing here\n- a\n") == []


LINES = st.sampled_from(["# Us", "## Things that have bitten us", "### Sub", "Words", "===", "---", "- a", "  more", "  - deep", " - b",
                         "+ c", "* d", "1. one", "```", "    code", "> quote", "> - q", "<!--", "-->", "", "", "\ttab", "- ", "<div>",
                         "  trailing  ", "\u2028odd", "- ```"])
ENTRY_LINES = st.sampled_from(["(2026-05-04) Off", "more", "  indented", "", "# x", "```", "- y"])
ENTRIES = st.lists(ENTRY_LINES, min_size=1, max_size=4).map("\n".join)


@given(st.lists(LINES, max_size=14), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "\ufeff"]), st.booleans(), ENTRIES)
@example(["## Things that have bitten us", "- a", "Words", "==="], "\n", "", True, "x")
def test_whatever_the_file_the_entry_is_put_in_at_one_place_or_refused(lines, ending, mark, ends, entry):
    old = (mark + ending.join(lines) + (ending if ends else "")).encode()
    try:
        new = insert(old, entry)
    except BadInput as trouble:
        assert trouble.slug == "lesson-has-no-place"
        return
    put = added(old, new)
    assert entries(new)[:-1] == entries(old)
    assert entries(new)[-1].split("\n")[0] in put.decode()
    assert set(put.decode().replace(ending if ending.encode() in old else "\n", "")).isdisjoint("\r\n")
