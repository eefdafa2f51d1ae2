"""Strict JSON values: what is read, where it ends, and each refusal with its code and position."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgw.derender.json_values import MAXIMUM_DEPTH, MAXIMUM_DIGITS, read_json, value_reader
from rgw.derender.reading import ContentError
from rgw.model import IssueCode

read_relaxed = value_reader({"string_delims": [["<q>", "</q>"]], "unquoted_keys": True})

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=3)


def refusal(text: str, read: Any = read_json) -> tuple[IssueCode, int]:
    with pytest.raises(ContentError) as caught:
        read(text, 0)
    return caught.value.code, caught.value.position


@pytest.mark.parametrize(
    ("text", "value", "end"),
    [
        ('{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}, 27),
        (' \n\t{"a":1} rest', {"a": 1}, 10),
        ('{"a":1}{"b":2}', {"a": 1}, 7),
        ('"\\ud83d\\ude00"', "\N{GRINNING FACE}", 14),
        ("[]", [], 2),
    ],
)
def test_a_value_is_read_up_to_its_own_end(text: str, value: Any, end: int) -> None:
    assert read_json(text, 0) == (value, end)


@pytest.mark.parametrize("number", [9007199254740993, -9007199254740993, 2**64 + 1, 10 ** (MAXIMUM_DIGITS - 1)])
def test_integers_are_exact(number: int) -> None:
    assert read_json(f'{{"n": {number}}}', 0)[0] == {"n": number}


@given(OBJECTS)
def test_whatever_json_writes_is_read_back(value: dict[str, Any]) -> None:
    written = json.dumps(value, ensure_ascii=False)
    assert read_json(written + "</call>", 0) == (value, len(written))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a": 1, "a": 1}', IssueCode.DUPLICATE_KEY),
        ('{"o": {"k": 1, "j": 2, "k": 3}}', IssueCode.DUPLICATE_KEY),
        ('{"a": "\\ud800"}', IssueCode.LONE_SURROGATE),
        ('{"\\udc00": 1}', IssueCode.LONE_SURROGATE),
        ("[" * (MAXIMUM_DEPTH + 1) + "]" * (MAXIMUM_DEPTH + 1), IssueCode.TOO_DEEP),
        ('{"a":' * (MAXIMUM_DEPTH + 1) + "1" + "}" * (MAXIMUM_DEPTH + 1), IssueCode.TOO_DEEP),
        ("[" * 100_000, IssueCode.TOO_DEEP),
    ],
    ids=lambda value: value if isinstance(value, IssueCode) else repr(value[:24]),
)
def test_what_standard_parsers_let_through_is_refused_at_the_value(text: str, code: IssueCode) -> None:
    assert refusal("  " + text) == (code, 2)


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ('{"a": NaN}', IssueCode.NONSTANDARD_CONSTANT, 6),
        ('{"a": [1, Infinity]}', IssueCode.NONSTANDARD_CONSTANT, 10),
        ('{"a": -Infinity}', IssueCode.NONSTANDARD_CONSTANT, 6),
        ('{"NaN": "NaN", "b\\"": NaN, "c": NaN}', IssueCode.NONSTANDARD_CONSTANT, 22),
        (f'{{"a": 1{"0" * MAXIMUM_DIGITS}}}', IssueCode.OVERSIZED_NUMBER, 6),
        ('{"a": 1e999}', IssueCode.OVERSIZED_NUMBER, 6),
        ('{"a": 11e999, "b": 1e999}', IssueCode.OVERSIZED_NUMBER, 6),
        ('{"a": -1e999}', IssueCode.OVERSIZED_NUMBER, 6),
        ("NaN", IssueCode.NONSTANDARD_CONSTANT, 0),
    ],
    ids=lambda value: None if isinstance(value, IssueCode) else repr(value)[:24],
)
def test_what_is_no_number_of_json_is_refused_where_it_stands(text: str, code: IssueCode, position: int) -> None:
    assert refusal("  " + text) == (code, 2 + position)


@pytest.mark.parametrize("text", ["[" * MAXIMUM_DEPTH + "]" * MAXIMUM_DEPTH, "[" + "[]," * 500 + "[]]"])
def test_depth_is_what_is_limited_not_the_number_of_brackets(text: str) -> None:
    assert read_json(text, 0)[1] == len(text)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("{'a': 1}", 1),
        ('{"a" 1}', 5),
        ('{"a": 1 "b": 2}', 8),
        ('{"a": tru }', 6),
        ('{"a": 01}', 7),
        ('{"a": "x\ty"}', 8),
        ('{"a": "x\ny"}', 8),
        ('{"a": "\\q"}', 7),
        ("name", 0),
        ("", 0),
    ],
)
def test_what_is_not_json_is_refused_where_it_goes_wrong(text: str, position: int) -> None:
    assert refusal(text) == (IssueCode.INVALID_JSON, position)


@given(OBJECTS, st.data())
def test_a_value_that_was_cut_off_is_refused_at_the_end_of_the_text(value: dict[str, Any], data: st.DataObject) -> None:
    written = json.dumps(value)
    cut = written[: data.draw(st.integers(0, len(written) - 1))]
    assert refusal(cut) == (IssueCode.INVALID_JSON, len(cut))


@pytest.mark.parametrize(
    "cut", ['{"n": -', '{"n": 1.', '{"n": 1e', '{"n": 1e-', '{"n": fal', '{"s": "\\', '{"s": "\\u00']
)
def test_a_number_word_or_escape_that_was_cut_off_counts_as_cut_off(cut: str) -> None:
    assert refusal(cut) == (IssueCode.INVALID_JSON, len(cut))


def test_without_relaxing_arguments_the_notation_is_json() -> None:
    assert value_reader({}) is read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("[ ]", []),
        ("{a:<q>x<q>}y</q>,b:1}", {"a": "x<q>}y", "b": 1}),
        ('{ "a" : "x" , b : [ 1 , -2.5e3 ] }', {"a": "x", "b": [1, -2500.0]}),
        ("{a:true,b:False,c:null,d:None}", {"a": True, "b": False, "c": None, "d": None}),
        ("{a:{b:[{c:<q></q>}]}}", {"a": {"b": [{"c": ""}]}}),
        ("{<q>k</q>:9007199254740993}", {"k": 9007199254740993}),
        ("{two words:1}", {"two words": 1}),
        ('{a:<q>say "hi", {x}</q>}', {"a": 'say "hi", {x}'}),
    ],
)
def test_the_relaxed_notation_is_read(text: str, value: Any) -> None:
    assert read_relaxed(text + "<end>", 0) == (value, len(text))


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("{a:1,a:2}", IssueCode.DUPLICATE_KEY, 5),
        ("{a:<q>l</q>b:2}", IssueCode.INVALID_JSON, 11),
        ("{a 1}", IssueCode.INVALID_JSON, 4),
        ("{:1}", IssueCode.INVALID_JSON, 1),
        ("{a:}", IssueCode.INVALID_JSON, 3),
        ("{a:word}", IssueCode.INVALID_JSON, 3),
        ("{a:1.2.3}", IssueCode.INVALID_JSON, 3),
        ("{a:01}", IssueCode.INVALID_JSON, 3),
        ("{a:NaN}", IssueCode.NONSTANDARD_CONSTANT, 3),
        ("{a:-Infinity}", IssueCode.NONSTANDARD_CONSTANT, 3),
        ("{a:1e999}", IssueCode.OVERSIZED_NUMBER, 3),
        ("{a:[1,]}", IssueCode.INVALID_JSON, 6),
        ("{a:1;b:2}", IssueCode.INVALID_JSON, 4),
        ("[1 2]", IssueCode.INVALID_JSON, 3),
        ("{a:<q>never closed", IssueCode.INVALID_JSON, 18),
        ("[" * (MAXIMUM_DEPTH + 1), IssueCode.TOO_DEEP, MAXIMUM_DEPTH),
    ],
)
def test_the_relaxed_notation_is_just_as_strict(text: str, code: IssueCode, position: int) -> None:
    assert refusal(text, read_relaxed) == (code, position)


def test_each_relaxation_stands_alone() -> None:
    assert value_reader({"unquoted_keys": True})("{a:1}", 0) == ({"a": 1}, 5)
    assert value_reader({"string_delims": [["<q>", "</q>"]]})('{"a":<q>x</q>}', 0) == ({"a": "x"}, 14)
    assert refusal("{a:1}", value_reader({"string_delims": [["<q>", "</q>"]]})) == (IssueCode.INVALID_JSON, 1)
    assert refusal("{a:<q>x</q>}", value_reader({"unquoted_keys": True})) == (IssueCode.INVALID_JSON, 3)


def written_relaxed(value: Any) -> str:
    """The relaxed notation, written as a template would: bare keys, strings between `<q>` and `</q>`."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{written_relaxed(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written_relaxed, value)) + "]"
    return f"<q>{value}</q>" if isinstance(value, str) else json.dumps(value)


RELAXED = st.dictionaries(
    st.from_regex(r"\A[a-z_]\w{0,5}\Z"),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text().filter(lambda text: "</q>" not in text + "</q"),
        lambda values: (
            st.lists(values, max_size=3) | st.dictionaries(st.from_regex(r"\A[a-z]{1,4}\Z"), values, max_size=3)
        ),
        max_leaves=6,
    ),
    max_size=3,
)


@given(RELAXED)
def test_whatever_a_template_writes_relaxed_is_read_back(value: dict[str, Any]) -> None:
    written = written_relaxed(value)
    assert read_relaxed(written + "<end>", 0) == (value, len(written))


@given(RELAXED, st.data())
def test_no_proper_part_of_a_relaxed_value_is_a_value(value: dict[str, Any], data: st.DataObject) -> None:
    written = written_relaxed(value)
    cut = written[: data.draw(st.integers(0, len(written) - 1))]
    with pytest.raises(ContentError):
        read_relaxed(cut, 0)
