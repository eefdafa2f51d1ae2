"""The legacy engine: the same account of a turn, from the spans of the schema's own regular expressions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derender.derender_schemas import findings, tiling
from rgw.derender import CutCall, Derenderer, Policy
from rgw.derender.engines import transformers_version
from rgw.errors import EngineError, RegistryError
from rgw.model import ParsedOutput, SegmentKind
from rgw.registry.loader import load_registry
from rgw.registry.model import Dialect, Origin, Schema, TurnRules

if transformers_version() >= (5, 15):
    pytest.skip("transformers 5.15 and newer have no engine for the legacy dialect", allow_module_level=True)

from rgw.derender.response_schema import ResponseSchemaEngine

REGISTERED = {
    name: schema for name, schema in load_registry().schemas.items() if Dialect.RESPONSE_SCHEMA in schema.dialects
}
TURN = TurnRules(end=("<end>",), reserved=("<call>", "</call>"))


@pytest.fixture(autouse=True)
def _legacy_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with the legacy engine where transformers has both."""
    monkeypatch.setattr("rgw.derender.derenderer.engine_for", lambda schema, _: ResponseSchemaEngine(schema))


def schema(dialect: Mapping[str, Any], turn: TurnRules = TURN) -> Schema:
    """A schema whose turns begin behind `<bot>`; only its other dialect can say so."""
    dialects = {
        Dialect.RESPONSE_SCHEMA: dialect,
        Dialect.RESPONSE_TEMPLATE: {"start_anchor": "<bot>", "fields": {}},
    }
    return Schema(name="small", title="small", origin=Origin("rgw"), dialects=dialects, turn=turn)


def small(
    item: Mapping[str, Any],
    *,
    iterator: str = r"<call>(?P<function>.*?)</call>",
    extra: Mapping[str, Any] | None = None,
) -> Schema:
    """Text, then calls `<call>…</call>` that `item` reads, then `<end>`."""
    return schema(
        {
            "x-regex": r"\A(?P<content>[^<]*)(?P<tool_calls><call>.*</call>)?(?:<end>)?",
            "type": "object",
            "properties": {
                "role": {"const": "assistant"},
                "content": {"type": "string"},
                "tool_calls": {"type": "array", "x-regex-iterator": iterator, "items": item},
                **(extra or {}),
            },
        }
    )


JSON_CALLS = small({"type": "object", "properties": {"function": {"x-parser": "json"}}})
FUNCTION_WITH_PAIRS = {
    "type": "object",
    "x-regex": r"\A(?P<name>\w+):(?P<arguments>.*)",
    "properties": {
        "name": {"type": "string"},
        "arguments": {"type": "object", "x-regex-key-value": r"\[(?P<key>\w+)=(?P<value>[^\]]*)\]"},
    },
}
PAIR_CALLS = small({"type": "object", "properties": {"function": FUNCTION_WITH_PAIRS}})


def parse(schema: Schema, output: str, *, prompt: str = "", policy: Policy | None = None) -> ParsedOutput:
    return Derenderer(schema, policy=policy).parse(output, prompt=prompt)


def assert_tiled(schema: Schema, *tiles: tuple[str, str], prompt: str = "") -> ParsedOutput:
    """Parse the tiles joined; they must come back as they were cut."""
    output = "".join(text for _, text in tiles)
    parsed = parse(schema, output, prompt=prompt)
    assert tiling(output, parsed) == list(tiles)
    return parsed


