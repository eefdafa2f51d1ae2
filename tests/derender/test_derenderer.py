"""What becomes of a reading: every issue code with its exact span, each policy, typing, and the degradation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from derender.derender_schemas import (
    FUNCTION,
    JSON_CALLS,
    MARKED_TAGS,
    MESSAGES,
    TAG_CALLS,
    VERBATIM,
    findings,
    needs_response_template,
    schema,
    tiling,
)
from rgw.derender import (
    LENIENT_POLICY,
    BuiltinTool,
    CallInReasoning,
    CutCall,
    Derenderer,
    Policy,
    TextAfterCall,
    Tolerance,
    UnclosedValue,
)
from rgw.model import IssueCode, ParsedOutput, SegmentKind
from rgw.registry.model import Schema, UntypedValues

pytestmark = needs_response_template

MARKERS = (r"<call>", r"\[TOOL\]")

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "o": {"type": "object"}, "s": {"type": "string"}},
            },
        },
    }
]

CALL_ENDS_REASONING = Policy(call_in_reasoning=CallInReasoning.CALL)
VALUES_END_AT_TAGS = Policy(unclosed_value=UnclosedValue.NEXT_TAG)

REQUIRED = schema("required", {"content": {"open": "<say>", "close": "</say>", "optional": False, **VERBATIM}})
LENIENT = schema(
    "lenient",
    {
        "tool_calls": {
            "open_pattern": r"(?:<call>|(?P<deviation_without_its_bracket>)call>)(?P<name>\w+):",
            "close": "</call>",
            "content": "json",
            "repeats": True,
            "transform": FUNCTION,
        },
        "content": {"close": "<end>", **VERBATIM},
    },
)
LISTS = schema(
    "lists",
    {
        "tool_calls": {
            "open": "<calls>",
            "close": "</calls>",
            "content": "json",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}},
            "transform_each": True,
        },
        "content": {"close": "<end>", **VERBATIM},
    },
)


def call(content: str) -> str:
    return f"<call>{content}</call>"


def parse(schema: Schema, output: str, *, policy: Policy | None = None, **options: Any) -> ParsedOutput:
    return Derenderer(schema, policy=policy, call_markers=MARKERS).parse(output, **{"prompt": "", **options})


@dataclass(frozen=True)
class Case:
    """An output with the one issue that it has: code, severity and the text that it points at (`None`: all of it)."""

    code: IssueCode
    severity: str
    output: str
    span: str | None
    schema: Schema = JSON_CALLS
    options: Mapping[str, Any] = field(default_factory=dict)


ERROR, WARNING = "error", "warning"
OFFERED = {"tools": TOOLS}
ONE = '{"name": "f", "arguments": {"n": 1}}'

NAMELESS = call('{"name": ""}')

CASES = [
    Case(IssueCode.UNCLOSED_CALL, ERROR, 'Hi <call>{"name": "f"', '<call>{"name": "f"'),
    Case(IssueCode.UNCLOSED_CALL, ERROR, f"<call>{ONE}<call>{ONE}</call>", "<"),
    Case(IssueCode.UNCLOSED_REASONING, ERROR, "<think>Hm", "Hm"),
    Case(IssueCode.UNCLAIMED_TEXT, ERROR, "<msg say>a</msg> b ", " b ", MESSAGES),
    Case(IssueCode.UNCLAIMED_TEXT, ERROR, "a<msg say>b</msg>", "a", MESSAGES),
    Case(IssueCode.TEXT_AFTER_END_OF_TURN, ERROR, "a<end> b", "b"),
    Case(IssueCode.REPEATED_REASONING, ERROR, "<think>a</think>b<think>c</think>d", "c"),
    Case(IssueCode.REPEATED_REASONING, ERROR, "<think></think><think>c</think>", "c"),
    Case(IssueCode.LATE_REASONING, ERROR, "a<think>b</think>c", "b"),
    Case(IssueCode.LATE_REASONING, ERROR, "a<think></think>", ""),
    Case(IssueCode.LATE_REASONING, ERROR, f"{call(ONE)}<think>b</think>", "b"),
    Case(IssueCode.MISSING_FIELD, ERROR, "", "", REQUIRED),
    Case(IssueCode.INVALID_JSON, ERROR, call("{'name': 'f'}"), "'"),
    Case(IssueCode.INVALID_JSON, ERROR, call(""), "<"),
    Case(IssueCode.DUPLICATE_KEY, ERROR, call('{"name": "f", "arguments": {"n": 1, "n": 2}}'), "{"),
    Case(IssueCode.NONSTANDARD_CONSTANT, ERROR, call('{"name": "f", "arguments": {"n": NaN}}'), "N"),
    Case(IssueCode.LONE_SURROGATE, ERROR, call('{"name": "f", "arguments": {"s": "\\ud83d"}}'), "{"),
    Case(IssueCode.TOO_DEEP, ERROR, call('{"name": "f", "arguments": {"n": ' + "[" * 100_000), "{"),
    Case(IssueCode.OVERSIZED_NUMBER, ERROR, call('{"name": "f", "arguments": {"n": 1e999}}'), "1"),
    Case(IssueCode.INVALID_CALL, ERROR, call('["f"]'), None),
    Case(IssueCode.INVALID_CALL, ERROR, call('{"name": "f", "parameters": {}}'), None),
    Case(IssueCode.INVALID_NAME, ERROR, call('{"arguments": {}}'), None),
    Case(IssueCode.INVALID_NAME, ERROR, call('{"name": ""}'), None),
    Case(IssueCode.INVALID_NAME, ERROR, call('{"name": " f"}'), None),
    Case(IssueCode.INVALID_NAME, ERROR, call('{"name": 5}'), None),
    Case(IssueCode.INVALID_ARGUMENTS, ERROR, call('{"name": "f", "arguments": [1]}'), None),
    Case(IssueCode.INVALID_ARGUMENTS, ERROR, call('{"name": "f", "arguments": "n"}'), None),
    Case(IssueCode.INVALID_ARGUMENTS, ERROR, call(ONE + " really"), "r"),
    Case(
        IssueCode.DOUBLE_ENCODED_ARGUMENTS,
        ERROR,
        call('{"name": "f", "arguments": "{\\"n\\": 1}"}'),
        None,
    ),
    Case(IssueCode.SEVERAL_CALLS, ERROR, call(f'{ONE}\n{{"name": "g"}}'), "{"),
    Case(IssueCode.SEVERAL_CALLS, ERROR, call(f"{ONE}[]"), "["),
    Case(IssueCode.EMPTY_CALL_LIST, WARNING, "<calls>[]</calls>", None, LISTS),
    Case(IssueCode.MISSING_TAG, ERROR, call("f<arg=n>1"), "<", TAG_CALLS),
    Case(IssueCode.MISSING_TAG, ERROR, call("f<arg=n>1</arg>, <arg=s>x</arg>"), ",", TAG_CALLS),
    Case(IssueCode.REPEATED_PARAMETER, ERROR, call("f<arg=n>1</arg><arg=n>2</arg>"), "<", TAG_CALLS),
    Case(IssueCode.UNDECLARED_TOOL, WARNING, call('{"name": "g"}'), None, options=OFFERED),
    Case(IssueCode.UNDECLARED_ARGUMENT, WARNING, call('{"name": "f", "arguments": {"m": 1}}'), None, options=OFFERED),
    Case(IssueCode.UNDECLARED_ARGUMENT, WARNING, call("f<arg=m>x</arg>"), "x", TAG_CALLS, OFFERED),
    Case(IssueCode.ARGUMENT_TYPE, WARNING, call('{"name": "f", "arguments": {"n": "1"}}'), None, options=OFFERED),
    Case(IssueCode.ARGUMENT_TYPE, WARNING, call("f<arg=n>one</arg>"), "one", TAG_CALLS, OFFERED),
    Case(IssueCode.ARGUMENT_TYPE, WARNING, call("f<arg=o>{'k': None}</arg>"), "{'k': None}", TAG_CALLS, OFFERED),
    Case(IssueCode.TEXT_AFTER_CALL, WARNING, f"a{call(ONE)}b", "b"),
    Case(IssueCode.LOOKS_LIKE_CALL, WARNING, "a [TOOL] f", "[TOOL]"),
    Case(IssueCode.BUILTIN_TOOL, ERROR, "<msg run python>1 + 1<stop>", "<msg run python>1 + 1", MESSAGES),
    Case(IssueCode.STRAY_DELIMITER, ERROR, "a</think>b", "</think>"),
    Case(IssueCode.STRAY_DELIMITER, ERROR, "a</call>b", "</call>"),
    Case(IssueCode.TOLERATED_DELIMITER, WARNING, "call>f:{}</call>", "call>f:", LENIENT),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code}:{case.output[:30]}")
def test_an_issue_points_at_its_place(case: Case) -> None:
    parsed = parse(case.schema, case.output, **case.options)
    assert findings(case.output, parsed) == [
        (case.code, case.severity, case.output if case.span is None else case.span)
    ]
    assert parsed.ill_formed is (case.severity == ERROR)
    assert parsed.issues[0].message


def test_every_code_has_a_case() -> None:
    told_elsewhere = {
        IssueCode.CALL_IN_REASONING,  # comes with `unclosed_reasoning`: see below
        IssueCode.ENGINE_FAILURE,  # nothing that a model writes: see below
        IssueCode.TIME_BUDGET_EXCEEDED,  # only where a schema is not trusted: `test_bounded`
    }
    assert {case.code for case in CASES} | told_elsewhere == set(IssueCode)


class TestDegradation:
    @pytest.mark.parametrize(
        "case", [case for case in CASES if case.severity == ERROR], ids=lambda case: case.output[:30]
    )
    def test_a_turn_with_an_error_is_its_raw_text_or_a_cut_thought(self, case: Case) -> None:
        parsed = parse(case.schema, case.output)
        assert parsed.tool_uses == []
        if case.code is IssueCode.UNCLOSED_REASONING:
            assert (parsed.reasoning, parsed.text) == ("Hm", "")
        else:
            assert (parsed.reasoning, parsed.text) == ("", case.output)

    def test_a_cut_thought_with_another_error_is_raw_text(self) -> None:
        output = "<think>a</think>b<think>c"
        parsed = parse(JSON_CALLS, output)
        assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("", output, True)

    def test_a_cut_thought_never_yields_the_call_in_it(self) -> None:
        output = f"<think>I could {call(ONE)}"
        parsed = parse(JSON_CALLS, output)
        assert (parsed.reasoning, parsed.text, parsed.tool_uses) == (output.removeprefix("<think>"), "", [])
        assert findings(output, parsed) == [
            ("unclosed_reasoning", "error", f"I could {call(ONE)}"),
            ("call_in_reasoning", "warning", "<call>"),
        ]

    def test_one_bad_call_takes_the_good_ones_with_it(self) -> None:
        output = call(ONE) + NAMELESS
        parsed = parse(JSON_CALLS, output)
        assert (parsed.text, parsed.tool_uses) == (output, [])

    def test_a_failing_engine_is_an_issue_not_an_exception(self, monkeypatch: pytest.MonkeyPatch) -> None:
        derenderer = Derenderer(JSON_CALLS)

        class Broken:
            name = "broken"

            def read(self, output: str, prompt: str | None) -> None:
                raise ZeroDivisionError(output)

        monkeypatch.setattr(derenderer, "_engine", Broken())
        parsed = derenderer.parse("Hi")
        assert findings("Hi", parsed) == [("engine_failure", "error", "Hi")]
        assert (parsed.text, parsed.ill_formed, parsed.segments) == ("Hi", True, ((SegmentKind.UNCLAIMED, 0, 2),))

    def test_issues_come_in_the_order_of_the_output(self) -> None:
        output = call('{"name": "g"}') + " [TOOL] </call>"
        codes = [issue.code for issue in parse(JSON_CALLS, output, tools=TOOLS).issues]
        assert codes == ["undeclared_tool", "text_after_call", "looks_like_call", "stray_delimiter"]


class TestPolicies:
    @pytest.mark.parametrize("choice", [CallInReasoning.REASONING, CallInReasoning.ERROR])
    def test_call_in_reasoning(self, choice: CallInReasoning) -> None:
        output = "<think>I <call>"
        parsed = parse(JSON_CALLS, output, policy=Policy(call_in_reasoning=choice))
        severity = "error" if choice is CallInReasoning.ERROR else "warning"
        assert ("call_in_reasoning", severity, "<call>") in findings(output, parsed)
        expected = ("", output) if choice is CallInReasoning.ERROR else ("I <call>", "")
        assert (parsed.reasoning, parsed.text, parsed.ill_formed) == (*expected, True)

    @pytest.mark.parametrize("choice", list(TextAfterCall))
    def test_text_after_call(self, choice: TextAfterCall) -> None:
        output = f"a{call(ONE)}b"
        parsed = parse(JSON_CALLS, output, policy=Policy(text_after_call=choice))
        kept = choice is TextAfterCall.KEEP
        assert (parsed.text, len(parsed.tool_uses), parsed.ill_formed) == (
            ("ab", 1, False) if kept else (output, 0, True)
        )

    @pytest.mark.parametrize("choice", list(Tolerance))
    def test_undeclared_tool(self, choice: Tolerance) -> None:
        output = call('{"name": "g", "arguments": {"x": 1}}')
        parsed = parse(JSON_CALLS, output, tools=TOOLS, policy=Policy(undeclared_tool=choice))
        passed = choice is Tolerance.WARN
        assert parsed.tool_uses == ([{"name": "g", "input": {"x": 1}}] if passed else [])
        assert parsed.ill_formed is not passed

    @pytest.mark.parametrize("choice", list(Tolerance))
    @pytest.mark.parametrize("arguments", ['{"n": "1"}', '{"m": 1}'])
    def test_argument_type(self, choice: Tolerance, arguments: str) -> None:
        output = call(f'{{"name": "f", "arguments": {arguments}}}')
        parsed = parse(JSON_CALLS, output, tools=TOOLS, policy=Policy(argument_type=choice))
        assert parsed.ill_formed is (choice is Tolerance.ERROR)

    def test_a_cut_call_degrades_the_turn_by_default(self) -> None:
        output = f"a{call(ONE)}<call>{{"
        parsed = parse(JSON_CALLS, output)
        assert (parsed.text, parsed.tool_uses, parsed.ill_formed) == (output, [], True)

    def test_complete_calls_before_a_cut_one_may_be_kept(self) -> None:
        output = f"a{call(ONE)}<call>{{"
        parsed = parse(JSON_CALLS, output, policy=Policy(cut_call=CutCall.KEEP_COMPLETE))
        assert (parsed.text, parsed.ill_formed) == ("a", False)
        assert parsed.tool_uses == [{"name": "f", "input": {"n": 1}}]
        assert findings(output, parsed) == [("unclosed_call", "warning", "<call>{")]

    @pytest.mark.parametrize(
        "output",
        ["<think>Hm\n" + call(ONE), "<think>Hm" + call(ONE) + call(ONE), "<think>Hm" + call(ONE) + " \n<end>"],
    )
    def test_a_call_may_end_a_thought_that_is_not_closed(self, output: str) -> None:
        strict = parse(JSON_CALLS, output)
        assert (strict.text, strict.tool_uses, strict.ill_formed) == ("", [], True)
        parsed = parse(JSON_CALLS, output, policy=CALL_ENDS_REASONING)
        assert (parsed.reasoning, parsed.text.strip(), parsed.ill_formed) == ("Hm", "", False)
        assert parsed.tool_uses == [{"name": "f", "input": {"n": 1}}] * output.count(ONE)
        assert findings(output, parsed) == [("call_in_reasoning", "warning", "<call>")]

    @pytest.mark.parametrize(
        "output",
        [
            f"<think>I could write {call(ONE)} but",
            "<think>I could write <call> or so",
            f"<think>Hm{call(ONE + ' really')}",
            "<think>Hm",
            f"<think>I could write {call(ONE)}</think>Done",
        ],
    )
    def test_a_thought_that_only_quotes_a_call_stays_one(self, output: str) -> None:
        assert parse(JSON_CALLS, output, policy=CALL_ENDS_REASONING) == parse(JSON_CALLS, output)

    @pytest.mark.parametrize("output", ["<think>I could write <call>{", "<think>I could write <call> or <call> so"])
    def test_a_thought_that_holds_no_whole_call_stays_one_where_cut_calls_may_be_left_out(self, output: str) -> None:
        assert parse(JSON_CALLS, output, policy=LENIENT_POLICY) == parse(JSON_CALLS, output)
        parsed = parse(JSON_CALLS, f"<think>Hm{call(ONE)}<call>{{", policy=LENIENT_POLICY)
        assert (parsed.reasoning, len(parsed.tool_uses), parsed.ill_formed) == ("Hm", 1, False)

    def test_a_thought_that_a_call_ends_may_have_begun_in_the_prompt(self) -> None:
        output = f"Hm{call(ONE)}"
        parsed = parse(JSON_CALLS, output, prompt="<bot><think>", policy=CALL_ENDS_REASONING)
        assert (parsed.reasoning, len(parsed.tool_uses)) == ("Hm", 1)
        assert findings(output, parsed) == [("call_in_reasoning", "warning", "<call>")]

    @pytest.mark.parametrize(
        ("arguments", "read", "missing"),
        [
            ("<a=n>1<a=s>x</a>", {"n": 1, "s": "x"}, ["1"]),
            ("<a=n>1</a><a=s>x", {"n": 1, "s": "x"}, ["x"]),
            ("<a=n>1\n<a=s>x", {"n": 1, "s": "x"}, ["1", "x"]),
            ("<a=s>", {"s": ""}, [""]),
            ("<a=s>x <a=n>1</a>", {"s": "x ", "n": 1}, ["x "]),
        ],
    )
    def test_a_value_may_end_at_the_next_tag(self, arguments: str, read: dict[str, Any], missing: list[str]) -> None:
        output = call(f"f{arguments}")
        strict = parse(MARKED_TAGS, output, tools=TOOLS)
        assert (strict.text, strict.tool_uses, strict.ill_formed) == (output, [], True)
        parsed = parse(MARKED_TAGS, output, tools=TOOLS, policy=VALUES_END_AT_TAGS)
        assert (parsed.tool_uses, parsed.ill_formed) == ([{"name": "f", "input": read}], False)
        assert {(issue.code.value, issue.severity.value) for issue in parsed.issues} == {("missing_tag", "warning")}
        assert [issue.start for issue in parsed.issues] == [issue.end for issue in parsed.issues]
        assert [output[: issue.start].rpartition(">")[2] for issue in parsed.issues] == missing

    @pytest.mark.parametrize(
        "arguments",
        [
            "<a=n>1</a> and <a=s>x</a>",
            "<a=n>1</a>, ",
            "<a=n>1</b>x<a=n>2</a>",
            "<a=n>1<a=s>x</a>y",
            "<a=n>1<a=n>2</a>",
            "<a n>1</a>",
        ],
    )
    def test_other_faults_of_argument_tags_stay_faults(self, arguments: str) -> None:
        output = call(f"f{arguments}")
        parsed = parse(MARKED_TAGS, output, policy=VALUES_END_AT_TAGS)
        assert parsed == parse(MARKED_TAGS, output)
        assert parsed.ill_formed

    @pytest.mark.parametrize("output", ["<call>f<a=s>Par", "<call>f<a=s>Par<a=n>1", "<call>f<a=s>Par</a>"])
    def test_a_value_that_the_end_of_the_output_cuts_is_never_kept(self, output: str) -> None:
        parsed = parse(MARKED_TAGS, output, policy=LENIENT_POLICY)
        assert (parsed.tool_uses, parsed.text) == ([], "")
        assert findings(output, parsed) == [("unclosed_call", "warning", output)]

    @pytest.mark.parametrize(
        ("after", "calls", "text"), [("", 0, ""), ("<msg call f>{}<stop>", 1, ""), ("<msg say>b<end>", 0, "b")]
    )
    def test_a_message_to_a_builtin_tool_may_be_left_out(self, after: str, calls: int, text: str) -> None:
        output = f"<msg think>a</msg><msg run python>1 + 1<stop>{after}"
        assert parse(MESSAGES, output).text == output
        parsed = parse(MESSAGES, output, policy=Policy(builtin_tool=BuiltinTool.DROP))
        assert (parsed.reasoning, parsed.text, len(parsed.tool_uses), parsed.ill_formed) == ("a", text, calls, False)
        assert findings(output, parsed) == [("builtin_tool", "warning", "<msg run python>1 + 1")]
        assert tiling(output, parsed)[3:5] == [("unclaimed", "<msg run python>1 + 1"), ("delimiter", "<stop>")]

    def test_a_message_to_a_builtin_tool_may_be_cut(self) -> None:
        parsed = parse(MESSAGES, "<msg run python>1 +", policy=Policy(builtin_tool=BuiltinTool.DROP))
        assert (parsed.text, parsed.tool_uses, parsed.end_of_turn) == ("", [], False)

    def test_the_lenient_policy_lets_pass_what_each_of_its_choices_does(self) -> None:
        assert (
            replace(
                LENIENT_POLICY,
                call_in_reasoning=CallInReasoning.REASONING,
                cut_call=CutCall.DEGRADE,
                unclosed_value=UnclosedValue.ERROR,
                builtin_tool=BuiltinTool.ERROR,
            )
            == Policy()
        )

    def test_keeping_complete_calls_forgives_no_other_fault(self) -> None:
        policy = Policy(cut_call=CutCall.KEEP_COMPLETE)
        for output in (
            f"<call>{ONE}<call>{ONE}</call>",
            NAMELESS + "<call>{",
            f"{call(ONE)}<call>{ONE} {ONE}</call>",
            "a</call><call>",
        ):
            parsed = parse(JSON_CALLS, output, policy=policy)
            assert (parsed.text, parsed.tool_uses, parsed.ill_formed) == (output, [], True)


class TestTyping:
    def test_values_without_types_are_read_by_the_declaration(self) -> None:
        output = call("f<arg=n>7</arg><arg=s>7</arg><arg=o>{}</arg>")
        parsed = parse(TAG_CALLS, output, tools=TOOLS)
        assert parsed.tool_uses == [{"name": "f", "input": {"n": 7, "s": "7", "o": {}}}]
        assert parsed.issues == ()

    def test_a_value_that_does_not_fit_keeps_its_text(self) -> None:
        parsed = parse(TAG_CALLS, call("f<arg=n>2026-01-15</arg>"), tools=TOOLS)
        assert parsed.tool_uses == [{"name": "f", "input": {"n": "2026-01-15"}}]

    @pytest.mark.parametrize("tools", [None, [], [{"name": "other"}]])
    def test_without_a_declaration_the_schema_decides(self, tools: Any) -> None:
        as_text = schema("as_text", dict(TAG_CALLS.dialects["response_template"]["fields"]), untyped=UntypedValues.TEXT)
        output = call("f<arg=n>7</arg><arg=s>02139</arg>")
        assert parse(TAG_CALLS, output, tools=tools).tool_uses[0]["input"] == {"n": 7, "s": "02139"}
        assert parse(as_text, output, tools=tools).tool_uses[0]["input"] == {"n": "7", "s": "02139"}

    def test_a_value_with_a_type_is_never_changed(self) -> None:
        parsed = parse(JSON_CALLS, call('{"name": "f", "arguments": {"n": "1", "s": 2}}'), tools=TOOLS)
        assert parsed.tool_uses == [{"name": "f", "input": {"n": "1", "s": 2}}]
        assert [issue.code for issue in parsed.issues] == ["argument_type", "argument_type"]

    @pytest.mark.parametrize("content", ['{"name": "f"}', '{"name": "f", "arguments": null}'])
    def test_missing_or_null_arguments_are_empty(self, content: str) -> None:
        assert parse(JSON_CALLS, call(content)).tool_uses == [{"name": "f", "input": {}}]

    def test_no_offered_tool_is_not_the_same_as_unknown_tools(self) -> None:
        assert parse(JSON_CALLS, call(ONE), tools=None).issues == ()
        assert [issue.code for issue in parse(JSON_CALLS, call(ONE), tools=[]).issues] == ["undeclared_tool"]


def test_a_marker_of_a_call_in_a_call_or_a_closed_thought_is_no_warning() -> None:
    output = "<think>[TOOL]</think>" + call('{"name": "f", "arguments": {"s": "[TOOL]"}}')
    assert parse(JSON_CALLS, output).issues == ()


def test_the_json_form_is_the_contract_of_the_command_line() -> None:
    assert parse(JSON_CALLS, "a[TOOL]<end>").to_dict() == {
        "reasoning": "",
        "text": "a[TOOL]",
        "tool_uses": [],
        "ill_formed": False,
        "end_of_turn": True,
        "issues": [
            {
                "code": "looks_like_call",
                "severity": "warning",
                "start": 1,
                "end": 7,
                "message": "'[TOOL]' looks like a tool call, but no call was read here",
            }
        ],
        "segments": [{"kind": "text", "start": 0, "end": 7}, {"kind": "delimiter", "start": 7, "end": 12}],
    }
