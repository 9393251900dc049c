# ruff: noqa: E501 - a table is easier read unbroken
"""What is masked, and what must not be."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bitten.adapters.redact import redact, secret_values
from bitten.guest import HOME

# Put together here, so that no scanner takes this file for a leak.
SECRETS = [
    "hf_" + "aB3" * 12, "ghp_" + "Ab1" * 12, "github_pat_" + "a1_" * 20, "glpat-" + "x" * 22, "sk-" + "a1B2" * 8, "sk-ant-api03-" + "Zz9_" * 8,
    "sk-proj-" + "Zz9-" * 8, "AKIA" + "A1B2" * 4, "AIza" + "a" * 35, "xoxb-" + "1234567890-abc", "eyJ" + "hbGciOiJIUzI1" + ".eyJ" + "zdWIiOiIxMjM0" + ".SflKxwRJ",
    "npm_" + "a1" * 14, "pypi-" + "AgEI" * 8,
]  # fmt: skip
NAMED = [
    "password=hunter2hunter", "WANDB_API_KEY: 0123456789abcdef", '"api_key": "abcdef0123"', "--api-key sekrit123456", "--hf-token=sekrit123456",
    "--hf-token sekrit123456", "aws_secret_access_key = abc/def+ghi1", "Authorization: Bearer abcdefghijklmnop1234", "https://user:pa55word@host/x",
    "https://s3/x?X-Amz-Signature=0123456789abcdef&y=1", "https://blob/x?sv=1&sig=abcdef%2Bghi",
]  # fmt: skip
HARMLESS = [
    "n_tokens=512 num_tokens: 1048576", "pad_token='<|endoftext|>' eos_token_id=50256", "tokenizer = AutoTokenizer.from_pretrained('gpt2')",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "commit 2f823ceaa0c55ad015a3bf4f1b2b0b822cd15d6c",
    "task-sklearn-pipeline-with-a-long-name-123456", "id=3f2504e0-4f89-11d3-9a0c-0305e82c3301", "--max-tokens 512 --pad-token '<|endoftext|>'",
    "https://huggingface.co/gpt2/resolve/main/config.json", "RuntimeError: stack expects each tensor to be equal size, but got [128, 768]",
    "the secret to a good basic recipe is patience",
]  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:8])
@pytest.mark.parametrize("around", ["{}", "token {} was rejected", "x = '{}'", "a long line " * 40 + "{}\nand another\n"])
def test_a_secret_is_masked_by_its_shape(secret, around):
    assert secret not in redact(around.format(secret))


@pytest.mark.parametrize("text", NAMED)
def test_a_secret_is_masked_by_the_name_before_it(text):
    assert "›" in redact(text)
    for word in ("hunter2", "0123456789abcdef", "abcdef0123", "sekrit", "abc/def", "abcdefghijklmnop", "pa55word", "abcdef%2B"):
        assert word not in redact(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_the_fields_own_words_are_left_alone(text):
    assert redact(text) == text
    assert redact("line\n" * 100 + text) == "line\n" * 100 + text


def test_a_key_block_is_masked_over_its_lines():
    block = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA " + "PRIVATE KEY-----"
    assert redact(f"before\n{block}\nafter") == "before\n‹private-key:64-127›\nafter"


def test_a_secret_of_the_environment_is_masked_wherever_it_stands(monkeypatch):
    monkeypatch.setenv("COMPANY_TOKEN", "plain-looking-value")
    assert redact("it said plain-looking-value!") == "it said ‹secret:16-31›!"
    assert redact("and what we are told: swordfish1", ["swordfish1", "or"]) == "and what we are told: ‹secret:8-15›"


def test_paths_and_short_values_are_no_secrets_of_the_environment():
    given = {"SSH_AUTH_SOCK": "/tmp/ssh-1/agent", "PWD": "/home/me/project", "TOKENIZERS_PARALLELISM": "false-ish", "MY_KEY": "short", "HF_TOKEN": "long enough"}
    assert secret_values(given) == ("long enough",)


def test_without_a_trustworthy_re_a_line_that_may_hold_a_secret_is_masked_whole(tmp_path):
    (tmp_path / "re.py").write_text("raise SystemExit(9)")
    program = (f"import sys\nsys.modules.pop('re', None)\nsys.path[:0] = [{str(tmp_path)!r}, {HOME!r}]\nimport _bitten_redact as r\n"
               "print(r.scrub('fine'), r.scrub('password=hunter2hunter'))")
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "fine ‹password:16-31›\n", done.stderr
