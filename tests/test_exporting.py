"""What an engine is given of a schema is what its loader accepts; what it cannot be given is said."""

from __future__ import annotations

from typing import Any

import pytest

from engine_readings import readings
from rgw.errors import UsageError
from rgw.exporting import TargetEngine, export
from rgw.registry.loader import load_registry
from rgw.registry.model import Dialect, LayoutRules, Origin, Schema, TurnRules

TEXT = {"content": "text", "content_args": {"strip": False}}
SERVING = [TargetEngine.VLLM, TargetEngine.SGLANG]
REGISTRY = load_registry()
READ_OTHERWISE = {("kimi_k3", "An escaped name of an argument")}
"""What the warnings of an export say is read otherwise."""


def schema(fields: dict[str, Any], **rules: Any) -> Schema:
    template = {"defaults": {"role": "assistant"}, "start_anchor": "<bot>", "fields": fields}
    return Schema("made_up", "Made up", Origin("rgw"), {Dialect.RESPONSE_TEMPLATE: template}, **rules)


def calls(**more: Any) -> dict[str, Any]:
    transform = {"type": "function", "function": "{content}"}
    return {"open": "<do>", "close": "</do>", "content": "json", "transform": transform, **more}


@pytest.mark.parametrize("name", ["reasoning_content", "thinking", "reasoning"])
@pytest.mark.parametrize("engine", SERVING)
def test_reasoning_is_called_thinking_where_engines_serve(engine: TargetEngine, name: str) -> None:
    exported = export(schema({name: {"open": "<hm>", "close": "</hm>", **TEXT}, "content": TEXT}), engine)
    assert list(exported.response_template["fields"]) == ["thinking", "content"]


def test_transformers_is_given_the_names_of_the_messages() -> None:
    fields = {"reasoning_content": {"open": "<hm>", "close": "</hm>", **TEXT}, "content": TEXT}
    exported = export(schema(fields), TargetEngine.TRANSFORMERS)
    assert exported.response_template["fields"] == fields
    assert exported.warnings == ()


@pytest.mark.parametrize("engine", SERVING)
def test_a_content_parser_that_an_engine_lacks_is_refused(engine: TargetEngine) -> None:
    python = schema({"tool_calls": calls(content="python-call-list"), "content": TEXT})
    with pytest.raises(UsageError, match="python-call-list"):
        export(python, engine)
    assert export(python, TargetEngine.TRANSFORMERS).warnings == ("tool_calls: needs transformers 5.24 or newer",)


@pytest.mark.parametrize("engine", TargetEngine)
def test_calls_under_their_names_are_refused(engine: TargetEngine) -> None:
    with pytest.raises(UsageError, match="each of its calls stands under its own name"):
        export(schema({"tool_calls": calls(content_args={"named_by_key": True}), "content": TEXT}), engine)


@pytest.mark.parametrize("engine", TargetEngine)
@pytest.mark.parametrize("closer", [None, r"\}(?:<end>)?", r"(?:<end>)?"])
def test_calls_that_only_their_json_ends_are_refused(engine: TargetEngine, closer: str | None) -> None:
    field = {key: value for key, value in calls().items() if key != "close"}
    field |= {"close_pattern": closer} if closer is not None else {}
    with pytest.raises(UsageError, match="only its JSON says where a call ends"):
        export(schema({"tool_calls": field, "content": TEXT}), engine)


def test_a_list_of_calls_is_no_repeated_field_which_engines_make_a_list_of_lists_of() -> None:
    listed = calls(transform={"type": "function", "function": "{content}"}, transform_each=True, repeats=True)
    exported = export(schema({"tool_calls": listed, "content": TEXT}), TargetEngine.TRANSFORMERS)
    assert "repeats" not in exported.response_template["fields"]["tool_calls"]
    assert "tool_calls: of several lists of calls in one turn, only the last one is kept" in exported.warnings


def test_engines_are_told_to_keep_the_white_space_of_values() -> None:
    tags = {"tag_pattern": "<(?P<key>[^<>]{1,9})>(?P<value>[^<]*)</>", "value_parser": {"name": "text"}}
    field = calls(content="xml-inline", content_args=tags)
    exported = export(schema({"tool_calls": field, "content": TEXT}), TargetEngine.SGLANG)
    values = exported.response_template["fields"]["tool_calls"]["content_args"]["value_parser"]
    assert values == {"name": "text", "args": {"strip": False}}


def test_a_transform_that_does_nothing_is_left_out() -> None:
    exported = export(schema({"content": {**TEXT, "transform": "{content}"}}), TargetEngine.VLLM)
    assert exported.response_template["fields"] == {"content": TEXT}


def test_arguments_that_only_rgw_reads_are_left_out_and_named() -> None:
    fields = {"tool_calls": calls(content="python-call-list", content_args={"brackets": False}), "content": TEXT}
    exported = export(schema(fields), TargetEngine.TRANSFORMERS)
    assert "content_args" not in exported.response_template["fields"]["tool_calls"]
    assert "tool_calls: calls without brackets around them are not read" in exported.warnings


@pytest.mark.parametrize(
    ("rules", "word"),
    [
        ({"turn": TurnRules(reserved=("<do>",))}, "reserved"),
        ({"turn": TurnRules(repeated_reasoning=True)}, "several blocks"),
        ({"layout": LayoutRules(turn_start="\\n")}, "layout"),
    ],
)
def test_rules_that_no_engine_can_be_told_are_warnings(rules: dict[str, Any], word: str) -> None:
    assert [each.startswith(word) for each in export(schema({"content": TEXT}, **rules), SERVING[0]).warnings] == [True]


def test_a_schema_without_a_response_template_is_refused() -> None:
    legacy = Schema("old", "Old", Origin("rgw"), {Dialect.RESPONSE_SCHEMA: {"type": "object"}})
    with pytest.raises(UsageError, match="no response template"):
        export(legacy, TargetEngine.TRANSFORMERS)


@pytest.mark.parametrize("engine", list(TargetEngine))
@pytest.mark.parametrize("name", sorted(REGISTRY.schemas))
def test_what_is_exported_loads(name: str, engine: TargetEngine) -> None:
    from transformers.utils.chat_parsing.response_templates import load_response_template

    try:
        exported = export(REGISTRY.schemas[name], engine)
    except UsageError:
        return
    loaded = load_response_template(dict(exported.response_template))
    if engine in SERVING:
        assert set(loaded.fields) <= {"thinking", "content", "tool_calls"}
        assert set(loaded.defaults) <= {"role"}
        assert "tool_calls" not in loaded.fields or loaded.fields["tool_calls"].open_re is not None


@pytest.mark.parametrize("name", sorted(REGISTRY.schemas))
def test_the_parser_that_the_engines_ship_reads_each_sample_alike(name: str) -> None:
    from transformers.utils.chat_parsing import response_parser

    try:
        exported = export(REGISTRY.schemas[name], TargetEngine.VLLM)
    except UsageError:
        return
    for sample, ours, theirs in readings(response_parser, REGISTRY.schemas[name], exported):
        if (name, sample.title) not in READ_OTHERWISE:
            assert theirs == ours, sample.title
