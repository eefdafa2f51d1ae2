"""The growth check: a schema that is slow on what a model can well write is refused, with the pattern named."""

from __future__ import annotations

from typing import Any

import pytest

from derender.derender_schemas import JSON_CALLS, TAG_CALLS, VERBATIM, needs_response_template, schema
from rgw.derender.growth import (
    Growth,
    adversarial_shapes,
    check_growth,
    patterns_of,
    require_linear,
    schema_from_dict,
    schema_to_dict,
)
from rgw.errors import EngineError, RegistryError
from rgw.registry.model import Schema

LOOKAHEAD = r"<think>(?=[\s\S]*?</think>)"
PADDED = r"<arg=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</arg>"


def with_thought(opening: str) -> Schema:
    thought = {"open_pattern": opening, "close": "</think>", **VERBATIM}
    return schema("sample", {"reasoning_content": thought, "content": {"close": "<end>", **VERBATIM}})


def with_tag(pattern: str) -> Schema:
    fields = dict(TAG_CALLS.dialects["response_template"]["fields"])
    arguments = {"tag_pattern": pattern, "value_parser": {"name": "text"}}
    return schema("sample", {**fields, "tool_calls": {**fields["tool_calls"], "content_args": arguments}})


@needs_response_template
class TestVerdict:
    @pytest.mark.parametrize("schema", [JSON_CALLS, TAG_CALLS], ids=lambda schema: schema.name)
    def test_linear_schemas_pass(self, schema: Schema) -> None:
        assert check_growth(schema, largest=4_000) == Growth(True)

    @pytest.mark.parametrize(
        ("schema", "pattern"),
        [
            pytest.param(with_thought(LOOKAHEAD), LOOKAHEAD, id="a look to the end at each opener: the square"),
            pytest.param(with_tag(PADDED), PADDED, id="white space that three parts may take: the cube"),
        ],
    )
    def test_others_are_refused_with_the_pattern_named(self, schema: Schema, pattern: str) -> None:
        growth = check_growth(schema, limit=1)
        assert (growth.linear, growth.pattern) == (False, pattern)
        assert growth.ratio > 2.6
        assert growth.shape

    def test_a_refusal_is_an_error_that_says_what_to_do(self) -> None:
        with pytest.raises(RegistryError) as caught:
            require_linear(with_thought(LOOKAHEAD))
        assert "schema sample" in caught.value.message
        assert repr(LOOKAHEAD) in caught.value.message
        assert caught.value.fix

    def test_a_schema_that_does_not_load_is_an_error(self) -> None:
        with pytest.raises(EngineError, match="could not be measured"):
            check_growth(schema("sample", {"content": {"close": "<end>", "content": "no such parser"}}))


@needs_response_template
def test_the_shapes_are_made_of_the_schemas_own_delimiters() -> None:
    shapes = list(adversarial_shapes(JSON_CALLS))
    texts = [shape.text(1_000) for shape in shapes]
    for wanted in ("<call>" * 20, "<think>" * 20, " " * 100, "\n" * 100, "[" * 100, "</think" * 20):
        assert any(wanted in text for text in texts)
    assert all(shape.repeated for shape in shapes)


@needs_response_template
def test_every_pattern_and_literal_is_considered() -> None:
    assert {"<bot>", "</call>", "<end>", r"\n?<call>"} <= set(patterns_of(JSON_CALLS))


def test_a_schema_travels_to_the_measuring_process_and_back() -> None:
    for original in (JSON_CALLS, TAG_CALLS):
        copy = schema_from_dict(schema_to_dict(original))
        parts: list[Any] = [(each.dialects, each.turn, each.layout, each.untyped_values) for each in (original, copy)]
        assert parts[0] == parts[1]
