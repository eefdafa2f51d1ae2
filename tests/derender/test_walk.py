"""The tiling: which characters of a turn are reasoning, text, call, delimiter or layout, and which are nobody's.

Each expected tiling is the raw output itself, cut by hand.
"""

from __future__ import annotations

import pytest

from derender.derender_schemas import (
    CALL_LISTS,
    JSON_CALLS,
    MESSAGES,
    TAG_CALLS,
    VERBATIM,
    findings,
    needs_call_lists,
    needs_response_template,
    schema,
    tiling,
)
from rgw.derender import Derenderer
from rgw.model import IssueCode, ParsedOutput
from rgw.registry.model import LayoutRules, Schema, TurnRules

pytestmark = needs_response_template

CALL = '{"name": "f", "arguments": {"a": 1}}'


def parse(schema: Schema, output: str, *, prompt: str = "") -> ParsedOutput:
    return Derenderer(schema).parse(output, prompt=prompt)


def assert_tiled(schema: Schema, *tiles: tuple[str, str], prompt: str = "") -> ParsedOutput:
    """Parse the tiles joined; they must come back as they were cut."""
    output = "".join(text for _, text in tiles)
    parsed = parse(schema, output, prompt=prompt)
    assert tiling(output, parsed) == list(tiles)
    return parsed


def test_a_whole_turn() -> None:
    parsed = assert_tiled(
        JSON_CALLS,
        ("delimiter", "<think>"),
        ("layout", "\n"),
        ("reasoning", "Hm.\n"),
        ("layout", "\n"),
        ("delimiter", "</think>"),
        ("layout", "\n"),
        ("text", "Looking."),
        ("layout", "\n"),
        ("delimiter", "<call>"),
        ("tool_call", CALL),
        ("delimiter", "</call>"),
        ("delimiter", "<end>"),
    )
    assert (parsed.reasoning, parsed.text) == ("Hm.\n", "Looking.")
    assert parsed.tool_uses == [{"name": "f", "input": {"a": 1}}]
    assert (parsed.ill_formed, parsed.end_of_turn, parsed.issues) == (False, True, ())


def test_an_empty_output_is_an_empty_turn() -> None:
    assert parse(JSON_CALLS, "") == ParsedOutput()


def test_a_part_that_opens_and_closes_on_nothing_is_passed_by() -> None:
    fields = {
        "content": {"open_pattern": r"\A|(?<=</t>)", "close_pattern": "(?=<call>)|<end>", "content": "text"},
        "tool_calls": {"open_pattern": r"<call>(?=\{)", "close": "</call>", "repeats": True, "content": "json"},
    }
    output = "<call>x</t><call>y"
    parsed = parse(schema("empty", fields), output)
    assert tiling(output, parsed) == [("unclaimed", "<call>x</t>"), ("unclaimed", "<call>y")]
    assert [text for _, _, text in findings(output, parsed)] == ["<call>x</t>", "<call>y"]


def test_text_is_the_whole_text_verbatim() -> None:
    parsed = assert_tiled(JSON_CALLS, ("text", "  a < b\n\n\tc \n"), ("delimiter", "<end>"))
    assert parsed.text == "  a < b\n\n\tc \n"


def test_text_on_both_sides_of_calls_is_kept_in_order() -> None:
    parsed = assert_tiled(
        JSON_CALLS,
        ("text", "A"),
        ("layout", "\n"),
        ("delimiter", "<call>"),
        ("tool_call", CALL),
        ("delimiter", "</call>"),
        ("text", "\nB"),
        ("delimiter", "<call>"),
        ("tool_call", CALL),
        ("delimiter", "</call>"),
        ("text", " C"),
    )
    assert parsed.text == "A\nB C"
    assert len(parsed.tool_uses) == 2


def test_white_space_around_a_value_is_layout_and_beside_a_call_it_is_text_unless_the_format_names_it() -> None:
    parsed = assert_tiled(
        JSON_CALLS,
        ("delimiter", "<call>"),
        ("layout", " \n"),
        ("tool_call", CALL),
        ("layout", "\n\n"),
        ("delimiter", "</call>"),
        ("text", "\t  "),
        ("layout", "\n"),
        ("delimiter", "<call>"),
        ("tool_call", CALL),
        ("delimiter", "</call>"),
        ("delimiter", "<end>"),
    )
    assert (parsed.text, len(parsed.tool_uses), parsed.issues) == ("\t  ", 2, ())


