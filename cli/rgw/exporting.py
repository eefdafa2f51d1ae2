"""A schema's response template as other engines accept it, and what of the schema they cannot be told.

The rules are those of the engines' own loaders, as of SGLang 0.5.23 (`srt/parser/response_template.py`) and vLLM 0.33.0
(`parser/response_template.py`). Knows nothing of chat templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import regex

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
_UNUSED_NAME = re.compile(r"\(\?P<(?:deviation_\w+|closing_tag)>")
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
    _require_readable(schema, engine, template["fields"].get("tool_calls", {}))
    serving = engine is not TargetEngine.TRANSFORMERS
    fields = {_name(name, serving=serving): dict(field) for name, field in template["fields"].items()}
    if serving:
        _require_servable(schema, engine, fields)
    exported = {**template, "defaults": {"role": "assistant"}} if serving else dict(template)
    exported["fields"] = {name: _as_engines_read(field) for name, field in fields.items()}
    return Export(schema.name, engine, exported, tuple(_warnings(schema, fields, serving=serving)))


def is_exported(response_template: Mapping[str, Any], schema: Schema) -> bool:
    """Whether a response template is the form of a schema that some engine accepts."""
    for engine in TargetEngine:
        with suppress(UsageError):
            if export(schema, engine).response_template == response_template:
                return True
    return False


def _name(name: str, *, serving: bool) -> str:
    role = ROLE_OF_FIELD.get(name)
    return _SERVING_NAMES[role] if serving and role is not None else name


def _require_readable(schema: Schema, engine: TargetEngine, calls: Mapping[str, Any]) -> None:
    """Refuse calls that every engine drops: they cut a value out at its closer before they read it."""
    fix = "read it with rgw parse or in a gateway, or use the engine's own parser for this format"
    if calls.get("content_args", {}).get("named_by_key"):
        raise UsageError(f"{engine.value} cannot read {schema.name}: each of its calls stands under its own name", fix)
    closer = calls.get("close_pattern")
    closes_early = closer is not None and any(regex.match(closer, text) for text in ("x", "}", "]"))
    if calls.get("content") == "json" and "close" not in calls and (closer is None or closes_early):
        raise UsageError(f"{engine.value} cannot read {schema.name}: only its JSON says where a call ends", fix)


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


def _as_engines_read(field: Mapping[str, Any]) -> dict[str, Any]:
    """A field without what only this package knows, and without what engines take otherwise.

    They strip values unless they are told not to, make a list of lists of a repeated field whose values are lists, and
    refuse a transform that does nothing.
    """
    arguments = {key: value for key, value in field.get("content_args", {}).items() if key not in _OWN_ARGUMENTS}
    if (values := arguments.get("value_parser")) and values["name"] == "text":
        arguments["value_parser"] = {**values, "args": {"strip": False, **values.get("args", {})}}
    left_out = {"content_args", *(["repeats"] if "transform_each" in field else [])}
    left_out |= {"transform"} if field.get("transform") == "{content}" else set()
    rest = {key: _without_own_groups(value) for key, value in field.items() if key not in left_out}
    return {**rest, "content_args": arguments} if arguments else rest


def _without_own_groups(value: Any) -> Any:
    """A pattern without the names that only this package looks for."""
    return _UNUSED_NAME.sub("(?:", value) if isinstance(value, str) else value


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
    if "transform_each" in calls and not serving:
        yield "tool_calls: of several lists of calls in one turn, only the last one is kept"
    if serving and any("{0," in str(calls.get(key, "")) for key in ("open_pattern", "close_pattern")):
        yield "tool_calls: its delimiters have too many spellings for a grammar, so strict tool calls are not enforced"
