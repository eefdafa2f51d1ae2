"""JSON for people: what fits on a line stays on it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rgw.output.json_text import pretty

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def test_a_short_value_is_one_line() -> None:
    assert pretty({"city": "Paris", "days": [1, 2]}) == '{"city": "Paris", "days": [1, 2]}'


def test_a_long_value_is_broken_where_it_is_nested() -> None:
    value = {"city": "Paris", "days": [1, 2], "note": "x" * 20}
    assert pretty(value, width=30) == ('{\n  "city": "Paris",\n  "days": [1, 2],\n  "note": "xxxxxxxxxxxxxxxxxxxx"\n}')


def test_letters_of_all_scripts_are_themselves() -> None:
    assert pretty(["日本", "é"]) == '["日本", "é"]'


def test_a_value_nested_past_all_reason_is_still_printed() -> None:
    value: object = []
    for _ in range(300):
        value = [value]
    assert json.loads(pretty(value)) == value


@given(VALUES, st.integers(1, 100), st.booleans())
def test_it_is_the_same_value_at_any_width(value: object, width: int, ascii_only: bool) -> None:
    text = pretty(value, width=width, ascii_only=ascii_only)
    assert json.loads(text) == value
    assert text.isascii() or not ascii_only