class TestAccount:
    def test_groups_are_fields_and_the_rest_of_a_match_is_delimiter(self) -> None:
        parsed = assert_tiled(
            JSON_CALLS,
            ("text", "Hi "),
            ("delimiter", "<call>"),
            ("layout", "\n"),
            ("tool_call", '{"name": "f", "arguments": {"a": 1}}'),
            ("layout", " "),
            ("delimiter", "</call>"),
            ("layout", "\n \n"),
            ("delimiter", "<call>"),
            ("tool_call", '{"name": "g"}'),
            ("delimiter", "</call>"),
            ("delimiter", "<end>"),
            ("layout", "\n"),
        )
        assert (parsed.text, parsed.ill_formed, parsed.end_of_turn, parsed.issues) == ("Hi ", False, True, ())
        assert parsed.tool_uses == [{"name": "f", "input": {"a": 1}}, {"name": "g", "input": {}}]

    def test_keys_and_values_without_types_are_the_call(self) -> None:
        parsed = assert_tiled(
            PAIR_CALLS,
            ("delimiter", "<call>"),
            ("tool_call", "f"),
            ("delimiter", ":"),
            ("layout", "\n"),
            ("delimiter", "["),
            ("tool_call", "city"),
            ("delimiter", "="),
            ("tool_call", " Paris\n"),
            ("delimiter", "]"),
            ("layout", " "),
            ("delimiter", "["),
            ("tool_call", "days"),
            ("delimiter", "="),
            ("tool_call", "3"),
            ("delimiter", "]"),
            ("layout", "\n"),
            ("delimiter", "</call>"),
        )
        assert parsed.tool_uses == [{"name": "f", "input": {"city": " Paris\n", "days": 3}}]

    def test_the_tools_of_the_request_type_the_values(self) -> None:
        tool = {"name": "f", "parameters": {"properties": {"code": {"type": "string"}, "days": {"type": "integer"}}}}
        parsed = Derenderer(PAIR_CALLS).parse("<call>f:[code=02139][days=3]</call>", tools=[tool])
        assert parsed.tool_uses == [{"name": "f", "input": {"code": "02139", "days": 3}}]

    def test_a_value_that_does_not_fit_is_pointed_at_in_the_output(self) -> None:
        tool = {"name": "f", "parameters": {"properties": {"days": {"type": "integer"}}}}
        output = "ys=soon]</call>"
        parsed = Derenderer(PAIR_CALLS).parse(output, prompt="<bot><call>f:[da", tools=[tool])
        assert findings(output, parsed) == [("argument_type", "warning", "soon")]

    def test_what_the_pattern_does_not_match_is_nobodys(self) -> None:
        output = "Hi<x>more"
        parsed = parse(JSON_CALLS, output)
        assert findings(output, parsed) == [("unclaimed_text", "error", "<x>more")]
        assert tiling(output, parsed) == [("text", "Hi"), ("unclaimed", "<x>more")]
        assert (parsed.text, parsed.ill_formed) == (output, True)

    def test_no_match_at_all_leaves_everything_to_nobody(self) -> None:
        strict = schema({"x-regex": r"\AA(?P<content>.*)", "type": "object", "properties": {"content": {}}})
        assert tiling("B", parse(strict, "B")) == [("unclaimed", "B")]
        assert findings("B", parse(strict, "B")) == [("unclaimed_text", "error", "B")]

    def test_what_stands_before_the_match_is_nobodys_either(self) -> None:
        late = schema({"x-regex": r"A(?P<content>.*)", "type": "object", "properties": {"content": {}}})
        assert tiling("xAb", parse(late, "xAb")) == [("unclaimed", "x"), ("delimiter", "A"), ("text", "b")]
        assert parse(late, "xAb").ill_formed

    def test_only_white_space_may_stand_between_calls(self) -> None:
        output = '<call>{"name": "f"}</call> and <call>{"name": "g"}</call>'
        parsed = parse(JSON_CALLS, output)
        assert findings(output, parsed) == [("unclaimed_text", "error", 'and <call>{"name": "g"}</call>')]

    def test_a_group_named_like_an_issue_code_says_what_is_wrong(self) -> None:
        spoken = schema(
            {
                "x-regex": r"\A(?P<content>[^<]*)(?P<unclosed_call><call>.*)?",
                "type": "object",
                "properties": {"content": {"type": "string"}},
            }
        )
        assert findings("Hi<call>{", parse(spoken, "Hi<call>{")) == [("unclosed_call", "error", "<call>{")]
        kept = parse(spoken, "Hi<call>{", policy=Policy(cut_call=CutCall.KEEP_COMPLETE))
        assert (kept.text, kept.ill_formed) == ("Hi", False)

    def test_text_after_the_calls_has_a_group_of_its_own(self) -> None:
        both = schema(
            {
                "x-regex": r"\A(?P<content>[^<]*)(?P<tool_calls><call>.*</call>)(?P<text_after_call>[^<]*)",
                "type": "object",
                "properties": JSON_CALLS.dialects[Dialect.RESPONSE_SCHEMA]["properties"],
            }
        )
        output = 'A<call>{"name": "f"}</call>B'
        parsed = parse(both, output)
        assert (parsed.text, len(parsed.tool_uses)) == ("AB", 1)
        assert findings(output, parsed) == [("text_after_call", "warning", "B")]

    def test_a_delimiter_in_the_text_is_stray(self) -> None:
        loose = schema({"x-regex": r"\A(?P<content>.*)", "type": "object", "properties": {"content": {}}})
        assert findings("a</call>b", parse(loose, "a</call>b")) == [("stray_delimiter", "error", "</call>")]

    def test_groups_that_overlap_leave_no_account(self) -> None:
        nested = schema(
            {
                "x-regex": r"\A(?P<content>a(?P<reasoning>b))",
                "type": "object",
                "properties": {"content": {}, "reasoning": {}},
            }
        )
        parsed = parse(nested, "ab")
        assert findings("ab", parsed) == [("engine_failure", "error", "ab")]
        assert "'content' and 'reasoning'" in parsed.issues[0].message


class TestFaultsOfCalls:
    @pytest.mark.parametrize(
        ("body", "code", "place"),
        [
            ('{"name": "f"} {"name": "g"}', "several_calls", "{"),
            ('{"name": "f"} x', "invalid_arguments", "x"),
            ('{"name": "f", "arguments": {"a": 1, "a": 2}}', "duplicate_key", "{"),
            ('{"name": "f", "arguments": {"a": NaN}}', "nonstandard_constant", "N"),
            ('{"name": "f", "arguments": {"a": 1,}}', "invalid_json", "}"),
            ('{"name": "f", "arguments": ' + "[" * 101 + "]" * 101 + "}", "too_deep", "{"),
            ("[" * 100_000, "too_deep", "["),
            ('{"name": "f", "arguments": {"a": ' + "7" * 5000 + "}}", "oversized_number", "7"),
            ('{"name": "f", "extra": 1}', "invalid_call", "<"),
            ("", "invalid_json", "<"),
        ],
    )
    def test_json(self, body: str, code: str, place: str) -> None:
        output = f"Hi<call>{body}</call>"
        parsed = parse(JSON_CALLS, output)
        assert findings(output, parsed) == [(code, "error", place)]
        assert (parsed.text, parsed.tool_uses) == (output, [])
        assert tiling(output, parsed) == [("text", "Hi"), ("unclaimed", f"<call>{body}</call>")]

    @pytest.mark.parametrize(
        ("body", "code", "place"),
        [
            ("f:[a=1] x [b=2]", "missing_tag", " "),
            ("f:[a=1", "missing_tag", "["),
            ("f:[a=1][a=2]", "repeated_parameter", "["),
            ("f", "missing_tag", "f"),
            ("-:[a=1]", "missing_tag", "-"),
        ],
    )
    def test_inline_arguments(self, body: str, code: str, place: str) -> None:
        output = f"<call>{body}</call>"
        assert findings(output, parse(PAIR_CALLS, output)) == [(code, "error", place)]

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ('{"arguments": {}}', "invalid_name"),
            ('{"name": 7}', "invalid_name"),
            ('{"name": "f", "arguments": "{}"}', "double_encoded_arguments"),
            ('{"name": "f", "arguments": [1]}', "invalid_arguments"),
        ],
    )
    def test_what_reads_but_is_no_call(self, body: str, code: str) -> None:
        output = f"<call>{body}</call>"
        assert findings(output, parse(JSON_CALLS, output)) == [(code, "error", output)]

    def test_an_unreadable_call_that_runs_to_the_end_is_cut_off(self) -> None:
        bare = schema(
            {
                "x-regex": r"\A(?P<tool_calls>\{[^<]*)(?:<end>)?",
                "type": "object",
                "properties": {
                    "tool_calls": {
                        "type": "array",
                        "x-regex-iterator": "(?P<function>.+)",
                        "items": {"type": "object", "properties": {"function": {"x-parser": "json"}}},
                    }
                },
            }
        )
        assert findings('{"name"', parse(bare, '{"name"')) == [("unclosed_call", "error", '{"name"')]
        assert findings('{"name"<end>', parse(bare, '{"name"<end>'))[0][0] == "invalid_json"
        assert parse(bare, '{"name": "f"}').tool_uses == [{"name": "f", "input": {}}]


