"""`--query` selects from a document, and a query that cannot be meant is a usage error."""

from __future__ import annotations

import pytest

from rgw.errors import UsageError
from rgw.output.query import Query

DOCUMENT = {"version": 1, "results": [{"ref": "a", "schema": {"name": "x"}}, {"ref": "b", "schema": None}]}


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ("results[].ref", ["a", "b"]),
        ("results[?schema].schema.name | [0]", "x"),
        ("length(results)", 2),
        ("nothing", None),
    ],
)
def test_a_query_selects(expression: str, selected: object) -> None:
    assert Query(expression).search(DOCUMENT) == selected


@pytest.mark.parametrize("expression", ["", "a[", "a b", "'"])
def test_an_expression_that_does_not_compile_is_refused_when_it_is_given(expression: str) -> None:
    with pytest.raises(UsageError, match="is not usable"):
        Query(expression)


@pytest.mark.parametrize("expression", ["nonsense(@)", "length(version)", "length()"])
def test_an_expression_that_asks_for_the_impossible_is_refused_in_one_line(expression: str) -> None:
    query = Query(expression)
    with pytest.raises(UsageError, match="is not usable") as refusal:
        query.search(DOCUMENT)
    assert "\n" not in str(refusal.value)


def test_an_expression_nested_past_all_reason_is_refused() -> None:
    with pytest.raises(UsageError, match="is not usable"):
        Query("[" * 100_000 + "@" + "]" * 100_000)
