"""A response template, compiled for the walk: which fields a turn has and what opens, fills and closes them.

transformers loads and validates the template (`load_response_template`); its compiled patterns are used as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

import regex

from rgw.derender.call_shape import CallShape
from rgw.derender.content import ReadContent, content_reader
from rgw.derender.policy import CallInReasoning, Policy, UnclosedValue
from rgw.errors import EngineError, RegistryError
from rgw.model import SegmentKind
from rgw.registry.model import Dialect, Schema, TurnRules


class Role(Enum):
    """What a field is to a turn; the value is the kind of its segments."""

    REASONING = SegmentKind.REASONING
    TEXT = SegmentKind.TEXT
    TOOL_CALLS = SegmentKind.TOOL_CALL
    BUILTIN_TOOL = SegmentKind.UNCLAIMED


ROLE_OF_FIELD = {
    "reasoning_content": Role.REASONING,
    "reasoning": Role.REASONING,
    "thinking": Role.REASONING,
    "content": Role.TEXT,
    "tool_calls": Role.TOOL_CALLS,
}
"""The message keys that chat templates read, and what a derendered turn calls them."""

DEVIATION = "deviation"
"""A named group whose name begins so marks the part of a delimiter pattern that tolerates what the model should not
have written; a match of it is a warning."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the response template. The field without `open` collects what stands outside the others."""

    name: str
    role: Role
    open: regex.Pattern[str] | None
    close: regex.Pattern[str] | None
    strip: bool
    optional: bool
    read_content: ReadContent
    shape: CallShape


class Watched(NamedTuple):
    """A delimiter that may come next outside every explicit region."""

    field: Field
    pattern: regex.Pattern[str]
    opens: bool


@dataclass(frozen=True, slots=True)
class Grammar:
    """The compiled response template of a schema. `final_marker` finds an end-of-turn marker that ends the text.

    With `calls_end_reasoning` a thought that is not closed ends where a call begins.
    """

    fields: tuple[Field, ...]
    implicit: Field | None
    watched: tuple[Watched, ...]
    start_anchor: regex.Pattern[str]
    turn_start: regex.Pattern[str]
    between_regions: regex.Pattern[str]
    reserved: regex.Pattern[str] | None
    reserved_in_reasoning: regex.Pattern[str] | None
    final_marker: regex.Pattern[str] | None
    turn: TurnRules
    calls_end_reasoning: bool


def compile_grammar(schema: Schema, policy: Policy) -> Grammar:
    """Compile a schema's response template.

    Args:
        schema: A schema that has the dialect.
        policy: What the grammar lets pass: `call_in_reasoning=call` and `unclosed_value=next_tag`.

    Raises:
        RegistryError: transformers refuses the template, or it has a field that is no part of a turn.
        EngineError: The installed transformers is too old for a feature of the template.
    """
    from transformers.utils.chat_parsing.response_templates import load_response_template

    _require_features(schema)
    try:
        loaded = load_response_template(dict(schema.dialects[Dialect.RESPONSE_TEMPLATE]))
    except ValueError as error:
        raise RegistryError(f"schema {schema.name}: {error}", "correct its response_template") from None
    closes_values = policy.unclosed_value is UnclosedValue.NEXT_TAG
    fields = tuple(
        _compile_field(schema, name, field, closes_values=closes_values) for name, field in loaded.fields.items()
    )
    implicit = next((field for field in fields if field.open is None), None)
    watched = [Watched(field, field.open, True) for field in fields if field.open is not None]
    if implicit is not None and implicit.close is not None:
        watched.append(Watched(implicit, implicit.close, False))
    if schema.turn.builtin_tool:
        watched.append(_builtin_tool(schema, fields))
    return Grammar(
        fields=fields,
        implicit=implicit,
        watched=tuple(watched),
        start_anchor=loaded.start_anchor_re,
        turn_start=regex.compile(schema.layout.turn_start),
        between_regions=regex.compile(schema.layout.between_regions),
        reserved=_any_of(schema.turn.reserved),
        reserved_in_reasoning=_any_of(schema.turn.reserved_in_reasoning),
        final_marker=_any_of(schema.turn.end, r"(?=\s*\Z)"),
        turn=schema.turn,
        calls_end_reasoning=policy.call_in_reasoning is CallInReasoning.CALL,
    )


def _builtin_tool(schema: Schema, fields: Sequence[Field]) -> Watched:
    """The messages to built-in tools, which end like calls."""
    calls = next((field for field in fields if field.role is Role.TOOL_CALLS), None)
    if calls is None:
        raise RegistryError(f"schema {schema.name}: 'builtin_tool' without a field for tool calls", "remove it")
    opening = regex.compile(schema.turn.builtin_tool)
    return Watched(replace(calls, name="builtin_tool", role=Role.BUILTIN_TOOL, open=opening), opening, True)


def _require_features(schema: Schema) -> None:
    """Name the transformers version that a content parser needs, instead of "unknown content parser"."""
    from transformers.utils.chat_parsing.content_parsers import CONTENT_PARSERS

    fields = schema.dialects[Dialect.RESPONSE_TEMPLATE].get("fields", {})
    for field in fields.values():
        parser = field.get("content", "text")
        if parser not in CONTENT_PARSERS and parser in _PARSER_SINCE:
            wanted = f">= {_PARSER_SINCE[parser]}"
            raise EngineError(
                f"schema {schema.name} needs transformers {wanted} for its {parser!r} content parser",
                f"pip install 'transformers{wanted.replace(' ', '')}'",
            )


_PARSER_SINCE = {"python-call-list": "5.24"}


def _any_of(literals: Sequence[str], behind: str = "") -> regex.Pattern[str] | None:
    return regex.compile(f"(?:{'|'.join(map(regex.escape, literals))}){behind}") if literals else None


def _compile_field(schema: Schema, name: str, field: Any, *, closes_values: bool) -> Field:
    role = ROLE_OF_FIELD.get(name)
    if role is None:
        known = ", ".join(ROLE_OF_FIELD)
        raise RegistryError(f"schema {schema.name}: field {name!r} is no part of a turn", f"the parts are {known}")
    return Field(
        name=name,
        role=role,
        open=field.open_re,
        close=field.close_re,
        strip=bool(field.content_args.get("strip", True)),
        optional=field.optional,
        read_content=content_reader(field.content, field.content_args, schema.layout, closes_values=closes_values),
        shape=CallShape(field.transform, field.transform_each),
    )
