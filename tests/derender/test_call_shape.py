"""From a region's content to the names and arguments of its calls; what a transform would drop is refused."""

from __future__ import annotations

from typing import Any

import pytest

from rgw.derender.call_shape import CallShape
from rgw.derender.reading import ContentError
from rgw.model import IssueCode

WHOLE = CallShape({"type": "function", "function": "{content}"}, False)
CAPTURED = CallShape({"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}, False)
DESCENDING = CallShape(
    {"type": "function", "function": {"name": "{content.tool}", "arguments": "{content.input}"}}, False
)
NESTED = CallShape(
    {"type": "function", "function": {"name": "{function.name}", "arguments": "{function.arguments}"}}, True
)
EACH = CallShape({"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}, True)
BARE = CallShape(None, False)


def refusal(shape: CallShape, content: Any) -> tuple[IssueCode, int]:
    with pytest.raises(ContentError) as caught:
        shape.calls(content, {}, 7)
    return caught.value.code, caught.value.position


def test_the_content_is_the_function() -> None:
    assert WHOLE.calls({"name": "f", "arguments": {"a": 1}}, {}, 0) == [("f", {"a": 1})]


def test_the_name_is_captured_by_a_delimiter() -> None:
    assert CAPTURED.calls({"a": 1}, {"name": "f"}, 0) == [("f", {"a": 1})]


def test_a_placeholder_descends_into_keys() -> None:
    assert DESCENDING.calls({"tool": "f", "input": {"a": 1}}, {}, 0) == [("f", {"a": 1})]


def test_each_element_of_a_list_is_a_call() -> None:
    calls = [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]
    assert EACH.calls(calls, {}, 0) == [("f", {"a": 1}), ("g", {})]
    assert EACH.calls([], {}, 0) == []


def test_a_placeholder_descends_into_the_elements_of_a_list() -> None:
    calls = [{"type": "function", "function": {"name": "f", "arguments": {"a": {"b": 1}}}}]
    assert NESTED.calls(calls, {}, 0) == [("f", {"a": {"b": 1}})]


def test_without_a_transform_the_content_is_the_call() -> None:
    assert BARE.calls({"type": "function", "function": {"name": "f", "arguments": {}}}, {}, 0) == [("f", {})]
    assert BARE.calls({"name": "f", "arguments": {}}, {}, 0) == [("f", {})]


@pytest.mark.parametrize(
    ("content", "call"),
    [
        ({"name": "f"}, ("f", None)),
        ({"name": "f", "arguments": None}, ("f", None)),
        ({"arguments": {"a": 1}}, (None, {"a": 1})),
        ({"id": "call_1", "type": "function", "name": "f", "arguments": {}}, ("f", {})),
    ],
)
def test_an_absent_part_is_none_and_keys_that_say_nothing_of_the_call_are_let_be(content: Any, call: Any) -> None:
    assert WHOLE.calls(content, {}, 0) == [call]


@pytest.mark.parametrize("content", [[], "f", 5, None, True])
@pytest.mark.parametrize("shape", [WHOLE, DESCENDING, BARE], ids=["whole", "descending", "bare"])
def test_what_is_no_object_is_no_call(shape: CallShape, content: Any) -> None:
    assert refusal(shape, content) == (IssueCode.INVALID_CALL, 7)


@pytest.mark.parametrize(
    ("shape", "content"),
    [
        (WHOLE, {"name": "f", "arguments": {}, "parameters": {"a": 1}}),
        (WHOLE, {"name": "f", "args": {"a": 1}}),
        (DESCENDING, {"tool": "f", "input": {}, "note": "lost"}),
        (EACH, [{"name": "f", "arguments": {}, "then": "g"}]),
        (NESTED, [{"type": "function", "function": {"name": "f", "argumentz": {"a": 1}}}]),
        (NESTED, [{"type": "function", "function": "f"}]),
        (EACH, ["f"]),
        (EACH, {"name": "f"}),
    ],
)
def test_what_the_transform_would_drop_is_refused(shape: CallShape, content: Any) -> None:
    assert refusal(shape, content) == (IssueCode.INVALID_CALL, 7)


def test_only_a_whole_placeholder_is_filled_in() -> None:
    shape = CallShape({"function": {"name": "call_{name}", "arguments": "{content}"}}, False)
    assert shape.calls({}, {"name": "f"}, 0) == [("call_{name}", {})]
