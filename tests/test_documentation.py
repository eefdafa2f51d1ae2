"""What the pages show is true: pasted output is what the commands print, and no link between pages is dead."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PAGES = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")


def test_pasted_output_is_what_the_commands_print() -> None:
    programs = str(Path(sys.executable).parent)
    result = subprocess.run(
        [sys.executable, "scripts/paste_output.py", "--check"],
        cwd=REPOSITORY,
        env=os.environ | {"PATH": programs + os.pathsep + os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    dead = [target for target in LINK.findall(page.read_text("utf-8")) if not (page.parent / target).exists()]
    assert dead == []


def test_every_guide_is_listed_in_the_index() -> None:
    index = (REPOSITORY / "docs" / "index.md").read_text("utf-8")
    pages = {str(page.relative_to(REPOSITORY / "docs")) for page in (REPOSITORY / "docs").rglob("*.md")} - {"index.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()


def test_make_help_describes_every_target() -> None:
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^\.PHONY: (\S+)$", makefile, re.MULTILINE))
    listing = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    described = {line.split()[0] for line in listing.splitlines() if len(line.split()) > 1}
    assert described == targets


def test_every_dependency_is_explained() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text("utf-8").partition("[project.scripts]")[0]
    requirements = re.findall(r'^    "([A-Za-z][\w-]*)[<>=~]', project, re.MULTILINE)
    explained = (REPOSITORY / "docs" / "dependencies.md").read_text("utf-8")
    assert len(requirements) > 10
    assert [name for name in requirements if name not in explained] == []