class TestPrompt:
    THINKING = schema(
        {
            "x-regex": r"\A(?:<think>(?P<thinking>.*?)(?:</think>|\Z))?(?P<content>[^<]*)(?:<end>)?",
            "type": "object",
            "properties": {"thinking": {"type": "string"}, "content": {"type": "string"}},
        },
        TurnRules(end=("<end>",), prefill="<think>"),
    )

    def test_what_the_prompt_opened_is_continued(self) -> None:
        parsed = assert_tiled(
            self.THINKING,
            ("reasoning", "Hm."),
            ("delimiter", "</think>"),
            ("text", "Hi"),
            prompt="you: <bot>Hello<end><bot><think>",
        )
        assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("Hm.", "Hi", False)

    def test_without_a_prompt_the_usual_prefill_is_assumed(self) -> None:
        assert Derenderer(self.THINKING).parse("Hm.</think>Hi").reasoning == "Hm."
        assert Derenderer(self.THINKING).parse("Hi", prompt="").text == "Hi"

    def test_a_thought_that_the_prompt_closed_is_not_repeated(self) -> None:
        parsed = parse(self.THINKING, "Hi", prompt="<bot><think>No.</think>")
        assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("", "Hi", False)

    def test_text_that_the_prompt_began_is_not_counted_as_output(self) -> None:
        assert assert_tiled(self.THINKING, ("text", " world"), prompt="<bot>Hello").text == " world"

    def test_an_output_that_repeats_the_anchor_is_read_behind_it(self) -> None:
        parsed = assert_tiled(
            self.THINKING,
            ("prefill", "<bot>"),
            ("delimiter", "<think>"),
            ("reasoning", "Hm."),
            ("delimiter", "</think>"),
            ("text", "Hi"),
        )
        assert parsed.reasoning == "Hm."

    def test_a_cut_thought_stays_a_thought(self) -> None:
        parsed = parse(self.THINKING, "Hm", prompt="<bot><think>")
        assert findings("Hm", parsed) == [("unclosed_reasoning", "error", "Hm")]
        assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("Hm", "", True)

    def test_the_end_of_turn_does_not_belong_to_a_cut_thought(self) -> None:
        parsed = assert_tiled(self.THINKING, ("reasoning", "Hm"), ("delimiter", "<end>"), prompt="<bot><think>")
        assert (parsed.reasoning, parsed.end_of_turn, parsed.ill_formed) == ("Hm", True, True)

    def test_without_an_anchor_only_the_usual_prefill_is_looked_for(self) -> None:
        legacy = self.THINKING.dialects[Dialect.RESPONSE_SCHEMA]
        unanchored = replace(self.THINKING, dialects={Dialect.RESPONSE_SCHEMA: legacy})
        assert parse(unanchored, "Hm.</think>Hi", prompt="user: hello<think>").reasoning == "Hm."
        assert parse(unanchored, "Hi", prompt="user: hello").text == "Hi"


class TestConstruction:
    @pytest.mark.parametrize(
        ("schema", "complaint"),
        [
            (
                schema({"x-regex": "(?P<content>.*)", "x-regex-substitutions": [["a", "b"]], "properties": {}}),
                "response_schema: x-regex-substitutions cannot be accounted for",
            ),
            (small({"x-regex-substitutions": [["a", "b"]]}), "tool_calls.items: x-regex-substitutions"),
            (small({"prefixItems": [{}]}), "tool_calls.items: prefixItems"),
            (schema({"type": "object", "properties": {"content": {"x-regex": "(.*)"}}}), "needs an x-regex"),
            (schema({"x-regex": "(.*)", "properties": {}}), "named group for each field"),
            (schema({"x-regex": "(?P<answer>.*)", "properties": {}}), "must be properties or issue codes"),
            (schema({"x-regex": "(?P<content>", "properties": {"content": {}}}), "not a regular expression"),
            (small({}, extra={"answer": {"type": "string"}}), "field 'answer' is no part of a turn"),
            (small({}, iterator="<call>.*</call>"), "needs exactly one"),
            (small({"type": "object"}, iterator="(.+)"), "has neither a pattern with named groups nor a parser"),
            (
                small({"type": "object", "properties": {"name": {"x-regex": "(.)"}}}, iterator="(.+)"),
                "has neither a pattern with named groups nor a parser",
            ),
            (small({"additionalProperties": False}), "has no property 'function'"),
            (small({"properties": {"function": {"x-parser": "yaml"}}}), "unknown x-parser 'yaml'"),
            (
                small({"properties": {"function": {"x-parser": "json", "x-parser-args": {"transform": "{a: b}"}}}}),
                "what it leaves is lost",
            ),
            (
                small({"properties": {"function": {"x-parser": "json", "x-parser-args": {"transform": "{"}}}}),
                "not JMESPath",
            ),
            (small({"properties": {"function": {"x-regex-key-value": "(?P<key>.)"}}}), "named groups key and value"),
        ],
    )
    def test_what_leaves_no_spans_is_refused(self, schema: Schema, complaint: str) -> None:
        with pytest.raises(RegistryError) as refused:
            ResponseSchemaEngine(schema)
        assert complaint in refused.value.message
        assert "small" in refused.value.message
        assert "\n" not in refused.value.message

    def test_a_transformers_without_the_engine_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "transformers.utils.chat_parsing_utils", None)
        with pytest.raises(EngineError, match="does not read the response_schema dialect"):
            ResponseSchemaEngine(JSON_CALLS)

    def test_a_transform_that_only_wraps_is_applied(self) -> None:
        wrapped = small(
            {"x-parser": "json", "x-parser-args": {"transform": "{type: 'function', function: @}"}, "type": "object"},
            iterator=r"<call>(.*?)</call>",
        )
        parsed = parse(wrapped, '<call>{"name": "f", "arguments": {"a": 1}}</call>')
        assert (parsed.tool_uses, parsed.issues) == ([{"name": "f", "input": {"a": 1}}], ())


