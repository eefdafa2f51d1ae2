"""What an inferred schema and a registered one read of the same turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference import made_up_templates as made_up
from rgw.inference.agreement import Agreement, agreement
from rgw.inference.inferring import infer
from rgw.registry.model import Dialect, Schema
from rgw.templates.rendering import PLACEHOLDER_TOKENS, RenderPool


@pytest.fixture(scope="module")
def inferred(pool: RenderPool) -> Schema:
    schema = infer(made_up.JSON_OBJECTS, conversations=5, pool=pool).schema
    assert schema is not None
    return schema


def compared(pool: RenderPool, inferred: Schema, registered: Schema) -> Agreement:
    return agreement(pool, made_up.JSON_OBJECTS, inferred, registered, tokens=PLACEHOLDER_TOKENS, count=30)


def with_calls_opened_by(schema: Schema, pattern: str) -> Schema:
    template = schema.dialects[Dialect.RESPONSE_TEMPLATE]
    calls = {**template["fields"]["tool_calls"], "open_pattern": pattern}
    fields = {**template["fields"], "tool_calls": calls}
    return replace(schema, name="other", dialects={Dialect.RESPONSE_TEMPLATE: {**template, "fields": fields}})


def test_a_schema_agrees_with_itself_on_every_turn(pool: RenderPool, inferred: Schema) -> None:
    found = compared(pool, inferred, inferred)
    assert (found.same, found.not_carried, found.different) == (found.readings, 0, ())
    assert found.readings >= 30
    assert str(found) == f"agrees with the registered schema inferred on {found.readings} of {found.readings} readings"


def test_one_that_reads_no_calls_differs_on_the_turns_that_call(pool: RenderPool, inferred: Schema) -> None:
    found = compared(pool, inferred, with_calls_opened_by(inferred, "<never>"))
    assert found.different
    assert all(one.parsed.tool_uses and not other.parsed.tool_uses for one, other in found.different)
    assert str(found) == f"agrees with the registered schema other on {found.same} of {found.readings} readings"
    example = found.to_dict()["example"]
    assert example["inferred"]["tool_uses"]
    assert example["output"] == min((other.turn.output for _, other in found.different), key=len)