FENCED_CALLS = schema(
    "fenced_calls",
    {
        "tool_calls": {
            "open_pattern": r"<call>\n",
            "close_pattern": r"\r?\n```</call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close": "<end>", **VERBATIM},
    },
)
"""Calls whose closing delimiter begins with a line end."""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("space", ["", " ", "\n", "\r\n", " \n\t\n ", "\r"])
def test_white_space_before_a_line_end_that_is_the_delimiters_is_layout(space: str, line_end: str) -> None:
    output = f"<call>\n{CALL}{space}{line_end}```</call><end>"
    parsed = parse(FENCED_CALLS, output)
    assert parsed.tool_uses == [{"name": "f", "input": {"a": 1}}]
    assert not parsed.issues
    begin, end = output.index(CALL) + len(CALL), output.index("```")
    assert {segment.kind.value for segment in parsed.segments if begin <= segment.start < end} == {"layout"}


@pytest.mark.parametrize("space", ["", " ", "\n "])
def test_white_space_is_no_line_end(space: str) -> None:
    assert parse(FENCED_CALLS, f"<call>\n{CALL}{space}```</call><end>").ill_formed


def test_delimiters_inside_values_and_thoughts_are_no_delimiters() -> None:
    value = '{"name": "f", "arguments": {"a": "</call><think>"}}'
    parsed = assert_tiled(
        JSON_CALLS,
        ("delimiter", "<think>"),
        ("reasoning", f"Try <call>{CALL}</call>."),
        ("delimiter", "</think>"),
        ("delimiter", "<call>"),
        ("tool_call", value),
        ("delimiter", "</call>"),
    )
    assert parsed.tool_uses == [{"name": "f", "input": {"a": "</call><think>"}}]


def test_the_keys_and_values_of_inline_arguments_are_the_call() -> None:
    parsed = assert_tiled(
        TAG_CALLS,
        ("delimiter", "<call>"),
        ("tool_call", "f"),
        ("layout", "\n"),
        ("delimiter", "<arg="),
        ("tool_call", "city"),
        ("delimiter", ">\n"),
        ("tool_call", " Paris\n"),
        ("delimiter", "\n</arg>"),
        ("layout", "\n"),
        ("delimiter", "</call>"),
    )
    assert parsed.tool_uses == [{"name": "f", "input": {"city": " Paris\n"}}]


def test_messages_are_joined_and_only_layout_may_stand_between_them() -> None:
    parsed = assert_tiled(
        MESSAGES,
        ("delimiter", "<msg think>"),
        ("reasoning", "One."),
        ("delimiter", "</msg>"),
        ("layout", "\n"),
        ("delimiter", "<msg think>"),
        ("reasoning", " Two."),
        ("delimiter", "</msg>"),
        ("delimiter", "<msg call "),
        ("tool_call", "f"),
        ("delimiter", ">"),
        ("tool_call", "{}"),
        ("delimiter", "<stop>"),
        ("delimiter", "<msg say>"),
        ("text", "Done."),
        ("delimiter", "<end>"),
    )
    assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("One. Two.", "Done.", False)
    assert parsed.tool_uses == [{"name": "f", "input": {}}]


def test_layout_between_messages_is_what_the_schema_allows() -> None:
    strict = schema(
        "strict",
        {"content": {"open": "<msg say>", "close": "</msg>", **VERBATIM}},
        turn=TurnRules(),
        layout=LayoutRules(between_regions=r"\n?"),
    )
    assert not parse(strict, "<msg say>a</msg>\n<msg say>b</msg>").ill_formed
    assert parse(strict, "<msg say>a</msg>\n\n<msg say>b</msg>").ill_formed


@needs_call_lists
def test_a_list_of_calls_is_one_region() -> None:
    parsed = assert_tiled(
        CALL_LISTS,
        ("text", "Both."),
        ("delimiter", "<calls>"),
        ("tool_call", "[f(a='</calls>'), g()]"),
        ("delimiter", "</calls>"),
        ("delimiter", "<end>"),
    )
    assert parsed.tool_uses == [{"name": "f", "input": {"a": "</calls>"}}, {"name": "g", "input": {}}]


@needs_call_lists
def test_a_list_without_calls_is_said() -> None:
    parsed = assert_tiled(
        CALL_LISTS, ("text", "None."), ("delimiter", "<calls>"), ("tool_call", "[]"), ("delimiter", "</calls>")
    )
    assert parsed.tool_uses == []
    assert not parsed.ill_formed
    assert [(issue.code, issue.start, issue.end) for issue in parsed.issues] == [(IssueCode.EMPTY_CALL_LIST, 5, 22)]


