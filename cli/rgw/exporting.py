"""A schema's response template as other engines accept it, and what of the schema they cannot be told.

The rules are those of the engines' own loaders, as of SGLang 0.5.23 (`srt/parser/response_template.py`) and vLLM 0.33.0
(`parser/response_template.py`). Knows nothing of chat templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rgw.derender.grammar import ROLE_OF_FIELD, Role
from rgw.errors import UsageError
from rgw.registry.model import Dialect, LayoutRules, Schema


class TargetEngine(StrEnum):
    """Who is to read with the response template."""

    TRANSFORMERS = "transformers"
    VLLM = "vllm"
    SGLANG = "sglang"


@dataclass(frozen=True, slots=True)
class Export:
    """A response template for one engine.

    Attributes:
        schema: The schema's name.
        engine: Whom it is for.
        response_template: What goes into `tokenizer_config.json`, under the key of this name.
        warnings: What the schema says that the engine cannot be told, one line each.
    """

    schema: str
    engine: TargetEngine
    response_template: Mapping[str, Any]
    warnings: tuple[str, ...]


_SERVING_PARSERS = frozenset({"text", "int", "float", "bool", "json", "xml-inline", "kv-lines"})
"""The content parsers of the serving engines; transformers has more."""

_SERVING_NAMES = {Role.REASONING: "thinking", Role.TEXT: "content", Role.TOOL_CALLS: "tool_calls"}
_OWN_ARGUMENTS = {
    "brackets": "calls without brackets around them are not read",
    "unescaped_strings": "strings that hold quotes are not read",
    "escaped_keys": "keys that hold & or quotes are read as they are escaped",
}
_OWN_GROUPS = {
    "(?P<string>": "the tag's own word on whether a value is a string is ignored",
    "(?P<quoted>": "quotes around values may stay in them",
}


def export(schema: Schema, engine: TargetEngine) -> Export:
    """The schema's response template in the form that `engine` accepts.

    Raises:
        UsageError: The engine cannot read the format, or the schema has no response template.
    """
    template = schema.dialects.get(Dialect.RESPONSE_TEMPLATE)
    if template is None:
        raise UsageError(f"schema {schema.name} has no response template", "choose one that has: rgw registry list")
    serving = engine is not TargetEngine.TRANSFORMERS
    fields = {_name(name, serving=serving): dict(field) for name, field in template["fields"].items()}
    if serving:
        _require_servable(schema, engine, fields)
    exported = {**template, "defaults": {"role": "assistant"}} if serving else dict(template)
    exported["fields"] = {name: _without_own_arguments(field) for name, field in fields.items()}
    return Export(schema.name, engine, exported, tuple(_warnings(schema, fields, serving=serving)))


def _name(name: str, *, serving: bool) -> str:
    role = ROLE_OF_FIELD.get(name)
    return _SERVING_NAMES[role] if serving and role is not None else name


def _require_servable(schema: Schema, engine: TargetEngine, fields: Mapping[str, Mapping[str, Any]]) -> None:
    for name, field in fields.items():
        parser = field.get("content", "text")
        if parser not in _SERVING_PARSERS:
            raise UsageError(
                f"{engine.value} cannot read {schema.name}: it has no {parser!r} content parser (field {name})",
                "export it for transformers, or use the engine's own parser for this format",
            )
    calls = fields.get("tool_calls")
    if calls is not None and "open" not in calls and "open_pattern" not in calls:
        raise UsageError(f"{engine.value} cannot read {schema.name}: nothing opens its tool calls", "add an opener")


def _without_own_arguments(field: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {key: value for key, value in field.get("content_args", {}).items() if key not in _OWN_ARGUMENTS}
    rest = {key: value for key, value in field.items() if key != "content_args"}
    return {**rest, "content_args": arguments} if arguments else rest


def _warnings(schema: Schema, fields: Mapping[str, Mapping[str, Any]], *, serving: bool) -> Iterator[str]:
    if schema.turn.reserved or schema.turn.reserved_in_reasoning:
        yield "reserved delimiters: one that stands in text is kept there without a word"
    if schema.turn.repeated_reasoning:
        yield "several blocks of reasoning: only the last one is kept"
    if schema.layout != LayoutRules():
        yield "layout: white space that the format allows may stay in text, and other text between arguments is dropped"
    for name, field in fields.items():
        for key, meaning in _OWN_ARGUMENTS.items():
            if key in field.get("content_args", {}):
                yield f"{name}: {meaning}"
        tag = str(field.get("content_args", {}).get("tag_pattern", ""))
        yield from (f"{name}: {meaning}" for group, meaning in _OWN_GROUPS.items() if group in tag)
        if not serving and field.get("content") == "python-call-list":
            yield f"{name}: needs transformers 5.24 or newer"
    calls = fields.get("tool_calls", {})
    if serving and any("{0," in str(calls.get(key, "")) for key in ("open_pattern", "close_pattern")):
        yield "tool_calls: its delimiters have too many spellings for a grammar, so strict tool calls are not enforced"
