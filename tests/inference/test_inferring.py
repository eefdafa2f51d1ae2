"""From a template's text alone to a proved schema; what cannot be proved or seen is said."""

from __future__ import annotations

from typing import Any

import pytest

from inference import made_up_templates as made_up
from rgw.derender import Derenderer
from rgw.inference.inferring import infer
from rgw.inference.model import Inference
from rgw.proof.certificate import Check
from rgw.proof.roundtrip import Outcome
from rgw.registry.model import Dialect, UntypedValues
from rgw.templates.rendering import RenderLimits, RenderPool

CALL = {"name": "get_weather", "input": {"city": "Paris"}}


def inferred(pool: RenderPool, template: str) -> Inference:
    return infer(template, conversations=40, pool=pool)


def fields(inference: Inference) -> dict[str, Any]:
    assert inference.schema is not None
    return dict(inference.schema.dialects[Dialect.RESPONSE_TEMPLATE]["fields"])


@pytest.mark.parametrize(
    ("template", "output"),
    [
        (
            made_up.JSON_OBJECTS,
            '<hm>\nSo.\n</hm>\nHi\n<do>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</do><end>',
        ),
        (made_up.OTHER_KEYS, '<hm>\nSo.\n</hm>\nHi{do}{"tool": "get_weather", "input": {"city": "Paris"}}{/do}<end>'),
        (
            made_up.JSON_LIST,
            '<hm>\nSo.\n</hm>\nHi[CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}}]<end>',
        ),
        (made_up.BARE_JSON, '<hm>\nSo.\n</hm>\nHi{"name": "get_weather", "parameters": {"city": "Paris"}}<end>'),
        (made_up.NAME_AND_JSON, '<hm>\nSo.\n</hm>\nHi[CALL]get_weather[WITH]{"city": "Paris"}<end>'),
        (made_up.SECTION, '<hm>\nSo.\n</hm>\nHi<calls><call>get_weather<args>{"city": "Paris"}</call></calls><end>'),
        (
            made_up.TAGS,
            "<hm>\nSo.\n</hm>\nHi\n<run>\n<tool=get_weather>\n<arg=city>\nParis\n</arg>\n</tool>\n</run><end>",
        ),
        (made_up.PYTHON, '<hm>\nSo.\n</hm>\nHi<py>[get_weather(city="Paris")]</py><end>'),
        (made_up.OWN_QUOTES, "<hm>\nSo.\n</hm>\nHi<call>get_weather{city:~|Paris|~}</call><end>"),
        (
            made_up.MESSAGES,
            '<|aside|>So.<|stop|><|turn|>bot<|say|>Hi<|stop|><|ask|>get_weather<|with|>{"city": "Paris"}<|go|>',
        ),
    ],
    ids=["objects", "other keys", "list", "bare", "named", "section", "tags", "python", "quotes", "messages"],
)
def test_each_notation_is_inferred_proved_and_read(pool: RenderPool, template: str, output: str) -> None:
    inference = inferred(pool, template)
    assert inference.proved, inference.failure
    assert inference.writes_calls
    assert inference.schema is not None
    parsed = Derenderer(inference.schema).parse(output, prompt="")
    assert (parsed.reasoning, parsed.text, parsed.tool_uses, parsed.ill_formed) == ("So.", "Hi", [CALL], False)


@pytest.mark.parametrize(
    ("template", "output"),
    [
        (made_up.LIST_BY_NAME, '<hm>\nSo.\n</hm>\nHi<calls>[{"get_weather": {"city": "Paris"}}]</calls><end>'),
        (
            made_up.NUMBERED_LIST,
            (
                '<hm>\nSo.\n</hm>\nHi<calls>[{"number": "7", "tool": "get_weather", "input": {"city": "Paris"}}]'
                "</calls><end>"
            ),
        ),
        (
            made_up.BRACKETED_SECTION,
            '<hm>\nSo.\n</hm>\nHi<calls_open>[<call>get_weather<args>{"city": "Paris"}</call>]<calls_close>',
        ),
        (
            made_up.SAID_TYPES,
            '<hm>\nSo.\n</hm>\nHi<run tool="get_weather"><arg key="city" type="string">Paris</arg></run><end>',
        ),
        (
            made_up.OTHER_BRACKETS,
            "‹hm›\nSo.\n‹/hm›\nHi\n‹run›\n‹tool=get_weather›\n‹arg=city›\nParis\n‹/arg›\n‹/tool›\n‹/run›‹end›",
        ),
        (
            made_up.OTHER_STOPS,
            (
                "<|aside|>So.<|next|><|turn|>bot<|say|>Hi<|next|>"
                '<|turn|>bot<|ask|>get_weather<|with|>{"city": "Paris"}</ask><|done|>'
            ),
        ),
    ],
    ids=["list by name", "numbered list", "bracketed section", "said types", "other brackets", "other stops"],
)
def test_each_way_to_write_calls_is_inferred_proved_and_read(pool: RenderPool, template: str, output: str) -> None:
    inference = inferred(pool, template)
    assert inference.proved, inference.failure
    assert inference.schema is not None
    parsed = Derenderer(inference.schema).parse(output, prompt="")
    assert (parsed.reasoning, parsed.text, parsed.tool_uses, parsed.ill_formed) == ("So.", "Hi", [CALL], False)


