"""Small schemas for the tests of the derender, one for each kind of wire format, and how a tiling is written down.

They are no model's format; what the registered schemas must read stands in `test_registered_schemas` and
`test_reported_faults`.
"""

from __future__ import annotations

from typing import Any

import pytest

from rgw.derender import Derenderer
from rgw.derender.engines import transformers_version
from rgw.errors import EngineError
from rgw.model import ParsedOutput
from rgw.registry.loader import load_registry
from rgw.registry.model import Dialect, LayoutRules, Origin, Schema, TurnRules, UntypedValues

needs_response_template = pytest.mark.skipif(
    transformers_version() < (5, 13), reason="the response_template engine needs transformers >= 5.13"
)
text_after_calls = pytest.mark.skipif(
    transformers_version() < (5, 13), reason="the legacy dialect cannot hold text after a call: it flags the turn"
)
needs_call_lists = pytest.mark.skipif(
    transformers_version() < (5, 24), reason="the python-call-list content parser needs transformers >= 5.24"
)

VERBATIM = {"content": "text", "content_args": {"strip": False}}
FUNCTION = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
THOUGHT = {"open_pattern": r"<think>\n?", "close_pattern": r"\n?</think>\n?", **VERBATIM}
ANSWER = {"close": "<end>", **VERBATIM}


def schema(
    name: str,
    fields: dict[str, Any],
    *,
    turn: TurnRules | None = None,
    layout: LayoutRules | None = None,
    untyped: UntypedValues = UntypedValues.JSON,
) -> Schema:
    """A schema whose assistant turns begin behind `<bot>`."""
    template = {"defaults": {"role": "assistant"}, "start_anchor": "<bot>", "fields": fields}
    return Schema(
        name=name,
        title=name,
        origin=Origin("rgw"),
        dialects={Dialect.RESPONSE_TEMPLATE: template},
        turn=turn or TurnRules(end=("<end>",), reserved=("<call>", "</call>", "<think>", "</think>")),
        layout=layout or LayoutRules(),
        untyped_values=untyped,
    )


JSON_CALLS = schema(
    "json_calls",
    {
        "reasoning_content": THOUGHT,
        "tool_calls": {
            "open_pattern": r"\n?<call>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": ANSWER,
    },
)
"""A thought, text, and calls that are JSON objects: `<call>{"name": …, "arguments": …}</call>`."""

TAG = r"<arg=(?P<key>[^>\n]+)>\n?(?P<value>(?:[^<]|<(?!/?arg))*?)\n?</arg>"

TAG_CALLS = schema(
    "tag_calls",
    {
        "reasoning_content": THOUGHT,
        "tool_calls": {
            "open_pattern": r"\n?<call>(?P<name>[^\s<]+)",
            "close_pattern": r"\s?</call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": TAG, "value_parser": {"name": "text"}},
            "transform": FUNCTION,
        },
        "content": ANSWER,
    },
)
"""Calls whose arguments are tags without types: `<call>name<arg=key>value</arg></call>`."""

MARKED = r"<a=(?P<key>[^>\n]+)>(?P<value>(?:[^<]|<(?!a=))*?)\n?(?P<closing_tag></a>)(?=<a=|</call>|\Z)"

MARKED_TAGS = schema(
    "marked_tags",
    {
        "tool_calls": {
            "open_pattern": r"<call>(?P<name>[^\s<]+)",
            "close": "</call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": MARKED, "value_parser": {"name": "text"}},
            "transform": FUNCTION,
        },
        "content": ANSWER,
    },
    untyped=UntypedValues.TEXT,
)
"""Calls whose argument tags say what closes a value and what may follow: `<call>name<a=key>value</a></call>`."""

MESSAGES = schema(
    "messages",
    {
        "thinking": {"open": "<msg think>", "close": "</msg>", **VERBATIM},
        "content": {"open": "<msg say>", "close_pattern": r"</msg>|<end>", **VERBATIM},
        "tool_calls": {
            "open_pattern": r"<msg call (?P<name>[^>\s]+)>",
            "close_pattern": r"<stop>",
            "repeats": True,
            "content": "json",
            "transform": FUNCTION,
        },
    },
    turn=TurnRules(
        end=("<end>", "<stop>"),
        resumable=("<stop>",),
        repeated_reasoning=True,
        builtin_tool=r"<msg run (?P<name>\w+)>",
    ),
)
"""A format of messages: nothing may stand between them, thoughts may repeat, and a call does not end the turn."""

CALL_LISTS = schema(
    "call_lists",
    {
        "tool_calls": {
            "open": "<calls>",
            "close": "</calls>",
            "repeats": True,
            "content": "python-call-list",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}},
            "transform_each": True,
        },
        "content": ANSWER,
    },
)
"""Calls written as a Python list: `<calls>[f(a=1), g()]</calls>`."""


def tiling(output: str, parsed: ParsedOutput) -> list[tuple[str, str]]:
    """The segments as pairs of kind and text."""
    return [(kind.value, output[start:end]) for kind, start, end in parsed.segments]


def findings(output: str, parsed: ParsedOutput) -> list[tuple[str, str, str]]:
    """The issues as code, severity and the text that they point at."""
    return [(issue.code.value, issue.severity.value, output[issue.start : issue.end]) for issue in parsed.issues]


def registered(name: str, **options: Any) -> Derenderer:
    """The derenderer of a registered schema; the test is skipped where the installed transformers cannot run it."""
    registry = load_registry()
    try:
        return Derenderer(registry.schema(name), call_markers=registry.call_markers, **options)
    except EngineError as error:
        pytest.skip(error.message)