class TestEngineOfRecord:
    """transformers' own parser reads every turn that the account finds nothing wrong with."""

    OUTPUT = 'Hi<call>{"name": "f", "arguments": {"a": 1}}</call>'

    @pytest.mark.parametrize(
        "message",
        [
            None,
            {"content": "Hi"},
            {"content": "Hi", "tool_calls": [{"function": {"name": "g", "arguments": {"a": 1}}}]},
            {"content": "Hi", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 2}}}]},
            {"content": "Hi", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1, "b": 1}}}]},
            {"content": "Ho", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
            {"content": "Hi", "tool_calls": ["f"]},
        ],
    )
    def test_a_difference_is_an_engine_failure(self, message: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("transformers.utils.chat_parsing_utils.recursive_parse", lambda *_: message)
        parsed = parse(JSON_CALLS, self.OUTPUT)
        assert findings(self.OUTPUT, parsed) == [("engine_failure", "error", self.OUTPUT)]
        assert parsed.text == self.OUTPUT

    def test_what_it_raises_is_an_engine_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any) -> None:
            raise RecursionError

        monkeypatch.setattr("transformers.utils.chat_parsing_utils.recursive_parse", fail)
        assert [issue.code for issue in parse(JSON_CALLS, self.OUTPUT).issues] == ["engine_failure"]

    def test_types_are_no_difference(self, monkeypatch: pytest.MonkeyPatch) -> None:
        message = {"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1, "b": "x", "c": "y"}}}]}
        monkeypatch.setattr("transformers.utils.chat_parsing_utils.recursive_parse", lambda *_: message)
        assert parse(PAIR_CALLS, '<call>f:[a=1][b=x][c="y"]</call>').issues == ()


WHOLE_TURNS: dict[str, list[tuple[str, str]]] = {
    "qwen3": [
        ("delimiter", "<think>"),
        ("layout", "\n"),
        ("reasoning", "Try <tool_call>.\n"),
        ("layout", "\n"),
        ("delimiter", "</think>"),
        ("layout", "\n\n"),
        ("text", "\nLooking.\n"),
        ("layout", "\n"),
        ("delimiter", "<tool_call>"),
        ("layout", "\n"),
        ("tool_call", '{"name": "run-code", "arguments": {"a": "</tool_call>"}}'),
        ("layout", "\n"),
        ("delimiter", "</tool_call>"),
        ("layout", "\n"),
        ("delimiter", "<tool_call>"),
        ("tool_call", '{"name": "f", "arguments": {}}'),
        ("delimiter", "</tool_call>"),
        ("delimiter", "<|im_end|>"),
    ],
    "qwen3_5": [
        ("delimiter", "<think>"),
        ("layout", "\n"),
        ("reasoning", "Hm."),
        ("layout", "\n"),
        ("delimiter", "</think>"),
        ("layout", "\n\n"),
        ("text", "Looking."),
        ("layout", "\n\n"),
        ("delimiter", "<tool_call>"),
        ("layout", "\n"),
        ("delimiter", "<function="),
        ("tool_call", "run-code"),
        ("delimiter", ">"),
        ("layout", "\n"),
        ("delimiter", "<parameter="),
        ("tool_call", "a"),
        ("delimiter", ">"),
        ("layout", "\n"),
        ("tool_call", "\n  </parameter> of </tool_call>\n"),
        ("layout", "\n"),
        ("delimiter", "</parameter>"),
        ("layout", "\n"),
        ("delimiter", "</function>"),
        ("layout", "\n"),
        ("delimiter", "</tool_call>"),
        ("layout", "\n"),
        ("delimiter", "<tool_call>"),
        ("layout", "\n"),
        ("delimiter", "<function="),
        ("tool_call", "f"),
        ("delimiter", ">\n</function>"),
        ("layout", "\n"),
        ("delimiter", "</tool_call>"),
        ("delimiter", "<|im_end|>"),
    ],
    "glm4_moe": [
        ("layout", "\n"),
        ("delimiter", "<think>"),
        ("reasoning", "\nHm."),
        ("delimiter", "</think>"),
        ("layout", "\n"),
        ("text", "Looking."),
        ("layout", "\n"),
        ("delimiter", "<tool_call>"),
        ("tool_call", "run-code"),
        ("layout", "\n"),
        ("delimiter", "<arg_key>"),
        ("tool_call", "a"),
        ("delimiter", "</arg_key>\n<arg_value>"),
        ("tool_call", "\n  </arg_value> of </tool_call>\n"),
        ("delimiter", "</arg_value>"),
        ("layout", "\n"),
        ("delimiter", "</tool_call>"),
        ("layout", "\n"),
        ("delimiter", "<tool_call>"),
        ("tool_call", "f"),
        ("layout", "\n"),
        ("delimiter", "</tool_call>"),
        ("delimiter", "<|observation|>"),
    ],
    "gpt_oss": [
        ("delimiter", "<|channel|>analysis<|message|>"),
        ("reasoning", "Hm."),
        ("delimiter", "<|end|><|start|>assistant<|channel|>commentary<|message|>"),
        ("text", "Looking."),
        ("delimiter", "<|end|><|start|>assistant"),
        ("layout", " "),
        ("delimiter", "to=functions."),
        ("tool_call", "run-code"),
        ("delimiter", "<|channel|>commentary json<|message|>"),
        ("tool_call", '{"a": "<|call|>"}'),
        ("delimiter", "<|call|><|start|>assistant"),
        ("delimiter", "<|channel|>commentary to=functions."),
        ("tool_call", "f"),
        ("layout", " "),
        ("delimiter", "<|constrain|>json<|message|>"),
        ("tool_call", "{}"),
        ("delimiter", "<|call|>"),
    ],
    "llama3": [
        ("text", 'See {"a": 1}: '),
        ("delimiter", '{"name": "'),
        ("tool_call", "run-code"),
        ("delimiter", '", "parameters":'),
        ("layout", " "),
        ("tool_call", '{"a": "}<|eot_id|>"}'),
        ("delimiter", "}"),
        ("delimiter", "<|eot_id|>"),
    ],
}
WHOLE_TURNS["nemotron_3"] = [
    *WHOLE_TURNS["qwen3_5"][:5],
    ("layout", "\n"),
    ("text", "Looking.\n"),
    ("layout", "\n"),
    *WHOLE_TURNS["qwen3_5"][8:-1],
    ("layout", "\n"),
    ("delimiter", "<|im_end|>"),
]
VALUES = {
    "qwen3": "</tool_call>",
    "qwen3_5": "\n  </parameter> of </tool_call>\n",
    "nemotron_3": "\n  </parameter> of </tool_call>\n",
    "glm4_moe": "\n  </arg_value> of </tool_call>\n",
    "gpt_oss": "<|call|>",
    "llama3": "}<|eot_id|>",
}
TAGGED = ("glm4_moe", "nemotron_3", "qwen3", "qwen3_5")
"""Those whose thoughts and calls stand between tags."""


def whole(name: str) -> str:
    return "".join(text for _, text in WHOLE_TURNS[name])


def both_calls(name: str) -> str:
    """The two calls of the whole turn, without what stands before and behind them."""
    first = whole(name).index("\n<tool_call>", whole(name).index("Looking."))
    return whole(name)[first:].removesuffix(WHOLE_TURNS[name][-1][1]).strip()


class TestRegisteredSchemas:
    def test_every_registered_legacy_dialect_is_specified_here(self) -> None:
        assert REGISTERED.keys() == WHOLE_TURNS.keys()

    @pytest.mark.parametrize("name", sorted(WHOLE_TURNS))
    def test_a_whole_turn(self, name: str) -> None:
        parsed = assert_tiled(REGISTERED[name], *WHOLE_TURNS[name])
        expected = [{"name": "run-code", "input": {"a": VALUES[name]}}]
        if name != "llama3":
            expected.append({"name": "f", "input": {}})
        assert parsed.tool_uses == expected
        for field, kind in ((parsed.reasoning, "reasoning"), (parsed.text, "text")):
            assert field == "".join(text for tile, text in WHOLE_TURNS[name] if tile == kind)
        assert (parsed.ill_formed, parsed.end_of_turn, parsed.issues) == (False, True, ())

    @pytest.mark.parametrize("name", sorted(WHOLE_TURNS))
    def test_the_samples_are_read(self, name: str) -> None:
        for sample in REGISTERED[name].samples:
            parsed = Derenderer(REGISTERED[name]).parse(sample.output, prompt=sample.prompt, tools=sample.tools or None)
            read = {"reasoning": parsed.reasoning, "text": parsed.text, "tool_uses": parsed.tool_uses}
            assert read == {"reasoning": "", "text": "", "tool_uses": [], **sample.expected}, sample.title
            assert not parsed.ill_formed

    @pytest.mark.parametrize("name", sorted(WHOLE_TURNS))
    def test_an_answer_alone_is_verbatim(self, name: str) -> None:
        answer = "  1 < 2 && {a: 'b'}\n\n\t"
        opener, end = ("<|channel|>final<|message|>", "<|return|>") if name == "gpt_oss" else ("", "")
        parsed = parse(REGISTERED[name], f"{opener}{answer}{end}")
        assert (parsed.text, parsed.reasoning, parsed.tool_uses, parsed.issues) == (answer, "", [], ())

    @pytest.mark.parametrize("name", sorted(WHOLE_TURNS))
    def test_nothing_may_follow_the_end_of_the_turn(self, name: str) -> None:
        output = f"{whole(name)}\nmore"
        assert findings(output, parse(REGISTERED[name], output)) == [("text_after_end_of_turn", "error", "more")]

    @pytest.mark.parametrize("name", sorted(WHOLE_TURNS.keys() - {"llama3"}))
    def test_a_cut_thought_stays_a_thought(self, name: str) -> None:
        opener = "<|channel|>analysis<|message|>" if name == "gpt_oss" else "<think>"
        output = f"{opener}Hm. <"
        parsed = parse(REGISTERED[name], output)
        assert findings(output, parsed) == [("unclosed_reasoning", "error", "Hm. <")]
        assert (parsed.reasoning, parsed.text) == ("Hm. <", "")

    @pytest.mark.parametrize("name", sorted(WHOLE_TURNS.keys() - {"llama3"}))
    def test_a_second_thought_is_told(self, name: str) -> None:
        opener, closer = ("<|channel|>analysis<|message|>", "<|end|>") if name == "gpt_oss" else ("<think>", "</think>")
        output = f"{opener}a{closer}{opener}c{closer}"
        assert [issue.code for issue in parse(REGISTERED[name], output).issues] == ["repeated_reasoning"]

    @pytest.mark.parametrize("name", TAGGED)
    def test_text_after_the_calls_is_text(self, name: str) -> None:
        output = f"A\n{both_calls(name)}\n\nB\n{REGISTERED[name].turn.end[0]}"
        behind = "\nB\n" if name == "nemotron_3" else "\n\nB\n"
        parsed = parse(REGISTERED[name], output)
        assert (parsed.text, len(parsed.tool_uses), parsed.ill_formed) == (f"A{behind}", 2, False)
        assert findings(output, parsed) == [("text_after_call", "warning", behind)]

    @pytest.mark.parametrize("name", TAGGED)
    def test_white_space_beside_the_calls_is_text_too(self, name: str) -> None:
        parsed = parse(REGISTERED[name], f"\n\n \n{both_calls(name)}\n \n")
        behind = " \n" if name == "nemotron_3" else "\n \n"
        assert (parsed.text, len(parsed.tool_uses), parsed.issues) == (f"\n\n {behind}", 2, ())

    @pytest.mark.parametrize("name", TAGGED)
    def test_text_between_calls_cannot_be_expressed_and_is_told(self, name: str) -> None:
        output = both_calls(name).replace("</tool_call>\n<tool_call>", "</tool_call>B<tool_call>")
        codes = [issue.code for issue in parse(REGISTERED[name], output).issues]
        assert codes == ["text_after_call", "unclaimed_text"]

    @pytest.mark.parametrize("name", TAGGED)
    def test_white_space_between_calls_is_layout_since_it_cannot_be_text(self, name: str) -> None:
        output = both_calls(name).replace("</tool_call>\n<tool_call>", "</tool_call>\n\n \n<tool_call>")
        parsed = parse(REGISTERED[name], output)
        assert (parsed.text, len(parsed.tool_uses), parsed.issues) == ("", 2, ())

    @pytest.mark.parametrize("name", TAGGED)
    def test_white_space_before_a_thought_is_layout_since_it_cannot_be_text(self, name: str) -> None:
        assert_tiled(
            REGISTERED[name],
            ("layout", "\n \n"),
            ("delimiter", "<think>"),
            ("reasoning", "Hm."),
            ("delimiter", "</think>"),
            ("text", "Hi"),
        )

    @pytest.mark.parametrize("name", TAGGED)
    def test_text_before_a_thought_cannot_be_expressed_and_is_told(self, name: str) -> None:
        output = "Hi <think>Hm.</think>"
        assert findings(output, parse(REGISTERED[name], output)) == [("unclaimed_text", "error", "<think>Hm.</think>")]

    @pytest.mark.parametrize("name", TAGGED)
    def test_a_cut_thought_behind_text_is_not_the_answer(self, name: str) -> None:
        parsed = parse(REGISTERED[name], "Hi <think>Hm.")
        assert findings("Hi <think>Hm.", parsed) == [("unclosed_reasoning", "error", "Hm.")]
        assert (parsed.reasoning, parsed.text) == ("Hm.", "")

    @pytest.mark.parametrize(
        ("name", "cut"),
        [
            *((name, f"\n{cut}") for name in TAGGED for cut in ("<to", "<tool_call", "<tool_call>", "<tool_call>\n")),
            ("qwen3", '\n<tool_call>{"name": "f", "arguments": {"a": "</tool_ca'),
            ("qwen3_5", "\n\n<tool_call>\n<function=f>\n<parameter=a>\n1"),
            ("nemotron_3", "\n<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n"),
            ("glm4_moe", "\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1"),
            ("llama3", '{"na'),
            ("llama3", '<|python_tag|>{"type": "function", "name'),
            ("llama3", '{"name": "get_w'),
            ("llama3", '{"name": "f", "param'),
            ("llama3", '{"name": "f", "parameters": '),
            ("llama3", '{"name": "f", "parameters": {"a": "}'),
            ("llama3", '{"name": "f", "parameters": {"a": {}}'),
        ],
    )
    def test_a_call_that_the_output_cuts_is_pointed_at(self, name: str, cut: str) -> None:
        output = f"Hi{cut}"
        parsed = parse(REGISTERED[name], output)
        assert findings(output, parsed) == [("unclosed_call", "error", cut)]
        assert (parsed.text, parsed.ill_formed) == (output, True)
        kept = parse(REGISTERED[name], output, policy=Policy(cut_call=CutCall.KEEP_COMPLETE))
        assert (kept.text, kept.tool_uses, kept.ill_formed) == ("Hi", [], False)

    @pytest.mark.parametrize(
        "cut",
        [
            "<|start|>assistant to=functions.f<|chan",
            "<|start|>assistant<|channel|>commentary to=functions.f",
            " to=functions.",
        ],
    )
    def test_a_call_message_that_the_output_cuts_is_pointed_at(self, cut: str) -> None:
        output = f"<|channel|>analysis<|message|>Hm.<|end|>{cut}"
        parsed = parse(REGISTERED["gpt_oss"], output)
        assert [(code, place.strip()) for code, _, place in findings(output, parsed)] == [
            ("unclosed_call", cut.strip())
        ]

    def test_arguments_that_the_output_cuts_are_a_cut_call(self) -> None:
        output = 'to=functions.f<|channel|>commentary json<|message|>{"a": "x'
        assert findings(output, parse(REGISTERED["gpt_oss"], output)) == [("unclosed_call", "error", output)]

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("qwen3", "a <"),
            ("qwen3", "<tool> and <tool_calls>"),
            ("llama3", "{"),
            ("llama3", '{"name": "Ann", "age'),
            ("llama3", '{"capital": "Paris"}'),
        ],
    )
    def test_what_only_resembles_a_call_is_text(self, name: str, text: str) -> None:
        parsed = parse(REGISTERED[name], text)
        assert (parsed.text, parsed.issues) == (text, ())

    def test_delimiters_that_a_format_reserves_may_not_stand_in_its_thoughts(self) -> None:
        output = "<|channel|>analysis<|message|>Hm <|start|>assistant<|end|>"
        assert findings(output, parse(REGISTERED["gpt_oss"], output)) == [("stray_delimiter", "error", "<|start|>")]

    @pytest.mark.parametrize("name", TAGGED)
    def test_a_delimiter_that_closes_nothing_is_stray(self, name: str) -> None:
        assert findings("a</think>b", parse(REGISTERED[name], "a</think>b")) == [
            ("stray_delimiter", "error", "</think>")
        ]

    @pytest.mark.parametrize(
        ("name", "output", "code", "place"),
        [
            ("qwen3", "<tool_call>nonsense</tool_call>", "invalid_json", "n"),
            ("qwen3", '<tool_call>{"name": "f"}{"name": "g"}</tool_call>', "several_calls", "{"),
            ("qwen3", '<tool_call>{"name": "f</tool_call><|im_end|>', "invalid_json", "<"),
            ("qwen3", '<tool_call>{"name": "f"}<tool_call>{"name": "g"}</tool_call>', "invalid_arguments", "<"),
            ("qwen3_5", "<tool_call><function=f><parameter=a>1</function></tool_call>", "missing_tag", "<"),
            (
                "qwen3_5",
                '<tool_call><function=f><parameter="a">1</parameter></function></tool_call>',
                "missing_tag",
                "<",
            ),
            ("qwen3_5", "<tool_call><function=f><parameter=a>1</parameter></tool_call>", "missing_tag", "<"),
            ("qwen3_5", "<tool_call><function=f></function><function=g></function></tool_call>", "missing_tag", "<"),
            ("qwen3_5", "<tool_call><function=f>x</function></tool_call>", "missing_tag", "x"),
            (
                "qwen3_5",
                "<tool_call><function=f><parameter=a>\n1\n<parameter=b>\n2\n</parameter></function></tool_call>",
                "missing_tag",
                "<",
            ),
            (
                "nemotron_3",
                "<tool_call><function=f><parameter=a>1</parameter><parameter=a>2</parameter></function></tool_call>",
                "repeated_parameter",
                "<",
            ),
            ("glm4_moe", "<tool_call>f<arg_key>a</arg_key>1</tool_call>", "missing_tag", "<"),
            (
                "glm4_moe",
                "<tool_call>f<arg_key>a</arg_key></arg_key><arg_value>1</arg_value></tool_call>",
                "missing_tag",
                "<",
            ),
            (
                "glm4_moe",
                "<tool_call>f<arg_key>a</arg_key><arg_value>1<arg_key>b</arg_key><arg_value>2</arg_value></tool_call>",
                "missing_tag",
                "<",
            ),
            ("glm4_moe", "<tool_call></tool_call>", "missing_tag", "<"),
            ("gpt_oss", "hello", "unclaimed_text", "hello"),
            (
                "gpt_oss",
                "<|channel|>final The sum is 4.<|return|>",
                "unclaimed_text",
                "<|channel|>final The sum is 4.<|return|>",
            ),
            ("gpt_oss", "<|channel|>final<|message|>Hi<|end|><|return|>", "unclaimed_text", "<|return|>"),
            ("gpt_oss", 'to=functions.f<|channel|>commentary json<|message|>{"a": "x}<|call|>', "invalid_json", "<"),
            ("gpt_oss", "to=functions.f<|channel|>commentary json<|message|>{}{}<|call|>", "several_calls", "{"),
            (
                "llama3",
                '{"name": "f", "parameters": ' + '{"a": ' * 6 + "1" + "}" * 7 + " Hi<|eot_id|>",
                "missing_tag",
                "{",
            ),
            (
                "llama3",
                '{"name": "f", "parameters": 7}<|eot_id|>',
                "invalid_arguments",
                '{"name": "f", "parameters": 7}',
            ),
            ("llama3", '{"name": "f", "parameters": {"a": 1}, "x": 2}<|eot_id|>', "invalid_arguments", ","),
            ("llama3", '{"name": "f", "parameters": {"a": "x}}<|eot_id|>', "invalid_json", "}"),
        ],
    )
    def test_a_fault_of_a_call_is_pointed_at(self, name: str, output: str, code: str, place: str) -> None:
        parsed = parse(REGISTERED[name], output)
        assert findings(output, parsed) == [(code, "error", place)]
        assert (parsed.text, parsed.tool_uses) == (output, [])

    @pytest.mark.parametrize("name", ["nemotron_3", "qwen3_5"])
    def test_carriage_returns_are_layout_like_line_feeds(self, name: str) -> None:
        output = "<tool_call>\r\n<function=f>\r\n<parameter=a>\r\nls\r\n</parameter>\r\n</function>\r\n</tool_call>"
        assert parse(REGISTERED[name], output).tool_uses == [{"name": "f", "input": {"a": "ls"}}]

    def test_a_call_without_its_stop_token_is_whole(self) -> None:
        output = 'to=functions.f<|channel|>commentary json<|message|>{"a": 1}'
        parsed = parse(REGISTERED["gpt_oss"], output)
        assert (parsed.tool_uses, parsed.end_of_turn) == ([{"name": "f", "input": {"a": 1}}], False)

    def test_text_behind_a_bare_call_is_text(self) -> None:
        output = '{"name": "f", "parameters": {"a": {"b": "}"}}}\n\nShall I go on?<|eot_id|>'
        parsed = parse(REGISTERED["llama3"], output)
        assert (parsed.text, parsed.ill_formed) == ("\n\nShall I go on?", False)
        assert parsed.tool_uses == [{"name": "f", "input": {"a": {"b": "}"}}}]
        assert findings(output, parsed) == [("text_after_call", "warning", "\n\nShall I go on?")]

    def test_bare_calls_may_follow_each_other(self) -> None:
        parsed = parse(REGISTERED["llama3"], '{"name": "f", "parameters": {}}\n{"name": "g", "parameters": {}}')
        assert [use["name"] for use in parsed.tool_uses] == ["f", "g"]

    @pytest.mark.parametrize("depth", [1, 5, 6, 90])
    def test_objects_nest_as_deep_as_json_may(self, depth: int) -> None:
        output = '{"name": "f", "parameters": ' + '{"a": ' * depth + "1" + "}" * depth + "}<|eot_id|>"
        parsed = parse(REGISTERED["llama3"], output)
        assert (len(parsed.tool_uses), parsed.issues) == (1, ())

    def test_llama_calls_may_say_arguments_and_be_marked(self) -> None:
        output = '<|python_tag|>{"type": "function", "name": "f", "arguments": {}}<|eom_id|>'
        assert parse(REGISTERED["llama3"], output).tool_uses == [{"name": "f", "input": {}}]