@pytest.mark.parametrize(
    ("template", "prompt", "output"),
    [
        (made_up.CLOSED_BY_PROMPT, "<bot></hm>", "Hi<do>{}</do><end>"),
        (made_up.CLOSED_BY_PROMPT, "<bot><hm>", "</hm>Hi<do>{}</do><end>"),
        (made_up.CLOSED_AT_ONCE_BY_PROMPT, "[|bot|]\n<hm>\n\n</hm>\n\n", "Hi<do>{}</do><end>"),
        (made_up.BEHIND_RESULTS, "<user>yes<end><bot>", "Hi<do>{}</do><end>"),
        (made_up.BEHIND_RESULTS, "<result>yes</result><results_end>", "Hi<do>{}</do><end>"),
        (made_up.ONLY_BEHIND_RESULTS, "[RESULT]yes[/ASK]", "Hi<do>{}</do><end>"),
        (made_up.EQUAL_MARKERS, "##assistant##", "Hi\n@@do@@{}@@/do@@##end##"),
    ],
)
def test_each_way_to_begin_a_turn_is_inferred_proved_and_read(
    pool: RenderPool, template: str, prompt: str, output: str
) -> None:
    inference = inferred(pool, template)
    assert inference.proved, inference.failure
    assert inference.schema is not None
    call = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
    parsed = Derenderer(inference.schema).parse(output.replace("{}", call), prompt=prompt)
    assert (parsed.reasoning, parsed.text, parsed.tool_uses, parsed.ill_formed) == ("", "Hi", [CALL], False)


def test_the_literals_of_a_turn(pool: RenderPool) -> None:
    inference = inferred(pool, made_up.JSON_OBJECTS)
    assert inference.schema is not None
    template = inference.schema.dialects[Dialect.RESPONSE_TEMPLATE]
    assert template["start_anchor"] == "<assistant>\n"
    assert fields(inference)["reasoning_content"]["open_pattern"] == r"<hm>(?:\r?\n)?"
    assert fields(inference)["reasoning_content"]["close_pattern"] == r"(?:\r?\n)?</hm>(?:\r?\n)?"
    assert fields(inference)["tool_calls"]["close_pattern"] == "</do>"
    assert fields(inference)["content"]["close_pattern"] == "<end>"
    assert inference.schema.turn.end == ("<end>",)
    assert set(inference.schema.turn.reserved) == {"<do>", "</do>", "<hm>", "</hm>", "<assistant>"}
    assert inference.schema.untyped_values is UntypedValues.JSON


def test_values_without_quotes_have_no_type(pool: RenderPool) -> None:
    inference = inferred(pool, made_up.TAGS)
    assert inference.schema is not None
    assert inference.schema.untyped_values is UntypedValues.TEXT


def test_reasoning_that_the_prompt_opens(pool: RenderPool) -> None:
    inference = inferred(pool, made_up.OPENED_BY_PROMPT)
    assert inference.proved, inference.failure
    assert inference.schema is not None
    assert inference.schema.turn.prefill == "<hm>\n"
    parsed = Derenderer(inference.schema).parse("So.\n</hm>\n\nHi<end>")
    assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("So.", "Hi", False)


def test_reasoning_that_the_template_strips_is_read_and_called_unseen(pool: RenderPool) -> None:
    inference = inferred(pool, made_up.STRIPS_THOUGHTS)
    assert inference.proved, inference.failure
    assert [words.partition(":")[0] for words in inference.unobservable] == ["reasoning"]
    assert inference.schema is not None
    parsed = Derenderer(inference.schema).parse("So.</hm>Hi<end>")
    assert (parsed.reasoning, parsed.text, parsed.ill_formed) == ("So.", "Hi", False)


def test_markers_of_messages_are_not_taken_for_those_of_reasoning(pool: RenderPool) -> None:
    assert "reasoning_content" not in fields(inferred(pool, made_up.REMINDED_BY_PROMPT))


def test_a_turn_without_an_end_ends_where_the_next_message_begins(pool: RenderPool) -> None:
    inference = inferred(pool, made_up.NO_END)
    assert inference.proved, inference.failure
    assert inference.schema is not None
    assert inference.schema.turn.end == ("<|user|>", "<|tool|>")


def test_calls_that_are_dropped_are_called_unseen(pool: RenderPool) -> None:
    inference = inferred(pool, made_up.NO_CALLS)
    assert "tool_calls" not in fields(inference)
    assert any(words.startswith("calls:") for words in inference.unobservable)


