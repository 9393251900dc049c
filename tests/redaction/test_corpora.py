# ruff: noqa: E501 - a table is easier read unbroken
"""Every secret of the corpus is masked wherever it stands; nothing that machine learning prints every day is touched."""

from __future__ import annotations

import base64
import json
import re
import time
import timeit
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitten.adapters.redact import redact
from bitten.guest import _bitten_redact as guest

from .secrets import FAMILIES, SECRETS, lookalikes

PLACEHOLDER = re.compile("‹[a-z0-9-]+:[0-9]+-[0-9]+›")
AROUND = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["\n", "\r\n", "\r", '"', "'", "{'a': '", '{"a": "', "x = ", "\x1b[31m", "\x1b[0m", "\t", "\0", "a long line " * 200, "İ", "█" * 80, ": ", "(", "[", "\\",
     "=", "url=", "n_tokens=5 ", "‹", "›", "password=", "token: ", "https://", "Bearer ", "https://host/?x=1&y="])
ENDS = st.sampled_from(["", "\n", "\r\n", " ", '"', "'", ")", ",", "\x1b[0m", "\0", ";", "\t", "}", "]", "\n" * 3 + "x", " and more"])


def test_the_corpora_are_as_large_as_they_should_be():
    assert len(SECRETS) >= 60 and len(FAMILIES) >= 25 and len(lookalikes()) >= 150
    assert len({secret.value for secret in SECRETS}) == len(SECRETS)


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret.family)
def test_a_secret_is_masked(secret):
    for text in (secret.text, f"before {secret.text} after", f"x = '{secret.text}'\n", json.dumps({"said": secret.text}), repr([secret.text]),
                 f"\x1b[1;31m{secret.text}\x1b[0m", "\r".join(["50%", secret.text, "60%"])):
        masked = redact(text)
        assert secret.value not in masked and PLACEHOLDER.search(masked), masked
        assert redact(masked) == masked


@pytest.mark.parametrize("line", lookalikes())
def test_a_line_of_the_field_is_left_alone(line):
    assert redact(line) == line
    assert redact(f"step 1\n\x1b[32m{line}\x1b[0m\nstep 2") == f"step 1\n\x1b[32m{line}\x1b[0m\nstep 2"
    assert redact(json.dumps({"line": line})) == json.dumps({"line": line})


def test_all_the_lines_of_the_field_together_are_left_alone():
    assert redact("\n".join(lookalikes())) == "\n".join(lookalikes())


@given(st.sampled_from(SECRETS), AROUND, ENDS)
def test_whatever_stands_around_a_secret_it_is_masked(secret, before, after):
    if (before[-1:].isalnum() or before[-1:] in "_-") and not before.endswith(("[31m", "[0m")):  # a family's own letters begin a word: `task-…` is no `sk-…`
        before += " "
    masked = redact(before + secret.text + after)
    assert secret.value not in masked
    assert redact(masked) == masked


@given(st.lists(st.sampled_from(SECRETS).map(lambda secret: secret.text) | AROUND | ENDS, max_size=12).map("".join))
@example("‹password:8-15›")
@example("password=‹password:8-15›abcdefgh")
@example("dapi" + "0123456789abcdef" * 2 + "KAGGLE_KEY=" + "0123456789abcdef" * 2)
@example(("AK" "IA" + "A" * 16) * 3)
@example("wandb login --relogin " + "c2779d9095" * 4 + ":0dop_" + "v1_" + "25d4a3f697c0f194" * 4)
def test_what_was_masked_is_never_masked_again(text):
    once = redact(text)
    assert redact(once) == once


