"""What a change means is found in bounded time, however large the templates are."""

from __future__ import annotations

import time

from drift.conftest import CONVERSATIONS
from drift.formats import TEMPLATE, sha256
from rgw.drift.assessment import Assessor, OldTemplate, shortened
from rgw.registry.loader import Registry

LINES = 100_000


def huge(multiplier: int) -> str:
    """`TEMPLATE` behind a comment of 2 MB, whose lines occur fifty times each, in an order of their own."""
    comment = "".join(f"a line of kind {number * multiplier % 2003:>6}\n" for number in range(LINES))
    return "{#- " + comment + "-#}\n" + TEMPLATE


def test_huge_templates_are_compared_in_time(registry: Registry) -> None:
    before, after = huge(37), huge(61)
    assert len(before) > 2_000_000
    start = time.process_time()
    with Assessor(registry, conversations=CONVERSATIONS) as assessor:
        found = assessor.assess(OldTemplate(sha256(before), before), sha256(after), after, "bracketed")
    assert time.process_time() - start < 20.0
    assert found.severity == "cosmetic"
    # Both comments begin with a line of kind 0; no other line of one is that of the other at its end.
    assert (found.evidence.lines_added, found.evidence.lines_removed) == (LINES - 1, LINES - 1)
    assert found.diff == "99,999 lines became 99,999 lines"


def test_a_diff_is_shown_without_what_nobody_would_read() -> None:
    assert shortened("a\nb") == "a\nb"
    lines = shortened("\n".join(["x" * 2_000_000] * 300)).split("\n")
    assert lines[:200] == ["x" * 500 + "…"] * 200
    assert lines[200:] == ["… 100 more lines"]
