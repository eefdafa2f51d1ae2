"""`docs/rules.md` is what the catalogue says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rgw.fitness.rules import RULES

REPOSITORY = Path(__file__).parents[2]


def test_the_page_is_written_from_the_catalogue() -> None:
    script = REPOSITORY / "scripts" / "write_rules_page.py"
    result = subprocess.run([sys.executable, script, "--check"], check=False)
    assert result.returncode == 0, "run `make docs`"


def test_every_rule_has_its_section() -> None:
    page = (REPOSITORY / "docs" / "rules.md").read_text("utf-8")
    assert [rule for rule in RULES if f"\n## {rule}\n" not in page] == []