@pytest.mark.parametrize(
    ("output", "ended"),
    [
        ('<call>{"name": "f", "name": "g"}</call><end>', True),
        ('<call>{"name": "f", "name": "g"}</call>', False),
        ('<call>{"name": "f", "argu<end>\n', True),
        ("a<end> b", True),
    ],
)
def test_a_turn_that_does_not_read_says_still_whether_it_ended(output: str, ended: bool) -> None:
    parsed = parse(JSON_CALLS, output)
    assert parsed.ill_formed
    assert parsed.end_of_turn is ended


class TestPrompt:
    def test_what_the_prompt_opened_is_continued(self) -> None:
        parsed = assert_tiled(
            JSON_CALLS,
            ("reasoning", "Hm."),
            ("layout", "\n"),
            ("delimiter", "</think>"),
            ("text", "Hi"),
            prompt="<bot><think>\n",
        )
        assert (parsed.reasoning, parsed.text) == ("Hm.", "Hi")

    def test_only_what_stands_behind_the_last_anchor_counts(self) -> None:
        parsed = parse(JSON_CALLS, "Hm.</think>Hi", prompt="<bot>Hello<end>\nyou: hm?\n<bot><think>\n")
        assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("Hm.", "Hi", False)

    def test_a_prompt_without_an_anchor_is_the_prefill_itself(self) -> None:
        assert parse(JSON_CALLS, "Hm.</think>Hi", prompt="<think>\n").reasoning == "Hm."

    def test_a_thought_that_the_prompt_closed_is_not_repeated(self) -> None:
        parsed = parse(JSON_CALLS, "Hi", prompt="<bot><think>\n\n</think>\n")
        assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("", "Hi", False)

    def test_a_thought_behind_one_that_the_prompt_closed_is_a_second_one(self) -> None:
        parsed = parse(JSON_CALLS, "<think>Hm.</think>Hi", prompt="<bot><think></think>")
        assert [issue.code for issue in parsed.issues] == [IssueCode.REPEATED_REASONING]
        assert parsed.ill_formed

    def test_without_a_prompt_the_usual_prefill_is_assumed(self) -> None:
        thinking = schema(
            "thinking", dict(JSON_CALLS.dialects["response_template"]["fields"]), turn=TurnRules(prefill="<think>\n")
        )
        parsed = Derenderer(thinking).parse("Hm.\n</think>\nHi")
        assert (parsed.reasoning, parsed.text) == ("Hm.", "Hi")
        assert Derenderer(thinking).parse("Hi", prompt="").text == "Hi"

    def test_an_output_that_repeats_the_anchor_is_read_behind_it(self) -> None:
        assert_tiled(JSON_CALLS, ("prefill", "<bot>"), ("text", "Hi"), ("delimiter", "<end>"))

    def test_text_that_the_prompt_began_is_not_counted_as_output(self) -> None:
        parsed = assert_tiled(JSON_CALLS, ("text", " world"), prompt="<bot>Hello")
        assert parsed.text == " world"

    def test_a_call_that_the_prompt_began_is_read_whole(self) -> None:
        parsed = assert_tiled(
            TAG_CALLS,
            ("tool_call", "ris"),
            ("delimiter", "</arg>"),
            ("delimiter", "</call>"),
            prompt="<bot><call>f<arg=city>Pa",
        )
        assert parsed.tool_uses == [{"name": "f", "input": {"city": "Paris"}}]


class TestEndOfTurn:
    @pytest.mark.parametrize("output", ["Hi<end>", "Hi<end>\n", f"<call>{CALL}</call><end>", "<end>"])
    def test_the_marker_is_told(self, output: str) -> None:
        parsed = parse(JSON_CALLS, output)
        assert (parsed.end_of_turn, parsed.ill_formed) == (True, False)

    @pytest.mark.parametrize("output", ["Hi", f"<call>{CALL}</call>", "", "Hi<en"])
    def test_its_absence_is_told_and_is_no_fault(self, output: str) -> None:
        parsed = parse(JSON_CALLS, output)
        assert (parsed.end_of_turn, parsed.ill_formed) == (False, False)

    @pytest.mark.parametrize("rest", ["more", "<end>", f"<call>{CALL}</call>", "<bot>Hi"])
    def test_nothing_may_follow_it(self, rest: str) -> None:
        output = f"Hi<end>\n{rest}"
        parsed = parse(JSON_CALLS, output)
        assert findings(output, parsed) == [("text_after_end_of_turn", "error", rest)]
        assert (parsed.text, parsed.tool_uses) == (output, [])
        assert tiling(output, parsed) == [
            ("text", "Hi"),
            ("delimiter", "<end>"),
            ("layout", "\n"),
            ("unclaimed", rest),
        ]

    def test_a_resumable_marker_lets_the_turn_go_on(self) -> None:
        parsed = parse(MESSAGES, "<msg call f>{}<stop><msg call g>{}<stop>")
        assert [use["name"] for use in parsed.tool_uses] == ["f", "g"]
        assert (parsed.end_of_turn, parsed.ill_formed) == (True, False)

    def test_a_turn_that_went_on_behind_a_resumable_marker_has_not_ended(self) -> None:
        assert not parse(MESSAGES, "<msg call f>{}<stop><msg think>hm</msg>").end_of_turn
        assert not parse(MESSAGES, "<msg call f>{}<stop><msg say>hm").end_of_turn

    def test_a_thought_that_the_end_of_turn_cut_off_does_not_hold_the_marker(self) -> None:
        parsed = assert_tiled(JSON_CALLS, ("delimiter", "<think>"), ("reasoning", "Hm"), ("delimiter", "<end>"))
        assert (parsed.reasoning, parsed.end_of_turn, parsed.ill_formed) == ("Hm", True, True)


