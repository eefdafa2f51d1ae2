"""Lists of calls written as Python: what they hold, where they end, what is refused, and the two variants."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derender.derender_schemas import needs_call_lists
from rgw.derender.call_lists import CallListReader
from rgw.derender.reading import ContentError
from rgw.model import IssueCode

STRICT = CallListReader()
LINES = CallListReader(brackets=False)
UNESCAPED = CallListReader(unescaped_strings=True)

names = st.from_regex(r"[a-z_][a-z0-9_]{0,5}([-.][a-z0-9]{1,3})?", fullmatch=True)
Calls: TypeAlias = list[tuple[str, dict[str, Any]]]


def calls_of(integers: st.SearchStrategy[int]) -> st.SearchStrategy[Calls]:
    scalars = st.none() | st.booleans() | integers | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
    return st.lists(st.tuples(names, st.dictionaries(names, values, max_size=3)), max_size=3)


def read(reader: CallListReader, wire: str) -> list[tuple[str, Any]]:
    calls, end = reader.read(wire + "<end>", 0)
    assert end == len(wire)
    return [(call["name"], call["arguments"]) for call in calls]


def refusal(reader: CallListReader, wire: str) -> tuple[IssueCode, int]:
    with pytest.raises(ContentError) as caught:
        reader.read(wire, 0)
    return caught.value.code, caught.value.position


@pytest.mark.parametrize(
    ("wire", "calls"),
    [
        ("[]", []),
        ("[f()]", [("f", {})]),
        ("[ f ( a = 1 , b = -2.5 ) ]", [("f", {"a": 1, "b": -2.5})]),
        ("[run-code(user-id=1), math.add()]", [("run-code", {"user-id": 1}), ("math.add", {})]),
        ("[f(a='x]'), g()]", [("f", {"a": "x]"}), ("g", {})]),
        ("[f(a='it\\'s', b=[1, {'k': None}])]", [("f", {"a": "it's", "b": [1, {"k": None}]})]),
        ("[f(a=True, b=true, c=False)]", [("f", {"a": True, "b": True, "c": False})]),
        ("[f(a=false, b=None, c=null)]", [("f", {"a": False, "b": None, "c": None})]),
        ("[f(a=9007199254740993, b=1e-9)]", [("f", {"a": 9007199254740993, "b": 1e-9})]),
        ("[f(a='\\n\\t\\\\\\/\\u00e9\\ud83d\\ude42')]", [("f", {"a": "\n\t\\/é🙂"})]),
        ("[f(a='\\xa0\\U0001f642\\u2028')]", [("f", {"a": "\xa0🙂\u2028"})]),
        ('[f(a=[], b={}, c="\'")]', [("f", {"a": [], "b": {}, "c": "'"})]),
    ],
)
def test_a_list_of_calls(wire: str, calls: list[Any]) -> None:
    assert read(STRICT, wire) == calls


@pytest.mark.parametrize("wire", ["[f(a=1)", "[f(a='1)]", "[f(a='1\\", "[f(", "[f", "[", "", "[f(a=1,", "[f(a={'k'"])
def test_a_list_that_never_ends_was_cut_off(wire: str) -> None:
    assert refusal(STRICT, wire) == (IssueCode.INVALID_ARGUMENTS, len(wire))


@pytest.mark.parametrize(
    ("wire", "code", "position"),
    [
        ("f()", IssueCode.INVALID_ARGUMENTS, 0),
        ("[f(1)]", IssueCode.INVALID_ARGUMENTS, 3),
        ("[f(a=1,)]", IssueCode.INVALID_ARGUMENTS, 7),
        ("[f(a=open('x'))]", IssueCode.INVALID_ARGUMENTS, 5),
        ("[f(a=(1, 2))]", IssueCode.INVALID_ARGUMENTS, 5),
        ("[f(a=1), 3]", IssueCode.INVALID_ARGUMENTS, 9),
        ("[f(a=007)]", IssueCode.INVALID_ARGUMENTS, 6),
        ("[f(a=1e999)]", IssueCode.OVERSIZED_NUMBER, 5),
        ("[f(a='x\ny')]", IssueCode.INVALID_ARGUMENTS, 5),
        ("[f(a='\\q')]", IssueCode.INVALID_ARGUMENTS, 5),
        ("[f(a='\\x4')]", IssueCode.INVALID_ARGUMENTS, 5),
        ("[f(a='\\U00110000')]", IssueCode.INVALID_ARGUMENTS, 5),
        ("[f(a={1: 2})]", IssueCode.INVALID_ARGUMENTS, 6),
        ("[f(a=1, a=2)]", IssueCode.DUPLICATE_KEY, 12),
        ("[f(a={'k': 1, 'k': 2})]", IssueCode.DUPLICATE_KEY, 21),
        ("[f(a='\\ud800')]", IssueCode.LONE_SURROGATE, 5),
        ("[f(a=" + "[" * 101 + "]" * 101 + ")]", IssueCode.TOO_DEEP, 105),
        ("[f(a=" + "[" * 50_000, IssueCode.TOO_DEEP, 105),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_list_of_calls_is_refused_where_it_goes_wrong(wire: str, code: IssueCode, position: int) -> None:
    assert refusal(STRICT, wire) == (code, position)


def written(calls: Calls) -> str:
    return ", ".join(
        f"{name}({', '.join(f'{key}={json.dumps(value)}' for key, value in arguments.items())})"
        for name, arguments in calls
    )


@given(calls_of(st.integers()))
def test_what_is_written_comes_back(calls: Calls) -> None:
    assert read(STRICT, f"[{written(calls)}]") == calls


@needs_call_lists
@given(calls_of(st.integers(-(2**53) + 1, 2**53 - 1)))
def test_it_reads_what_transformers_reads(calls: Calls) -> None:
    from transformers.utils.chat_parsing.content_parsers import parse_content

    parsed = parse_content(f"[{written(calls)}]", "python-call-list", {})
    assert [(call["name"], call["arguments"]) for call in parsed] == calls
    assert read(STRICT, f"[{written(calls)}]") == calls


def test_calls_without_brackets_stand_one_behind_the_other() -> None:
    assert read(LINES, 'f(a="x\\ny")\nrun-code()g(b=[1])') == [
        ("f", {"a": "x\ny"}),
        ("run-code", {}),
        ("g", {"b": [1]}),
    ]


@pytest.mark.parametrize(("wire", "position"), [("", 0), ("[f()]", 0), ("f(), g()", None), ("f()\ng(", 6)])
def test_without_brackets_a_list_is_at_least_one_whole_call(wire: str, position: int | None) -> None:
    if position is None:
        assert LINES.read(wire, 0) == ([{"name": "f", "arguments": {}}], 3)
    else:
        assert refusal(LINES, wire) == (IssueCode.INVALID_ARGUMENTS, position)


@pytest.mark.parametrize(
    "value", ["it's", "", "'", "a\nb", "C:\\new", 'say "hi"', "print('hi')\n", "f(x=1, y=[2, 3])", "a', b", "a')", "']"]
)
@pytest.mark.parametrize("quote", ["'", '"'])
def test_an_unescaped_string_is_what_stands_between_its_quotes(value: str, quote: str) -> None:
    argument = f"{quote}{value}{quote}"
    assert read(UNESCAPED, f"[f(a={argument}, b={argument}), g(c={argument})]") == [
        ("f", {"a": value, "b": value}),
        ("g", {"c": value}),
    ]


def test_strings_inside_lists_and_dicts_are_escaped_as_usual() -> None:
    assert read(UNESCAPED, """[f(a={"k": "it's \\"x\\""}, b=['it\\'s'])]""") == [
        ("f", {"a": {"k": 'it\'s "x"'}, "b": ["it's"]})
    ]


def test_an_unescaped_string_that_looks_like_the_next_argument_is_read_as_one() -> None:
    assert read(UNESCAPED, "[f(a='x', b='y')]") == [("f", {"a": "x", "b": "y"})]


@pytest.mark.parametrize("wire", ["[f(a='x)]", "[f(a='x'", "[f(a='it's"])
def test_an_unescaped_string_that_nothing_closes_was_cut_off(wire: str) -> None:
    assert refusal(UNESCAPED, wire) == (IssueCode.INVALID_ARGUMENTS, len(wire))