PARTS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "\n", " ", "<", '"', '\\"', "{", "[", "a")
XML_PARTS = ("<tool_call><function=f>", "<parameter=a>", "</parameter>   ", "</function>\n", "\n<parameter=a")
PARTS_OF = {
    "qwen3": ('<tool_call>{"name":"f"}</tool_call>', '<tool_call>"</tool_call>'),
    "qwen3_5": XML_PARTS,
    "nemotron_3": XML_PARTS,
    "glm4_moe": ("<tool_call>f<arg_key>", "<arg_value>", "</arg_value>   ", "<arg_key>a</arg_key>"),
    "gpt_oss": (
        "<|channel|>analysis<|message|>",
        "to=functions.f<|channel|>commentary<|message|>",
        "<|end|>",
        "<|call|>",
    ),
    "llama3": ('{"name": "f", "parameters": ', '{"name": "', "<|eot_id|>", "{  "),
}


class TestTime:
    """What takes time that grows with the square of the length takes minutes here, and all else milliseconds."""

    @pytest.mark.parametrize("name", sorted(PARTS_OF))
    def test_no_shape_takes_more_than_linear_time(self, name: str) -> None:
        derenderer = Derenderer(REGISTERED[name])
        own = PARTS_OF[name]
        shapes = [(before, part) for before in ("", *own, "".join(own)) for part in (*PARTS, *own)]
        slow = []
        for before, part in shapes:
            started = time.process_time()
            derenderer.parse(before + part * (60_000 // len(part)), prompt="")
            if time.process_time() - started > 1:
                slow.append((before, part))
        assert slow == []


def soup(name: str) -> st.SearchStrategy[str]:
    """Outputs made of the delimiters of a schema and of what may stand between them."""
    pieces = [text for _, text in WHOLE_TURNS[name]]
    pieces += ["<", "\n", " ", '"', "x", "</think>", "<tool_call>", "<function=f>", "</parameter>", "<|end|>"]
    return st.lists(st.sampled_from(pieces) | st.text(max_size=5), max_size=14).map("".join)


@st.composite
def turns(draw: st.DrawFn, make: Any) -> tuple[str, str, str]:
    name = draw(st.sampled_from(sorted(WHOLE_TURNS)))
    return name, draw(make(name)), draw(st.sampled_from(["", "<think>\n", REGISTERED[name].turn.prefill]))


DERENDERERS = (
    {name: Derenderer(schema) for name, schema in REGISTERED.items()} if transformers_version() < (5, 13) else {}
)


class TestAnyOutput:
    @settings(max_examples=300)
    @given(turns(soup))
    def test_the_segments_tile_it_and_nothing_is_raised(self, turn: tuple[str, str, str]) -> None:
        name, output, prompt = turn
        parsed = parse(REGISTERED[name], output, prompt=prompt)
        assert "".join(output[start:end] for _, start, end in parsed.segments) == output
        ends = [0, *(segment.end for segment in parsed.segments)]
        assert [segment.start for segment in parsed.segments] == ends[:-1]
        assert all(0 <= issue.start <= issue.end <= len(output) for issue in parsed.issues)
        assert all("engine failed" not in issue.message for issue in parsed.issues)

    @settings(max_examples=300)
    @given(turns(soup))
    def test_unclaimed_stretches_are_never_silent(self, turn: tuple[str, str, str]) -> None:
        name, output, prompt = turn
        parsed = parse(REGISTERED[name], output, prompt=prompt)
        if any(segment.kind is SegmentKind.UNCLAIMED for segment in parsed.segments):
            assert parsed.ill_formed
        if not parsed.ill_formed:
            said = "".join(output[start:end] for kind, start, end in parsed.segments if kind is SegmentKind.TEXT)
            assert parsed.text == said

    @pytest.mark.parametrize("name", sorted(WHOLE_TURNS))
    def test_cutting_a_turn_never_makes_or_changes_a_call(self, name: str) -> None:
        output = whole(name)
        calls = parse(REGISTERED[name], output).tool_uses
        derenderer = Derenderer(REGISTERED[name], policy=Policy(cut_call=CutCall.KEEP_COMPLETE))
        for end in range(len(output)):
            kept = derenderer.parse(output[:end], prompt="").tool_uses
            assert kept == calls[: len(kept)], output[:end]
