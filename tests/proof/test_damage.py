"""Turns that were cut off or damaged: never misread without a word."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from proof.pairs import TEMPLATE, schema
from rgw.derender import Derenderer
from rgw.derender.derenderer import Tools
from rgw.model import ParsedOutput
from rgw.proof.model import Call, Conversation, Role, Turn
from rgw.proof.mutation import mutations
from rgw.proof.roundtrip import Outcome, Trip, round_trips
from rgw.proof.shapes import ReasoningForm, Shape
from rgw.proof.truncation import truncations
from rgw.proof.turns import CutTurn, Studio
from rgw.registry.model import Schema
from rgw.templates.rendering import RenderPool

DELIMITERS = ("<think>", "</think>", "<call>", "</call>", "[end]")
MEANT = Turn(Role.ASSISTANT, "yes", "hm", (Call("f", {"a": 1}), Call("g", {})))


class Repairing(Derenderer):
    """A careless reader: what it cannot read, it takes for one call."""

    def parse(self, output: str, *, prompt: str | None = None, tools: Tools | None = None) -> ParsedOutput:
        parsed = super().parse(output, prompt=prompt, tools=tools)
        repaired = ParsedOutput(tool_uses=[{"name": "f", "input": {"a": 1}}], end_of_turn=True)
        return repaired if parsed.ill_formed else parsed


class Leaking(Derenderer):
    """A careless reader: what it cannot read is text."""

    def parse(self, output: str, *, prompt: str | None = None, tools: Tools | None = None) -> ParsedOutput:
        parsed = super().parse(output, prompt=prompt, tools=tools)
        return ParsedOutput(text=output) if parsed.ill_formed else parsed


def trip(pool: RenderPool, read_with: Schema, meant: Turn = MEANT) -> tuple[Studio, Derenderer, Trip]:
    derenderer = Derenderer(read_with)
    studio = Studio(pool, TEMPLATE, Shape(reasoning=ReasoningForm.REASONING_CONTENT), derenderer)
    turns = studio.turns([Conversation((Turn(Role.USER, "hi"), meant))])
    (only,) = round_trips(studio, derenderer, [turn for turn in turns if isinstance(turn, CutTurn)])
    assert only.outcome is Outcome.EXACT
    return studio, derenderer, only


def test_every_beginning_of_a_turn_is_tried(pool: RenderPool) -> None:
    _, derenderer, whole = trip(pool, schema())
    cuts = list(truncations(derenderer, whole, DELIMITERS))
    assert [cut.turn.output for cut in cuts] == [whole.turn.output[:end] for end in range(len(whole.turn.output))]


def test_a_careful_schema_reads_beginnings_as_beginnings(pool: RenderPool) -> None:
    _, derenderer, whole = trip(pool, schema())
    outcomes = {cut.turn.output: cut.outcome for cut in truncations(derenderer, whole, DELIMITERS)}
    assert outcomes["<think>h"] is Outcome.FLAGGED
    assert outcomes["<think>hm</think>ye"] is Outcome.EXACT
    assert outcomes['<think>hm</think>yes<call>{"name": "f"'] is Outcome.FLAGGED
    assert outcomes['<think>hm</think>yes<call>{"name": "f", "arguments": {"a": 1}}</call>'] is Outcome.EXACT
    assert Outcome.SILENT not in outcomes.values()


def test_a_beginning_that_says_something_else_is_misread(pool: RenderPool) -> None:
    _, derenderer, whole = trip(pool, schema())
    other = replace(whole, parsed=replace(whole.parsed, text="no", tool_uses=[{"name": "h", "input": {}}]))
    notes = {note for cut in truncations(derenderer, other, DELIMITERS) for note in cut.notes}
    assert "text: not a beginning of the whole turn's" in notes
    assert "calls: another call than in the whole turn" in notes


def test_a_delimiter_that_is_whole_is_no_beginning_of_text(pool: RenderPool) -> None:
    _, _, whole = trip(pool, schema(), Turn(Role.ASSISTANT, "yes", "", (Call("f", {}),)))
    cuts = truncations(Leaking(schema()), whole, DELIMITERS)
    silent = [cut.turn.output for cut in cuts if cut.outcome is Outcome.SILENT]
    assert silent[0] == "yes<call>"
    assert not any(output in silent for output in ("yes", "yes<", "yes<cal"))


def test_a_beginning_of_a_delimiter_may_begin_like_the_text_behind_it(pool: RenderPool) -> None:
    _, derenderer, whole = trip(pool, schema(), Turn(Role.ASSISTANT, "<div>", "hm"))
    cuts = {cut.turn.output: cut.outcome for cut in truncations(derenderer, whole, DELIMITERS)}
    assert cuts["<th"] is Outcome.EXACT
    assert Outcome.SILENT not in cuts.values()


def test_damage_is_flagged_or_read_as_what_it_says(pool: RenderPool) -> None:
    studio, derenderer, whole = trip(pool, schema())
    damaged = [one for seed in range(40) for one in mutations(studio, derenderer, [whole], DELIMITERS, Random(seed))]
    assert len({one.turn.output for one in damaged}) > 30
    assert {one.outcome for one in damaged} == {Outcome.FLAGGED, Outcome.EXACT}


def test_a_slash_that_damage_escaped_in_json_is_a_slash(pool: RenderPool) -> None:
    studio, derenderer, whole = trip(pool, schema(), Turn(Role.ASSISTANT, calls=(Call("f", {"a": "\n" * 40}),)))
    damaged = [mutations(studio, derenderer, [whole], ("/x",), Random(seed)) for seed in range(20)]
    outcomes = {trip.outcome for trips in damaged for trip in trips if "\\/x" in trip.turn.output}
    assert outcomes == {Outcome.EXACT}


def test_a_number_that_damage_wrote_otherwise_is_that_number(pool: RenderPool) -> None:
    studio, derenderer, whole = trip(pool, schema(), Turn(Role.ASSISTANT, calls=(Call("f", {"a": 15}),)))
    damaged = [mutations(studio, derenderer, [whole], ("e0",), Random(seed)) for seed in range(200)]
    outcomes = {trip.outcome for trips in damaged for trip in trips if "1e05" in trip.turn.output}
    assert outcomes == {Outcome.EXACT}


def test_white_space_behind_a_lost_end_is_not_the_blank_thought_that_was_meant(pool: RenderPool) -> None:
    stripped = TEMPLATE.replace(
        "message.reasoning_content + '</think>'", "message.reasoning_content | trim + '</think>'"
    )
    template = stripped.replace("message.content | trim", "message.content").replace("[end]", "[end]{{ '\\n\\n' }}")
    derenderer = Derenderer(schema())
    studio = Studio(pool, template, Shape(reasoning=ReasoningForm.REASONING_CONTENT), derenderer)
    meant = Turn(Role.ASSISTANT, "", "\n\n", (Call("f", {}),))
    turns = [turn for turn in studio.turns([Conversation((Turn(Role.USER, "hi"), meant))]) if isinstance(turn, CutTurn)]
    (whole,) = round_trips(studio, derenderer, turns)
    assert whole.turn.output.endswith("</call>[end]\n\n")
    damaged = [one for seed in range(40) for one in mutations(studio, derenderer, [whole], DELIMITERS, Random(seed))]
    assert "\n\n" in {one.parsed.text for one in damaged}
    assert {one.outcome for one in damaged} == {Outcome.FLAGGED, Outcome.EXACT}


def test_damage_that_changes_a_call_without_a_word_is_misread(pool: RenderPool) -> None:
    studio, _, whole = trip(pool, schema())
    damaged = mutations(studio, Repairing(schema()), [whole], DELIMITERS, Random(0))
    repaired = [one.outcome for one in damaged if len(one.parsed.tool_uses) == 1]
    assert repaired == [Outcome.SILENT] * len(repaired)
    assert repaired
