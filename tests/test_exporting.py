"""What an engine is given of a schema is what its loader accepts; what it cannot be given is said."""

from __future__ import annotations

from typing import Any

import pytest

from rgw.errors import UsageError
from rgw.exporting import TargetEngine, export
from rgw.registry.loader import load_registry
from rgw.registry.model import Dialect, LayoutRules, Origin, Schema, TurnRules

TEXT = {"content": "text", "content_args": {"strip": False}}
SERVING = [TargetEngine.VLLM, TargetEngine.SGLANG]
REGISTRY = load_registry()


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
