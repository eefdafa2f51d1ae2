"""A chat template and a response schema that fit, written for these tests. The template trims text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rgw.registry.model import Dialect, Origin, Schema, TurnRules

TEMPLATE = (
    "{%- for message in messages -%}"
    "[{{ message.role }}]"
    "{%- if message.reasoning_content %}{{ '<think>' + message.reasoning_content + '</think>' }}{% endif -%}"
    "{{- message.content | trim -}}"
    "{%- for call in message.tool_calls or [] -%}"
    "{{- '<call>' + (call.function | tojson) + '</call>' -}}"
    "{%- endfor -%}"
    "[end]"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}[assistant]{%- endif -%}"
)

FIELDS: Mapping[str, Any] = {
    "reasoning_content": {
        "open": "<think>",
        "close": "</think>",
        "content": "text",
        "content_args": {"strip": False},
    },
    "tool_calls": {
        "open": "<call>",
        "close": "</call>",
        "repeats": True,
        "content": "json",
        "transform": {"type": "function", "function": "{content}"},
    },
    "content": {"close": "[end]", "content": "text", "content_args": {"strip": False}},
}


def schema(fields: Mapping[str, Any] = FIELDS) -> Schema:
    template = {"defaults": {"role": "assistant"}, "start_anchor": "[assistant]", "fields": dict(fields)}
    return Schema(
        name="bracketed",
        title="Bracketed turns",
        origin=Origin("rgw"),
        dialects={Dialect.RESPONSE_TEMPLATE: template},
        turn=TurnRules(end=("[end]",), reserved=("<think>", "</think>", "<call>", "</call>")),
    )
