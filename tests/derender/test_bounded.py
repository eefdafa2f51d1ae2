"""Reading with a schema that nobody has vetted: within a budget, in a process that can be killed."""

from __future__ import annotations

import pytest

from derender.derender_schemas import JSON_CALLS, needs_response_template, schema
from rgw.derender import Derenderer, Policy, TextAfterCall
from rgw.derender.bounded import BoundedDerenderer
from rgw.errors import EngineError

pytestmark = needs_response_template

EXPONENTIAL = schema("sample", {"content": {"close_pattern": r"(?:(a|b|ab)*)*c<end>", "content": "text"}})


def test_a_turn_is_read_as_it_would_be_without_bounds() -> None:
    output = '<think>Hm.</think>[TOOL]\n<call>{"name": "f", "arguments": {"a": "\N{GRINNING FACE}"}}</call><end>'
    tools = [{"type": "function", "function": {"name": "g"}}]
    expected = Derenderer(JSON_CALLS, call_markers=(r"\[TOOL\]",)).parse(output, prompt="<bot>", tools=tools)
    with BoundedDerenderer(JSON_CALLS, call_markers=(r"\[TOOL\]",)) as derenderer:
        assert derenderer.parse(output, prompt="<bot>", tools=tools) == expected


def test_a_blown_budget_is_an_issue_and_the_next_turn_is_read() -> None:
    output = "ab" * 40 + "!c<end>"
    with BoundedDerenderer(EXPONENTIAL, budget=0.5) as derenderer:
        parsed = derenderer.parse(output, prompt="")
        assert [(issue.code, issue.start, issue.end) for issue in parsed.issues] == [("time_budget_exceeded", 0, 87)]
        assert (parsed.text, parsed.ill_formed, parsed.segments) == (output, True, (("unclaimed", 0, 87),))
        assert derenderer.parse("x", prompt="").text == "x"


def test_a_schema_that_does_not_load_is_refused_at_once() -> None:
    with pytest.raises(EngineError, match="schema sample"):
        BoundedDerenderer(schema("sample", {"content": {"content": "no such parser"}}))


def test_a_policy_holds_there_too() -> None:
    output = '<call>{"name": "f", "arguments": {}}</call>Bye.<end>'
    strict = Policy(text_after_call=TextAfterCall.ERROR)
    with BoundedDerenderer(JSON_CALLS, policy=strict) as derenderer:
        assert derenderer.parse(output, prompt="") == Derenderer(JSON_CALLS, policy=strict).parse(output, prompt="")
        assert derenderer.parse(output, prompt="").ill_formed
        assert derenderer.engine == Derenderer(JSON_CALLS).engine