@given(st.sampled_from([s for s in SECRETS if "\n" not in s.text]), st.data())
def test_a_colour_inside_a_secret_does_not_hide_it(secret, data):
    at = data.draw(st.integers(1, len(secret.text) - 1))
    masked = redact(secret.text[:at] + "\x1b[1;36m" + secret.text[at:] + "\x1b[0m")
    plain = masked.replace("\x1b[1;36m", "").replace("\x1b[0m", "")
    assert secret.value not in plain and masked.count("\x1b[") == 2


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x1b"), min_size=8, max_size=60), AROUND, AROUND)
@example("hugging-face-token", "hf=", "")
@example("a b‹c›d e", "", "")
def test_an_exact_value_is_masked_wherever_it_stands(value, before, after):
    masked = redact(f"{before}{value}{after}", [value])
    assert value not in PLACEHOLDER.sub("\0", masked)
    assert redact(masked, [value]) == masked


def test_a_placeholder_says_kind_and_class_of_length_and_not_which_secret():
    one, other = (redact("ghp" + "_" + letter * 36) for letter in "ab")
    assert one == other == "‹github-token:32-63›" == guest.placeholder("github-token", 40)


@pytest.mark.parametrize("form", [lambda v: v, lambda v: json.dumps(v)[1:-1], lambda v: quote(v, safe=""), quote_plus, *(
    lambda v, n=n: base64.b64encode(b"u" * n + v.encode() + b"tail").decode() for n in range(4))])
def test_a_secret_of_the_environment_is_masked_in_all_its_forms(form, monkeypatch):
    """In base64 a byte or two at each end depend on what stands beside it: they stay, and tell nothing."""
    value = 'plain "looking" value/with+signs'
    monkeypatch.setenv("COMPANY_TOKEN", value)
    masked = redact(f"it said {form(value)}!")
    assert PLACEHOLDER.search(masked) and form(value) not in masked
    left = PLACEHOLDER.sub(" ", masked)
    assert not any(form(value)[at:at + 8] in left for at in range(len(form(value)) - 8) if form(value)[at] != "d")


WORST = {
    "one long name": lambda n: "a" * n + "_key", "names in a row": lambda n: "_token" * n, "names and signs": lambda n: "password=" * n,
    "quotes": lambda n: "password='" * n, "schemes": lambda n: "://" * n, "users": lambda n: "://a:b" * n, "keys begun": lambda n: "-----BEGIN PRIVATE " "KEY-----" * n,
    "key heads": lambda n: "-----BEGIN" * n, "machines": lambda n: "machine a login " * n, "curls": lambda n: "curl -u " * n, "tracker": lambda n: "wandb key " * n,
    "blanks": lambda n: "password" + " " * n, "escapes": lambda n: "\x1b[" * n, "half tokens": lambda n: "eyJ" * n, "brackets": lambda n: "‹" * n + "password=‹" * n,
    "cookies": lambda n: "cookie: a=" * n, "one line of a bar": lambda n: "\r50%|██| n_tokens=5 loss=0.1" * n, "secrets": lambda n: ("ghp" "_" + "a1" * 18 + " ") * n,
    "users in JSON": lambda n: '"username": "' * n, "backslashes": lambda n: "password=" + "\\" * n, "options": lambda n: "--password " * n, "ids in a row": lambda n: ("AK" "IA" + "A" * 16) * n,
}  # fmt: skip


@pytest.mark.parametrize("shape", WORST)
def test_the_time_grows_with_the_text_and_no_faster(shape):
    def seconds(n):
        text = WORST[shape](n)
        return min(timeit.repeat(lambda: redact(text), timer=time.process_time, number=1, repeat=3))

    redact(WORST[shape](50))
    small = max(seconds(1000), 2e-3)
    assert seconds(8000) < 8 * 4 * small, "eight times the text, and four for the machine's moods: a square would be 64"


def test_a_secret_in_a_megabyte_of_log_is_found():
    log = "".join(f"step {n} loss=0.{n} n_tokens={n * 512} lr=0.001 acc: 0.5\n" for n in range(20000))
    secret = "ghp" + "_" + "aB3" * 12
    assert redact(log) == log
    assert redact(f"{log}{secret}\n{log}") == f"{log}‹github-token:32-63›\n{log}"
