"""There and back: what is cut out, how what comes back is judged, and what is called lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proof.pairs import FIELDS, TEMPLATE, schema
from rgw.derender import Derenderer
from rgw.proof.model import Call, Conversation, Role, Turn
from rgw.proof.roundtrip import Outcome, Trip, differences, round_trips
from rgw.proof.shapes import ReasoningForm, Shape
from rgw.proof.turns import CutTurn, NoTurn, Studio
from rgw.registry.model import TurnRules
from rgw.templates.rendering import RenderPool

SHAPE = Shape(reasoning=ReasoningForm.REASONING_CONTENT)
QUESTION = Turn(Role.USER, "hi")
CALL = Call("f", {"a": [1, "x"]})


def conversation(text: str = "", reasoning: str = "", *calls: Call) -> Conversation:
    return Conversation((QUESTION, Turn(Role.ASSISTANT, text, reasoning, calls)))


def cut(pool: RenderPool, template: str, meant: Conversation, shape: Shape = SHAPE) -> list[CutTurn | NoTurn]:
    return list(Studio(pool, template, shape, Derenderer(schema())).turns([meant]))


def travel(
    pool: RenderPool,
    meant: Conversation,
    *,
    template: str = TEMPLATE,
    fields: Any = FIELDS,
    hostile: bool = False,
) -> Trip:
    derenderer = Derenderer(schema(fields))
    studio = Studio(pool, template, SHAPE, derenderer)
    turns = [turn for turn in studio.turns([meant]) if isinstance(turn, CutTurn)]
    (trip,) = round_trips(studio, derenderer, turns, hostile=hostile)
    return trip


def test_a_turn_is_cut_out_behind_the_generation_prompt(pool: RenderPool) -> None:
    (turn,) = cut(pool, TEMPLATE, conversation("yes", "hm", CALL))
    assert isinstance(turn, CutTurn)
    assert turn.prompt == turn.head == "[user]hi[end][assistant]"
    assert turn.output == '<think>hm</think>yes<call>{"name": "f", "arguments": {"a": [1, "x"]}}</call>[end]'


def test_what_the_prompt_writes_of_the_turn_is_not_in_the_output(pool: RenderPool) -> None:
    template = TEMPLATE.replace("-%}[assistant]{%-", "-%}[assistant]{{ '<think>' if enable_thinking }}{%-")
    shape = Shape(reasoning=ReasoningForm.REASONING_CONTENT, states=({}, {"enable_thinking": True}))
    plain, thinking = cut(pool, template, conversation("yes", "hm"), shape)
    assert isinstance(plain, CutTurn)
    assert isinstance(thinking, CutTurn)
    assert plain.output == "<think>hm</think>yes[end]"
    assert thinking.prompt == "[user]hi[end][assistant]<think>"
    assert thinking.output == "hm</think>yes[end]"


def test_a_turn_that_the_template_does_not_end_is_ended_as_the_model_would(pool: RenderPool) -> None:
    template = TEMPLATE.replace('"[end]"', '""').replace("[end]", "")
    (turn,) = cut(pool, template, conversation("yes"))
    assert isinstance(turn, CutTurn)
    assert (turn.head, turn.output) == ("[user]hi[assistant]", "yes[end]")


def test_a_turn_that_the_template_ends_in_its_own_way_is_left_as_it_is(pool: RenderPool) -> None:
    template = TEMPLATE.replace('"[end]"', '"[stop]"').replace("[end]", "[stop]")
    (turn,) = cut(pool, template, conversation("yes"))
    assert isinstance(turn, CutTurn)
    assert turn.output == "yes[stop]"


def test_a_turn_that_the_template_ends_only_behind_calls_is_ended_once(pool: RenderPool) -> None:
    template = TEMPLATE.replace("[end]", "{{ '[end]' if message.tool_calls }}")
    (answer,) = cut(pool, template, conversation("yes"))
    (calling,) = cut(pool, template, conversation("", "", CALL))
    assert isinstance(answer, CutTurn)
    assert isinstance(calling, CutTurn)
    assert answer.output == "yes[end]"
    assert calling.output == '<call>{"name": "f", "arguments": {"a": [1, "x"]}}</call>[end]'


def test_what_the_template_writes_behind_the_end_of_the_turn_is_not_in_the_output(pool: RenderPool) -> None:
    template = TEMPLATE.replace(
        "{%- if add_generation_prompt -%}[assistant]{%- endif -%}", "[assistant]<think></think>"
    )
    (answer,) = cut(pool, template, conversation("yes"))
    assert isinstance(answer, CutTurn)
    assert (answer.head, answer.output) == ("[user]hi[end][assistant]", "yes[end]")
    assert answer.prompt == "[user]hi[end][assistant]<think></think>"


def test_a_turn_whose_question_reads_otherwise_in_its_prompt_gives_none(pool: RenderPool) -> None:
    template = TEMPLATE.replace("-%}[assistant]{%-", "-%} /think_on [assistant]{%-").replace("[end]", "")
    (turn,) = cut(pool, template, conversation("yes"))
    assert isinstance(turn, NoTurn)
    assert not turn.refused


def test_a_text_that_looks_like_the_generation_prompt_is_not_taken_for_it(pool: RenderPool) -> None:
    continued = TEMPLATE.replace(
        "[{{ message.role }}]",
        "{{ '[' + message.role + ']' if loop.first or messages[loop.index0 - 1].role != 'tool' }}",
    ).replace("-%}[assistant]{%-", "-%}{{ '[stop]' if messages[-1].role == 'tool' }}[assistant]{%-")
    for text in ("yes", "[stop][assistant]", "[stop][assistant]yes", "[stop][assistant]\n"):
        last = Turn(Role.ASSISTANT, text)
        after_result = Conversation((QUESTION, Turn(Role.ASSISTANT, calls=(CALL,)), Turn(Role.TOOL, "done"), last))
        (turn,) = cut(pool, continued, after_result)
        assert isinstance(turn, NoTurn)
        (turn,) = cut(pool, TEMPLATE, conversation(text))
        assert isinstance(turn, CutTurn)
        assert turn.output == f"{text.strip()}[end]"


def test_a_text_that_ends_in_the_marker_is_ended_all_the_same(pool: RenderPool) -> None:
    template = TEMPLATE.replace('"[end]"', '""').replace("[end]", "")
    (turn,) = cut(pool, template, conversation("[end]"))
    assert isinstance(turn, CutTurn)
    assert turn.output == "[end][end]"


def test_what_the_prompt_ends_with_and_the_turn_repeats_is_not_in_the_output(pool: RenderPool) -> None:
    template = TEMPLATE.replace("{{- message.content", "{{- '|' if message.content }}{{ message.content").replace(
        "-%}[assistant]{%-", "-%}[assistant]<think></think>|{%-"
    )
    (answer,) = cut(pool, template, conversation("yes"))
    assert isinstance(answer, CutTurn)
    assert (answer.prompt, answer.output) == ("[user]|hi[end][assistant]<think></think>|", "yes[end]")
    (calling,) = cut(pool, template, conversation("", "", CALL))
    assert isinstance(calling, NoTurn)


def test_two_markers_are_not_cut_where_their_common_beginning_ends(pool: RenderPool) -> None:
    template = TEMPLATE.replace("-%}[assistant]{%-", "-%}[assistant]{{ '<thought>' }}{%-")
    (turn,) = cut(pool, template, conversation("", "hm"))
    assert isinstance(turn, CutTurn)
    assert (turn.head, turn.output) == ("[user]hi[end][assistant]", "<think>hm</think>[end]")


def test_a_thought_of_white_space_that_is_stripped_and_still_framed_is_the_templates_doing(pool: RenderPool) -> None:
    template = TEMPLATE.replace("message.reasoning_content +", "message.reasoning_content | trim +")
    trip = travel(pool, conversation("yes", " "), template=template)
    assert trip.turn.output == "<think></think>yes[end]"
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("reasoning: outer white space",))


def test_a_thought_of_white_space_that_the_schema_strips_is_misread(pool: RenderPool) -> None:
    fields = {**FIELDS, "reasoning_content": {"open": "<think>", "close": "</think>", "content": "text"}}
    trip = travel(pool, conversation("yes", " "), fields=fields)
    assert (trip.outcome, trip.notes) == (Outcome.SILENT, ("reasoning: outer white space",))


def test_a_turn_that_does_not_repeat_a_closed_prefill_still_continues_it(pool: RenderPool) -> None:
    template = TEMPLATE.replace("-%}[assistant]{%-", "-%}[assistant]<think></think>{%-")
    (without,) = cut(pool, template, conversation("yes"))
    assert isinstance(without, CutTurn)
    assert (without.prompt, without.output) == ("[user]hi[end][assistant]<think></think>", "yes[end]")
    assert without.head == "[user]hi[end][assistant]"


def test_a_turn_with_a_thought_cannot_continue_a_prefill_that_has_none(pool: RenderPool) -> None:
    template = TEMPLATE.replace("-%}[assistant]{%-", "-%}[assistant]<think></think>{%-")
    (thinking,) = cut(pool, template, conversation("yes", "hm"))
    assert isinstance(thinking, CutTurn)
    assert (thinking.prompt, thinking.output) == ("[user]hi[end][assistant]", "<think>hm</think>yes[end]")


def test_a_refused_conversation_gives_no_turn_but_the_templates_words(pool: RenderPool) -> None:
    template = TEMPLATE.replace("[end]", "{{ raise_exception('too short') if message.content == 'yes' }}[end]")
    (refused,) = cut(pool, template, conversation("yes"))
    assert isinstance(refused, NoTurn)
    assert refused.refused
    assert refused.reason.endswith("too short")


def test_a_turn_that_does_not_continue_its_prompt_is_not_cut(pool: RenderPool) -> None:
    template = "{{ messages | length }}" + TEMPLATE
    (uncut,) = cut(pool, template, conversation("yes"))
    assert isinstance(uncut, NoTurn)
    assert not uncut.refused


def test_exact(pool: RenderPool) -> None:
    assert travel(pool, conversation("yes", "hm", CALL, Call("g", {}))).outcome is Outcome.EXACT


def test_tools_are_tried_with_and_without(pool: RenderPool) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    meant = Conversation((QUESTION, Turn(Role.ASSISTANT, "yes")), tools=(tool,))
    derenderer = Derenderer(schema())
    studio = Studio(pool, TEMPLATE, SHAPE, derenderer)
    turns = [turn for turn in studio.turns([meant]) if isinstance(turn, CutTurn)]
    trips = round_trips(studio, derenderer, turns)
    assert [(trip.typed, trip.outcome) for trip in trips] == [(False, Outcome.EXACT), (True, Outcome.EXACT)]


def test_what_the_template_trims_is_the_templates_loss(pool: RenderPool) -> None:
    trip = travel(pool, conversation(" yes "))
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: outer white space",))


def test_what_the_schema_trims_is_misread(pool: RenderPool) -> None:
    fields = {**FIELDS, "reasoning_content": {"open": "<think>", "close": "</think>", "content": "text"}}
    trip = travel(pool, conversation("yes", " hm "), fields=fields)
    assert (trip.outcome, trip.notes) == (Outcome.SILENT, ("reasoning: outer white space",))


def test_what_the_template_drops_is_the_templates_loss(pool: RenderPool) -> None:
    template = TEMPLATE.replace("message.reasoning_content", "none")
    trip = travel(pool, conversation("yes", "hm"), template=template)
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("reasoning: dropped",))


def test_text_that_the_template_writes_as_a_thought_is_the_templates_doing(pool: RenderPool) -> None:
    template = TEMPLATE.replace("{{- message.content | trim -}}", "<think>{{ message.content }}</think>")
    trip = travel(pool, conversation("yes"), template=template.replace("message.reasoning_content", "none"))
    assert trip.parsed.reasoning == "yes"
    assert (trip.outcome, trip.notes) == (Outcome.SILENT, ("text: written as reasoning",))
    shared = template.replace("message.content }}</think>", "message.content or message.reasoning_content }}</think>")
    trip = travel(pool, conversation("yes"), template=shared.replace("if message.reasoning_content", "if none"))
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: written as reasoning",))


@pytest.mark.parametrize("hostile", [False, True])
def test_a_call_that_comes_back_as_text_is_misread_although_it_renders_the_same(
    pool: RenderPool, hostile: bool
) -> None:
    fields = {name: field for name, field in FIELDS.items() if name != "tool_calls"}
    derenderer = Derenderer(replace(schema(fields), turn=TurnRules(end=("[end]",))))
    studio = Studio(pool, TEMPLATE, SHAPE, derenderer)
    turns = [turn for turn in studio.turns([conversation("", "", CALL)]) if isinstance(turn, CutTurn)]
    (trip,) = round_trips(studio, derenderer, turns, hostile=hostile)
    assert trip.parsed.text == '<call>{"name": "f", "arguments": {"a": [1, "x"]}}</call>'
    assert trip.outcome is Outcome.SILENT
    assert "calls: dropped" in trip.notes


def test_text_that_looks_like_a_thought_can_only_come_back_as_one(pool: RenderPool) -> None:
    trip = travel(pool, conversation("<think>a</think>b"), hostile=True)
    assert trip.parsed.reasoning == "a"
    assert trip.outcome is Outcome.TEMPLATE_LOSSY


def test_text_that_holds_a_whole_call_can_only_come_back_as_one(pool: RenderPool) -> None:
    field = {**FIELDS["tool_calls"], "open_pattern": r"<call>\s*", "close_pattern": r"\s*</call>"}
    del field["open"], field["close"]
    said = '<call> {"name": "g", "arguments": {}} </call>'
    trip = travel(pool, conversation(said, "hm", CALL), fields={**FIELDS, "tool_calls": field}, hostile=True)
    assert [use["name"] for use in trip.parsed.tool_uses] == ["g", "f"]
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: read as calls",))
    swallowing = {**field, "open_pattern": r"(?:x\s*)?<call>\s*"}
    trip = travel(pool, conversation(f"x{said}"), fields={**FIELDS, "tool_calls": swallowing}, hostile=True)
    assert trip.outcome is Outcome.SILENT


def test_text_that_holds_a_whole_call_is_judged_without_the_reasoning_that_the_template_drops(pool: RenderPool) -> None:
    field = {**FIELDS["tool_calls"], "open_pattern": r"<call>\s*", "close_pattern": r"\s*</call>"}
    del field["open"], field["close"]
    meant = conversation('<call> {"name": "g", "arguments": {}} </call>', "<think>")
    (trip,) = mute(pool, meant, {**FIELDS, "tool_calls": field})
    assert (trip.parsed.reasoning, len(trip.parsed.tool_uses)) == ("", 1)
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: read as calls",))


@pytest.mark.parametrize("text", ["<think></think>", "<think>a b</think>", "<think>a</think>b", " <think>a</think> b "])
def test_a_template_without_reasoning_says_nothing_about_text_that_begins_with_a_thought(
    pool: RenderPool, text: str
) -> None:
    (trip,) = mute(pool, conversation(text), FIELDS)
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: read as reasoning",))


def test_a_blank_thought_that_the_template_strips_leaves_the_one_in_the_text(pool: RenderPool) -> None:
    stripped = TEMPLATE.replace("if message.reasoning_content %}", "if (message.reasoning_content or '') | trim %}")
    spacious = stripped.replace("'<think>' +", "'<think>\\n' +")
    field = {"open_pattern": r"<think>\n?", "close": "</think>", "content": "text", "content_args": {"strip": False}}
    fields = {**FIELDS, "reasoning_content": field}
    trip = travel(pool, conversation("<think>a</think>", "\n"), template=spacious, fields=fields, hostile=True)
    assert (trip.turn.output, trip.parsed.reasoning) == ("<think>a</think>[end]", "a")
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: read as reasoning",))


def test_text_that_begins_with_a_thought_is_judged_without_the_calls_that_the_template_drops(pool: RenderPool) -> None:
    silent = MUTE.replace("message.tool_calls or []", "[]")
    (trip,) = mute(pool, conversation("<think></think>", "", CALL), FIELDS, template=silent)
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: read as reasoning",))


def test_text_that_begins_with_a_thought_excuses_no_call_that_goes_missing(pool: RenderPool) -> None:
    deaf = {name: field for name, field in FIELDS.items() if name != "tool_calls"}
    (trip,) = mute(pool, conversation("<think></think>", "", CALL), deaf)
    assert trip.outcome is not Outcome.TEMPLATE_LOSSY


def test_text_that_begins_with_a_thought_comes_back_as_one_however_the_template_lays_thoughts_out(
    pool: RenderPool,
) -> None:
    spacious = TEMPLATE.replace("'<think>' +", "'<think>\\n' +").replace("+ '</think>'", "+ '\\n</think>'")
    field = {
        "open_pattern": r"<think>\n?",
        "close_pattern": r"\n?</think>",
        "content": "text",
        "content_args": {"strip": False},
    }
    fields = {**FIELDS, "reasoning_content": field}
    trip = travel(pool, conversation("<think>a</think>b"), template=spacious, fields=fields, hostile=True)
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: read as reasoning",))
    behind = travel(pool, conversation("x<think>a</think>b"), template=spacious, fields=fields, hostile=True)
    assert behind.outcome is Outcome.FLAGGED


def test_text_that_begins_with_a_bare_closer_is_a_thought_only_where_the_template_begins_answers_with_one(
    pool: RenderPool,
) -> None:
    field = {"open_pattern": r"\A(?=</think>)", "close": "</think>", "content": "text"}
    fields = {**FIELDS, "reasoning_content": field}
    after_result = Conversation(
        (
            QUESTION,
            Turn(Role.ASSISTANT, calls=(CALL,)),
            Turn(Role.TOOL, "done", answers="f"),
            Turn(Role.ASSISTANT, "</think>a"),
        )
    )
    (trip,) = mute(pool, after_result, fields)
    assert (trip.turn.output, trip.parsed.text, trip.outcome) == ("</think>a[end]", "a", Outcome.SILENT)
    closes = "{{ '</think>' if messages[loop.index0 - 1].role == 'user' }}{{- message.content | trim -}}"
    bare = MUTE.replace(
        "{{- message.content | trim -}}",
        "{% if message.role == 'assistant' %}" + closes + "{% else %}{{- message.content -}}{% endif %}",
    )
    (trip,) = mute(pool, after_result, fields, template=bare)
    assert (trip.turn.output, trip.parsed.text) == ("</think>a[end]", "a")
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: read as reasoning",))


@pytest.mark.parametrize(
    ("opening", "outcome"), [("</think>", Outcome.TEMPLATE_LOSSY), ("<think></think>", Outcome.SILENT)]
)
def test_the_prompt_may_write_the_bare_closer_that_answers_begin_with(
    pool: RenderPool, opening: str, outcome: Outcome
) -> None:
    field = {"open_pattern": r"<think>|\A(?=</think>)", "close": "</think>", "content": "text"}
    derenderer = Derenderer(schema({**FIELDS, "reasoning_content": field}))
    written = f"{{{{ '{opening}' if enable_thinking is false }}}}"
    template = MUTE.replace("-%}[assistant]{%-", f"-%}}[assistant]{written}{{%-").replace(
        "{{- message.content", f"{{{{- '' if message.role == 'user' else {written[3:-3]} }}}}{{{{- message.content"
    )
    studio = Studio(pool, template, Shape(states=({}, {"enable_thinking": False})), derenderer)
    turns = [turn for turn in studio.turns([conversation("</think>a")]) if isinstance(turn, CutTurn)]
    assert [turn.prompt for turn in turns] == ["[user]hi[end][assistant]", f"[user]hi[end][assistant]{opening}"]
    trip, _ = round_trips(studio, derenderer, turns, hostile=True)
    assert (trip.turn.output, trip.parsed.text, trip.outcome) == ("</think>a[end]", "a", outcome)


def test_text_that_begins_with_a_thought_is_judged_without_the_reasoning_that_the_template_drops(
    pool: RenderPool,
) -> None:
    forgetful = TEMPLATE.replace("if message.reasoning_content %}", "if message.reasoning_content and not loop.last %}")
    said = conversation("<think></think>b", "hm")
    trip = travel(pool, said, template=forgetful, hostile=True)
    assert (trip.outcome, trip.notes) == (Outcome.TEMPLATE_LOSSY, ("text: read as reasoning",))
    assert travel(pool, said, hostile=True).outcome is Outcome.FLAGGED


@pytest.mark.parametrize("opening", ["<think>x?", "<think>.?"])
def test_text_that_the_schema_swallows_with_a_thought_is_misread(pool: RenderPool, opening: str) -> None:
    fields = {**FIELDS, "reasoning_content": {"open_pattern": opening, "close": "</think>", "content": "text"}}
    (trip,) = mute(pool, conversation("<think>x y</think>b"), fields)
    assert trip.outcome is Outcome.SILENT


def test_hostile_text_that_is_read_with_the_warning_that_it_deviates_is_flagged(pool: RenderPool) -> None:
    close = r"(?P<deviation_a_section_without_calls>\[none\])?\[end\]"
    content = {**FIELDS["content"], "close_pattern": close, "transform": "{content}"}
    del content["close"]
    for hostile, outcome in ((True, Outcome.FLAGGED), (False, Outcome.SILENT)):
        trip = travel(pool, conversation("a[none]"), fields={**FIELDS, "content": content}, hostile=hostile)
        assert trip.parsed.text == "a"
        assert trip.outcome is outcome


MUTE = TEMPLATE.replace("message.reasoning_content", "none")


def mute(pool: RenderPool, meant: Conversation, fields: Any, *, template: str = MUTE) -> list[Trip]:
    """The trip of a turn with a template that writes no reasoning."""
    derenderer = Derenderer(schema(fields))
    studio = Studio(pool, template, Shape(), derenderer)
    turns = [turn for turn in studio.turns([meant]) if isinstance(turn, CutTurn)]
    return round_trips(studio, derenderer, turns, hostile=True)


def test_what_is_ill_formed_is_flagged_with_its_codes(pool: RenderPool) -> None:
    trip = travel(pool, conversation("a</think>b"), hostile=True)
    assert (trip.outcome, trip.notes) == (Outcome.FLAGGED, ("stray_delimiter",))


@pytest.mark.parametrize(
    ("meant", "back", "notes"),
    [
        (Turn(Role.ASSISTANT, "a"), Turn(Role.ASSISTANT, "a"), ()),
        (Turn(Role.ASSISTANT, "a"), Turn(Role.ASSISTANT, ""), ("text: dropped",)),
        (Turn(Role.ASSISTANT, ""), Turn(Role.ASSISTANT, "a"), ("text: made up",)),
        (Turn(Role.ASSISTANT, "a"), Turn(Role.ASSISTANT, "b"), ("text: changed",)),
        (Turn(Role.ASSISTANT, reasoning="a\n"), Turn(Role.ASSISTANT, reasoning="a"), ("reasoning: outer white space",)),
        (Turn(Role.ASSISTANT, "a\n"), Turn(Role.ASSISTANT, reasoning="a"), ("text: written as reasoning",)),
        (Turn(Role.ASSISTANT, " "), Turn(Role.ASSISTANT, reasoning=" "), ("text: written as reasoning",)),
        (Turn(Role.ASSISTANT, reasoning=" "), Turn(Role.ASSISTANT, " "), ("reasoning: written as text",)),
        (Turn(Role.ASSISTANT, " "), Turn(Role.ASSISTANT), ("text: outer white space",)),
    ],
)
def test_differences_of_texts_are_named(meant: Turn, back: Turn, notes: tuple[str, ...]) -> None:
    assert differences(meant, back) == notes


@pytest.mark.parametrize(
    ("meant", "back", "note"),
    [
        ({"a": "1"}, {"a": 1}, "arguments: string read as integer"),
        ({"a": True}, {"a": 1}, "arguments: boolean read as integer"),
        ({"a": 1}, {"a": 1.0}, "arguments: integer read as number"),
        ({"a": None}, {"a": "None"}, "arguments: null read as string"),
        ({"a": [1]}, {"a": [2]}, "arguments: array changed"),
        ({"a": " x"}, {"a": "x"}, "arguments: outer white space"),
        ({"a": 1}, {}, "arguments: dropped"),
        ({}, {"a": 1}, "arguments: made up"),
    ],
)
def test_differences_of_arguments_are_named(meant: dict[str, Any], back: dict[str, Any], note: str) -> None:
    one, other = (Turn(Role.ASSISTANT, calls=(Call("f", arguments),)) for arguments in (meant, back))
    assert differences(one, other) == (note,)
