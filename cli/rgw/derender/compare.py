"""What the installed transformers itself returns for a turn, beside what rgw reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rgw.derender.engines import runnable_dialect
from rgw.derender.grammar import ROLE_OF_FIELD, Role
from rgw.model import ParsedOutput, ToolUse
from rgw.registry.model import Dialect, Schema


@dataclass(frozen=True, slots=True)
class TransformersResult:
    """The message that transformers parses out of a turn.

    Attributes:
        reasoning: Its reasoning, empty when absent.
        text: Its content, empty when absent.
        tool_uses: Its calls; what has not the shape of a call is left out.
        error: The exception that it raised instead, in one line; empty when it returned.
        message: What it returned, as it is.
    """

    reasoning: str = ""
    text: str = ""
    tool_uses: list[ToolUse] = field(default_factory=list)
    error: str = ""
    message: Mapping[str, Any] = field(default_factory=dict)

    def agrees_with(self, parsed: ParsedOutput) -> bool:
        """Whether both say the same of a turn; outer white space, which transformers strips, does not count.

        A turn that rgw calls ill-formed agrees with one on which transformers raised.
        """
        if parsed.ill_formed or self.error:
            return parsed.ill_formed and bool(self.error)
        return (
            self.reasoning.strip() == parsed.reasoning.strip()
            and self.text.strip() == parsed.text.strip()
            and self.tool_uses == parsed.tool_uses
        )


def transformers_result(
    schema: Schema, output: str, prompt: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None
) -> TransformersResult:
    """Run the installed transformers' own parser on a turn.

    Args:
        schema: The response schema.
        output: The decoded completion, special tokens kept.
        prompt: The prompt that it continues; `None`: the schema's usual prefill is assumed.
        tools: The tools of the request; transformers 5.15 and newer type arguments by them.

    Returns:
        What it returned or raised. An unbounded regular expression in the schema is not bounded here.
    """
    try:
        message = _parse(schema, output, schema.turn.prefill if prompt is None else prompt, tools)
    except Exception as error:  # noqa: BLE001 - whatever the engine raises is the result
        summary = str(error).partition("\n")[0]
        return TransformersResult(error=f"{type(error).__name__}: {summary}"[:300])
    if not isinstance(message, Mapping):
        return TransformersResult(error=f"returned {type(message).__name__}, no message")
    return TransformersResult(
        reasoning=_first(message, Role.REASONING),
        text=_first(message, Role.TEXT),
        tool_uses=[call for entry in message.get("tool_calls") or () if (call := _tool_use(entry)) is not None],
        message=message,
    )


def _parse(schema: Schema, output: str, prefix: str, tools: Sequence[Mapping[str, Any]] | None) -> Any:
    dialect = runnable_dialect(schema)
    specification = dict(schema.dialects[dialect])
    if dialect is Dialect.RESPONSE_SCHEMA:
        from transformers.utils.chat_parsing_utils import recursive_parse

        return recursive_parse(prefix + output, specification)
    from inspect import signature

    from transformers.utils.chat_parsing import parse_response

    options = {"tools": list(tools)} if tools is not None and "tools" in signature(parse_response).parameters else {}
    return parse_response(output, specification, prefix=prefix, **options)


def _first(message: Mapping[str, Any], role: Role) -> str:
    for name, field_role in ROLE_OF_FIELD.items():
        value = message.get(name)
        if field_role is role and isinstance(value, str):
            return value
    return ""


def _tool_use(entry: Any) -> ToolUse | None:
    function = entry.get("function") if isinstance(entry, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments")
    return {"name": function["name"], "input": arguments if isinstance(arguments, dict) else {}}
