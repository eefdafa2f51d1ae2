"""What a repository ships for itself becomes a schema whose name says so, and that is compared by its digest."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from derender.derender_schemas import JSON_CALLS, needs_response_template
from rgw.derender import Derenderer
from rgw.derender.native import digest_of, native_schema, schemas_like
from rgw.errors import RegistryError, SourceError
from rgw.registry.loader import Registry, load_registry
from rgw.registry.model import Dialect, Origin
from rgw.templates.model import ResolvedTemplates

NATIVE = JSON_CALLS.dialects[Dialect.RESPONSE_TEMPLATE]


def shipped(native: Any) -> ResolvedTemplates:
    return ResolvedTemplates("owner/model", native_response_template=native)


@needs_response_template
def test_it_reads_turns_like_any_schema() -> None:
    parsed = Derenderer(native_schema(shipped(NATIVE))).parse('Hm.<call>{"name": "f", "arguments": {}}</call><end>')
    assert (parsed.text, parsed.tool_uses) == ("Hm.", [{"name": "f", "input": {}}])
    assert parsed.end_of_turn


@needs_response_template
@pytest.mark.parametrize(("arguments", "value"), [({"value_parser": {"name": "text"}}, "12"), ({}, 12)])
def test_values_without_a_type_are_read_with_the_parser_that_it_names(arguments: dict[str, Any], value: object) -> None:
    tag = r'<p k="(?P<key>\w+)">(?P<value>.*?)</p>'
    calls = {
        "open_pattern": r'<fn name="(?P<name>\w+)">',
        "close": "</fn>",
        "repeats": True,
        "content": "xml-inline",
        "content_args": {"tag_pattern": tag, **arguments},
        "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
    }
    fields = {"content": {"close": "<e>", "content": "text"}, "tool_calls": calls}
    schema = native_schema(shipped({"start_anchor": "<bot>", "fields": fields}))
    parsed = Derenderer(schema).parse('<fn name="f"><p k="z">12</p></fn><e>', prompt="")
    assert parsed.tool_uses == [{"name": "f", "input": {"z": value}}]


def test_its_name_is_none_that_a_registry_could_have() -> None:
    name = native_schema(shipped(NATIVE)).name
    assert name == "native:owner/model"
    assert name not in load_registry().schemas


@pytest.mark.parametrize(
    ("fields", "ends"),
    [
        ({"content": {"close": "<end>"}}, ("<end>",)),
        ({"content": {"close": ["<end>", "<eos>"]}}, ("<end>", "<eos>")),
        ({"content": {"close_pattern": "<end>"}}, ()),
        ({"content": {"open": "<text>", "close": "</text>"}}, ()),
        ({"content": {"close": 7}}, ()),
    ],
)
def test_what_ends_the_text_ends_the_turn(fields: Any, ends: tuple[str, ...]) -> None:
    assert native_schema(shipped({"fields": fields})).turn.end == ends


@needs_response_template
@pytest.mark.parametrize("native", [{"fields": {}}, {"fields": {"content": {}}, "start_anchor": 3}])
def test_one_that_transformers_refuses_is_refused(native: Any) -> None:
    with pytest.raises(RegistryError, match="native:owner/model"):
        Derenderer(native_schema(shipped(native)))


@pytest.mark.parametrize("native", [{}, {"fields": 1}, {"fields": ["content"]}, {"fields": {"content": "text"}}])
def test_one_without_fields_is_refused(native: Any) -> None:
    with pytest.raises(SourceError, match="owner/model: the response_template that it ships has no fields"):
        native_schema(shipped(native))


def test_a_repository_that_ships_none_is_told() -> None:
    with pytest.raises(SourceError, match="owner/model ships no response_template of its own"):
        native_schema(shipped(None))


def test_the_digest_is_of_the_json_in_its_order() -> None:
    assert digest_of({"a": 1, "b": "é"}) == hashlib.sha256('[{"a":1,"b":"é"}]'.encode()).hexdigest()
    assert digest_of({"a": 1, "b": 2}) != digest_of({"b": 2, "a": 1})


def test_it_is_found_in_the_registry_by_its_digest() -> None:
    registry = load_registry()
    own = registry.schema("qwen3").dialects[Dialect.RESPONSE_TEMPLATE]
    assert schemas_like(own, registry) == ("qwen3",)
    assert schemas_like({**own, "start_anchor": "other"}, registry) == ()


def test_what_a_schema_was_made_from_counts() -> None:
    upstream = {"fields": {"content": {}}, "start_anchor": "x"}
    patched = replace(
        load_registry().schema("qwen3"), origin=Origin("trl", {}, {Dialect.RESPONSE_TEMPLATE: digest_of(upstream)})
    )
    assert schemas_like(upstream, cast(Registry, SimpleNamespace(schemas={"qwen3": patched}))) == ("qwen3",)
