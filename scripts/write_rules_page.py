"""Writes docs/rules.md from the catalogue of `rgw lint`'s rules; with `--check`, exits with 1 where it differs."""

from __future__ import annotations

import sys
from pathlib import Path

from rgw.fitness.rules import RULES

PAGE = Path(__file__).parents[1] / "docs" / "rules.md"
HEAD = """\
# Rules of rgw lint

Written from the catalogue by `make docs`; `rgw explain RULE` prints the same.

An *error* spoils training or serving, a *warning* may, a *note* is worth knowing. `rgw lint` ends with exit code 1 on
errors and warnings. A template that breaks no rule has broken no rule: nothing here says that it is harmless.

| rule | severity | a template that breaks it |
|---|---|---|
"""


def page() -> str:
    """The page as the catalogue says it."""
    rows = "".join(f"| [{rule.id}](#{rule.id}) | {rule.severity.value} | {rule.title} |\n" for rule in RULES.values())
    sections = "".join(
        f"\n## {rule.id}\n\n*{rule.severity.value.capitalize()}.* {rule.title}.\n\n{rule.explanation}\n"
        for rule in RULES.values()
    )
    return HEAD + rows + sections


def main() -> int:
    """Write or check the page; the exit code."""
    if "--check" in sys.argv[1:]:
        return int(not PAGE.is_file() or PAGE.read_text("utf-8") != page())
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