def test_every_line_says_what_it_was_seen_in(pool: RenderPool) -> None:
    inference = inferred(pool, made_up.JSON_OBJECTS)
    reasons = {each.path.rpartition("fields.")[2]: each for each in inference.explanations}
    assert "'\\n<do>\\n'" in reasons["tool_calls.open_pattern"].reason
    assert "text and two calls" in reasons["tool_calls.open_pattern"].seen_in
    assert "reasoning and text" in reasons["reasoning_content.close_pattern"].seen_in


def test_calls_without_arguments_that_are_broken_are_the_reason(pool: RenderPool) -> None:
    broken = made_up.each_call(
        '{{- \'<do>{"name": "\' + f.name + \'", "arguments": \' -}}'
        "{{- (f.arguments | tojson if f.arguments else '') + '}</do>' -}}"
    )
    inference = inferred(pool, made_up.template(broken))
    assert inference.schema is None
    assert inference.failure.startswith("a call without arguments")


def test_text_that_is_written_like_a_call_is_never_proved(pool: RenderPool) -> None:
    calls = made_up.each_call("{{- f.name + ' ' + (f.arguments | tojson) -}}")
    inference = inferred(pool, made_up.template(calls, thought=""))
    assert not inference.proved
    assert inference.failure


def test_strings_that_cannot_be_told_from_numbers_in_json_are_never_proved(pool: RenderPool) -> None:
    calls = made_up.each_call(
        "{{- '<do>' + f.name + '|' -}}{%- for k, v in f.arguments.items() -%}{{- k + '=' + (v | string) + ';' -}}"
        "{%- endfor -%}{{- '</do>' -}}"
    )
    assert not inferred(pool, made_up.template(calls)).proved


def test_a_candidate_that_fails_keeps_its_counterexample(pool: RenderPool) -> None:
    lossy = made_up.each_call(
        "{{- '<do>' + ({'name': f.name | upper, 'arguments': f.arguments} | tojson) + '</do>' -}}"
    )
    inference = inferred(pool, made_up.template(lossy))
    assert not inference.proved


NAMED_ON_A_LINE = made_up.template(
    made_up.each_call("{{- '\\nCALL ' + f.name + ' ' + (f.arguments | tojson) -}}"),
)
CLOSED_ON_A_LINE = made_up.template(
    made_up.each_call("{{- '\\nUSE: ' + ({'name': f.name, 'arguments': f.arguments} | tojson) + ' DONE' -}}"),
)


@pytest.mark.parametrize(
    ("template", "call", "said"),
    [
        (NAMED_ON_A_LINE, '\nCALL get_weather {"city": "Paris"}', "I RECALLED {} fine"),
        (NAMED_ON_A_LINE, '\nCALL get_weather {"city": "Paris"}', "Please CALL mum {} "),
        (NAMED_ON_A_LINE, '\nCALL get_weather {"city": "Paris"}', 'RECALL f {"a": 1}'),
        (
            CLOSED_ON_A_LINE,
            '\nUSE: {"name": "get_weather", "arguments": {"city": "Paris"}} DONE',
            'reUSE: {"a": 1} DONE',
        ),
    ],
)
def test_a_word_that_begins_calls_begins_none_inside_a_line(
    pool: RenderPool, template: str, call: str, said: str
) -> None:
    inference = inferred(pool, template)
    assert inference.proved, inference.failure
    assert inference.schema is not None
    derenderer = Derenderer(inference.schema)
    assert derenderer.parse(f"Hi{call}<end>", prompt="").tool_uses == [CALL]
    assert derenderer.parse(f"{call.lstrip()}<end>", prompt="").tool_uses == [CALL]
    parsed = derenderer.parse(f"{said}<end>", prompt="")
    assert (parsed.text.removesuffix("<end>"), parsed.tool_uses) == (said, [])


def test_conversations_of_the_proof_were_not_seen_by_inference(pool: RenderPool) -> None:
    proof = inferred(pool, made_up.JSON_OBJECTS).proof
    assert proof is not None
    assert proof.conversations == 40
    assert proof.carries_calls
    assert proof.growth is not None
    assert proof.growth.linear
    assert sum(counts.get(Outcome.SILENT, 0) for counts in proof.counts.values()) == 0
    assert proof.counts[Check.ROUND_TRIP][Outcome.EXACT] > 0


def test_the_same_seed_gives_the_same_inference(pool: RenderPool) -> None:
    assert inferred(pool, made_up.SECTION).schema == inferred(pool, made_up.SECTION).schema


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% if %}",
        "{{ raise_exception('no') }}",
    ],
    ids=["endless", "memory", "recursion", "syntax", "refuses"],
)
def test_a_hostile_template_is_a_failure_in_seconds(template: str) -> None:
    with RenderPool(limits=RenderLimits(seconds=0.5, call_seconds=2.0)) as pool:
        inference = infer(template, conversations=5, pool=pool)
    assert inference.schema is None
    assert inference.failure


def test_a_template_that_does_not_continue_its_prompt_has_nothing_to_infer(pool: RenderPool) -> None:
    template = (
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}{{ messages | length }}?{% endif %}"
    )
    assert inferred(pool, template).failure.startswith("no finished turn continues")
