"""What transformers itself returns for a turn, and when that counts as the same."""

from __future__ import annotations

from typing import Any

import pytest

from derender.derender_schemas import JSON_CALLS, TAG_CALLS, needs_response_template
from rgw.derender import Derenderer
from rgw.derender.compare import TransformersResult, transformers_result
from rgw.model import ParsedOutput
from rgw.registry.model import Schema

CALL = '<call>{"name": "f", "arguments": {"a": 1}}</call>'


def both(
    schema: Schema, output: str, *, prompt: str = "<bot>", tools: Any = None
) -> tuple[TransformersResult, ParsedOutput]:
    return transformers_result(schema, output, prompt, tools), Derenderer(schema).parse(
        output, prompt=prompt, tools=tools
    )


@needs_response_template
class TestInstalledTransformers:
    def test_a_whole_turn_is_read_alike(self) -> None:
        theirs, ours = both(JSON_CALLS, f"<think>Hm.</think>Yes.{CALL}<end>")
        assert (theirs.reasoning, theirs.text, theirs.error) == ("Hm.", "Yes.", "")
        assert theirs.tool_uses == [{"name": "f", "input": {"a": 1}}]
        assert theirs.message["role"] == "assistant"
        assert theirs.agrees_with(ours)

    def test_a_loss_shows_as_a_disagreement(self) -> None:
        theirs, ours = both(JSON_CALLS, f"A{CALL}B<end>")
        assert (theirs.text, ours.text) == ("B", "AB")
        assert not theirs.agrees_with(ours)

    def test_what_it_raises_is_a_result(self) -> None:
        theirs, ours = both(JSON_CALLS, "<call>{</call>")
        assert theirs.error.startswith("ValueError: ")
        assert "\n" not in theirs.error
        assert theirs.agrees_with(ours)

    def test_an_error_message_that_embeds_the_output_is_cut(self) -> None:
        assert len(both(JSON_CALLS, "<call>" + "{" * 10_000 + "</call>")[0].error) <= 300

    def test_the_prompt_is_passed_on(self) -> None:
        theirs, ours = both(JSON_CALLS, "Hm.</think>Yes.", prompt="<bot><think>\n")
        assert theirs.reasoning == "Hm."
        assert theirs.agrees_with(ours)

    def test_the_tools_are_passed_on(self) -> None:
        parameters = {"type": "object", "properties": {"s": {"type": "string"}}}
        tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
        theirs, ours = both(TAG_CALLS, "<call>f<arg=s>7</arg></call>", tools=tools)
        assert ours.tool_uses == [{"name": "f", "input": {"s": "7"}}]
        assert theirs.agrees_with(ours)


@pytest.mark.parametrize(
    ("theirs", "ours", "agree"),
    [
        (TransformersResult(text=" a\n"), ParsedOutput(text="a"), True),
        (TransformersResult(reasoning="b "), ParsedOutput(reasoning="\nb"), True),
        (TransformersResult(text="a b"), ParsedOutput(text="ab"), False),
        (TransformersResult(tool_uses=[{"name": "f", "input": {}}]), ParsedOutput(), False),
        (TransformersResult(error="ValueError: no"), ParsedOutput(text="a", ill_formed=True), True),
        (TransformersResult(error="ValueError: no"), ParsedOutput(text="a"), False),
        (TransformersResult(text="a"), ParsedOutput(text="a", ill_formed=True), False),
    ],
)
def test_agreement_ignores_outer_white_space_and_nothing_else(
    theirs: TransformersResult, ours: ParsedOutput, agree: bool
) -> None:
    assert theirs.agrees_with(ours) is agree