class TestCutOff:
    @pytest.mark.parametrize(
        "call",
        [
            "<call>",
            "<call>{",
            '<call>{"name": "f", "arguments": {"a": "</call>", "b": 1.',
            f"<call>{CALL}",
            f"<call>{CALL}\n",
            f"<call>{CALL}</cal",
        ],
    )
    def test_a_call_that_is_not_closed_is_unclosed_whatever_its_content(self, call: str) -> None:
        output = f"A\n<call>{CALL}</call>\n{call}"
        parsed = parse(JSON_CALLS, output)
        assert findings(output, parsed) == [("unclosed_call", "error", f"\n{call}")]
        assert (parsed.text, parsed.tool_uses, parsed.ill_formed) == (output, [], True)

    @pytest.mark.parametrize(
        "call", ["<call>f<arg=a>1", "<call>f<arg=a>1</arg>", "<call>f<arg", "<call>f", "<call>f<arg=a>1</arg>\n</ca"]
    )
    def test_an_argument_that_was_cut_is_no_argument(self, call: str) -> None:
        parsed = parse(TAG_CALLS, call)
        assert findings(call, parsed) == [("unclosed_call", "error", call)]

    def test_an_opener_that_was_cut_behind_its_first_delimiter_is_a_cut_call(self) -> None:
        output = "Hi\n<call>"
        parsed = parse(TAG_CALLS, output)
        assert findings(output, parsed) == [("unclosed_call", "error", "\n<call>")]

    def test_what_the_end_of_the_text_closed_is_still_told_from_what_a_marker_closed(self) -> None:
        assert findings("<think>Hm", parse(JSON_CALLS, "<think>Hm")) == [("unclosed_reasoning", "error", "Hm")]
        assert parse(JSON_CALLS, "<think>Hm</think>").issues == ()


def test_a_tolerated_deviation_is_read_and_told() -> None:
    lenient = schema(
        "lenient",
        {
            "tool_calls": {
                "open_pattern": r"<call>(?P<deviation_without_a_colon>)?:?",
                "close": "</call>",
                "content": "json",
                "repeats": True,
                "transform": {"type": "function", "function": "{content}"},
            },
            "content": {"close": "<end>", **VERBATIM},
        },
    )
    parsed = parse(lenient, f"<call>{CALL}</call>")
    assert [(issue.code, issue.severity) for issue in parsed.issues] == [("tolerated_delimiter", "warning")]
    assert "without a colon" in parsed.issues[0].message
    assert parsed.tool_uses == [{"name": "f", "input": {"a": 1}}]


BEHIND_A_LINE_END = schema(
    "behind_a_line_end", {"content": {"close": "<end>", **VERBATIM}}, layout=LayoutRules(turn_start="\\n?")
)


def test_white_space_at_the_start_of_a_turn_is_layout_where_the_schema_says_so() -> None:
    assert_tiled(BEHIND_A_LINE_END, ("layout", "\n"), ("text", "\nHi\n"), ("delimiter", "<end>"))
    assert_tiled(BEHIND_A_LINE_END, ("text", "Hi"), ("delimiter", "<end>"))


def test_white_space_behind_what_the_prompt_wrote_is_not_at_the_start_of_the_turn() -> None:
    assert_tiled(BEHIND_A_LINE_END, ("text", "\nHi"), ("delimiter", "<end>"), prompt="<bot>So: ")


@needs_call_lists
def test_a_second_list_of_calls_is_read_and_told() -> None:
    output = "<calls>[f(a=1)]</calls><calls>[g()]</calls><end>"
    parsed = parse(CALL_LISTS, output)
    assert [use["name"] for use in parsed.tool_uses] == ["f", "g"]
    assert findings(output, parsed) == [("tolerated_delimiter", "warning", "<calls>[g()]</calls>")]
