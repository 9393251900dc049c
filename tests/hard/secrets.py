# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 96-100: what must not be kept, and what must."""

from __future__ import annotations

from tests.hard.case import Hard
from tests.hard.play import Told
from tests.stories import Project

SK = "sk-" + "a1B2c3D4" * 5
HF = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz012345678"[:34]
WANDB = "0123456789abcdef" * 2 + "89abcdef"
AWS = "AKIA" + "IOSFODNN7QWERTYU"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
KEYED = '''import base64


def connect(api_key, rows):
    raise ValueError("no rows in %d" % rows)


connect(base64.b64decode("{}").decode(), 5)
'''
ENVIRON = '''import os


def launch(environ, rows):
    raise ValueError("no rows in %d" % rows)


launch(dict(os.environ), 5)
'''
LEAKS = f'''import os
import sys

from settings import region


def send(key, rows):
    print("using", os.environ["HF_TOKEN"], flush=True)
    print("wandb login", "--relogin WANDB_API_KEY=" + os.environ["WANDB_API_KEY"], file=sys.stderr)
    raise ConnectionError("refused: Authorization: Bearer " + os.environ["JWT"]) if rows else RuntimeError("{SK[::-1]}")


send("{SK}", 5)
'''
BENIGN = '''import hashlib


class Tokenizer:
    pad_token = "<|endoftext|>"


def encode(n_tokens, pad_token, tokenizer, digest, run_id, rows):
    raise ValueError("no rows in %d of %s" % (rows, digest))


encode(512, "<|endoftext|>", Tokenizer(), hashlib.sha256(b"shard 7").hexdigest(), "cm9iZXJ0LWxhcmdlLTIwMjY=", 5)
'''
DOTENV = '''count = len(open(".env").read())


def fit(rows):
    raise ValueError("no rows in %d" % rows)


fit(5)
'''


def _edited(project: Project) -> None:
    """A key in the uncommitted difference."""
    project.write("settings.py", f"region = 'eu'\nAWS_ACCESS_KEY_ID = '{AWS}'\n")


def _is_benign(told: Told) -> None:
    seen = told.variables
    assert seen["n_tokens"] == "512" and "<|endoftext|>" in seen["pad_token"] and "cm9iZXJ0LWxhcmdlLTIwMjY=" in seen["run_id"], seen
    assert len(seen["digest"].strip("'")) == 64 and seen["digest"].strip("'") in told.root["message"], seen
    assert not [each for each in told.events if each["kind"] == "Redaction"]


def _names_the_file(told: Told) -> None:
    assert ".env" in told.kept


CASES = (
    Hard(96, "an argument called api_key", ("python", "main.py"), "the exception; the argument is masked, whatever it looks like",
         files={"main.py": KEYED.format("cGxhaW4tbG9va2luZy13b3Jk")}, root=("ValueError", "no rows in 5"), site="main.py:5", never=("plain-looking-word",)),
    Hard(97, "a copy of os.environ in a variable", ("python", "main.py"), "the exception; no value of a variable that isn't on the list",
         files={"main.py": ENVIRON}, root=("ValueError", "no rows in 5"), site="main.py:5", env={"TEAM_PASSPHRASE": "correct-horse-battery", "PLAIN": "quite-plain-value"},
         never=("correct-horse-battery", "quite-plain-value")),
    Hard(98, "keys in a log, a message, the command, a difference and a source line", ("python", "main.py", "--api-key", SK), "the exception; each key is masked wherever it stood",
         files={"main.py": LEAKS, "settings.py": "region = 'eu'\n"}, prepare=_edited, env={"HF_TOKEN": HF, "WANDB_API_KEY": WANDB, "JWT": JWT},
         root=("ConnectionError", "refused"), site="main.py:10", never=(SK, HF, WANDB, AWS, JWT), how="`python main.py --api-key sk-…`"),
    Hard(99, "n_tokens, pad_token, a tokenizer, digests, base64 ids", ("python", "main.py"), "all of them, unmasked", files={"main.py": BENIGN},
         root=("ValueError", "no rows in 5 of "), site="main.py:9", more=_is_benign),
    Hard(100, ".env is opened", ("python", "main.py"), "its name, not what it holds", files={"main.py": DOTENV, ".env": "MODE=quite-secret-mode\n"},
         root=("ValueError", "no rows in 5"), site="main.py:5", never=("quite-secret-mode",), more=_names_the_file),
)
