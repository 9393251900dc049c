"""What was masked and left alone comes back as it was, and no secret's place is taken by what an agent wrote."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitten.adapters.agents.unmask import restored
from bitten.adapters.redact import redact
from bitten.core.trouble import Refused

KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAab12ab12ab12\n" * 4 + "-----END RSA PRIVATE KEY-----\n"
TOKEN = 'token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"'
REAL = f'import os\n\npassword = "hunter2hunter"\n\n\ndef f(x):\n    return x - 1\n\n\n{KEY}{TOKEN}\n'
GIVEN = redact(REAL)


def test_the_text_is_masked_at_all():
    assert "hunter2" not in GIVEN and "MIIEp" not in GIVEN and "ghp_" not in GIVEN and GIVEN.count("‹") == 3


def test_a_change_beside_secrets_leaves_them_as_they_are():
    new = GIVEN.replace("x - 1", "x").replace("import os\n", "import os\nimport sys\n")
    assert restored("a.py", REAL, GIVEN, new) == REAL.replace("x - 1", "x").replace("import os\n", "import os\nimport sys\n")


@pytest.mark.parametrize("change", [
    lambda text: text.replace('password = "', 'password = "x'),
    lambda text: re.sub("‹private-key:[0-9-]+›\n", "", text),
    lambda text: "\n".join(line for line in text.split("\n") if "password" not in line),
    lambda text: text + next(line for line in text.splitlines(keepends=True) if "password" in line),
    lambda text: text.replace("return x - 1", f"return {text.splitlines()[2][11:]}"),
    lambda text: "",
])
def test_a_change_in_a_masked_line_is_refused(change):
    new = change(GIVEN)
    assert new != GIVEN
    with pytest.raises(Refused) as refused:
        restored("a.py", REAL, GIVEN, new)
    assert refused.value.slug == "fix-touches-a-secret"


def test_another_line_ending_or_a_lost_mark_is_no_change():
    real = "\ufeff" + REAL.replace("\n", "\r\n")
    new = redact(real).replace("\r\n", "\n").removeprefix("\ufeff").replace("x - 1", "x")
    assert restored("a.py", real, redact(real), new) == real.replace("x - 1", "x")


def test_a_file_without_secrets_is_what_the_agent_made_of_it():
    assert restored("a.py", "a\nb", "a\nb", "c\nb\n") == "c\nb\n"
    assert restored("a.py", "", "", "def test():\n    pass\n") == "def test():\n    pass\n"


line = st.sampled_from([
    "a\n", "b\n", "\n", 'password = "hunter2hunter"\n', 'api_key = "c0ffeec0ffee1234"\n', KEY, "\r\n", "x = 1\f\n", "end"])


@given(st.lists(line, max_size=12), st.data())
def test_whatever_is_added_and_taken_away_between_them_secrets_stay_or_the_change_is_refused(lines, data):
    real = "".join(lines)
    masked = redact(real)
    mine = masked.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(mine)))
        if data.draw(st.booleans()) or at == len(mine):
            mine.insert(at, data.draw(st.sampled_from(["new\n", "a\n", "‹password:8-15›\n"])))
        else:
            del mine[at]
    new = "".join(mine)
    try:
        found = restored("a.py", real, masked, new)
    except Refused as refused:
        assert refused.slug == "fix-touches-a-secret" and "‹" in masked + new
        return
    assert redact(found).replace("\r\n", "\n") == redact(new).replace("\r\n", "\n")
    for secret in ("hunter2hunter", "c0ffeec0ffee1234", KEY):
        assert found.count(secret) == real.count(secret)
