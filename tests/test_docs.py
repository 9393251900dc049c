"""What is generated from the code is current, and every link of the docs leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/bitten/playbooks/*/README.md")])


def test_the_reference_of_commands_is_current():
    done = subprocess.run([sys.executable, "tools/reference.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_map_of_the_house_is_true():
    told = re.search(r"```\nsrc/bitten/\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
    assert told
    named = {name for line in told[1].splitlines() for name in re.findall(r"([\w/]+(?:/|\.py))(?=\s{2,})", line)}
    inside = {name for name in named if (ROOT / "src" / "bitten" / name).exists()}
    assert all((ROOT / name).exists() for name in named - inside), named - inside
    rooms = {f"{path.name}/" for path in (ROOT / "src" / "bitten").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == {name for name in inside if name.endswith("/")}
