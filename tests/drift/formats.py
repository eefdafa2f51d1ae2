"""A chat template written for these tests, its edits, and two schemas: one reads it, one reads its breaking edit."""

from __future__ import annotations

import hashlib
from pathlib import Path

TEMPLATE = """\
{#- A small format. -#}
{%- if tools -%}
[system]You may call: {{ tools | tojson }}[end]
{%- endif -%}
{%- for message in messages -%}
{{- '[' + message.role + ']' -}}
{%- if message.reasoning_content -%}
{{- '<think>' + message.reasoning_content + '</think>' -}}
{%- endif -%}
{{- message.content | trim -}}
{%- for call in message.tool_calls or [] -%}
{{- '<call>' + (call.function | tojson) + '</call>' -}}
{%- endfor -%}
{{- '[end]' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '[assistant]' -}}
{%- endif -%}
"""

COSMETIC = {
    "comment": TEMPLATE.replace("A small format.", "A small format, explained."),
    "tilde": TEMPLATE.replace(
        "'<call>' + (call.function | tojson) + '</call>'", "'<call>' ~ (call.function | tojson) ~ '</call>'"
    ),
    "final newline": TEMPLATE.removesuffix("\n"),
}
COMPATIBLE = TEMPLATE.replace("You may call:", "Tools that you may call:")
BREAKING = TEMPLATE.replace("<call>", "<tool>").replace("</call>", "</tool>")
NOT_JINJA = TEMPLATE.replace("{%- endfor -%}", "", 1)

_SCHEMA = """\
name: {name}
title: Turns in brackets, calls in {tag} tags
origin:
  source: rgw
turn:
  end:
  - '[end]'
  reserved:
  - <think>
  - </think>
  - <{tag}>
  - </{tag}>
dialects:
  response_template:
    defaults:
      role: assistant
    start_anchor: '[assistant]'
    fields:
      reasoning_content:
        open: <think>
        close: </think>
        content: text
        content_args:
          strip: false
      tool_calls:
        open: <{tag}>
        close: </{tag}>
        repeats: true
        content: json
        transform:
          type: function
          function: '{{content}}'
      content:
        close: '[end]'
        content: text
        content_args:
          strip: false
samples:
- title: a call
  output: '<think>Look.</think><{tag}>{{"name": "f", "arguments": {{"x": 1}}}}</{tag}>[end]'
  expected:
    reasoning: Look.
    tool_uses:
    - name: f
      input:
        x: 1
"""


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write_registry(root: Path, *templates: tuple[str, str | None, str], reserved: str = "") -> Path:
    """A registry of the schemas `bracketed` and `tooled`, and of templates: text, schema and repositories."""
    (root / "schemas").mkdir(parents=True, exist_ok=True)
    for name, tag in (("bracketed", "call"), ("tooled", "tool")):
        text = _SCHEMA.format(name=name, tag=tag) + "usable_by_name: for tests\n"
        text = text.replace("  reserved:\n", f"  reserved:\n  - {reserved}\n") if reserved else text
        (root / "schemas" / f"{name}.yaml").write_text(text, "utf-8")
    entries = "".join(
        f"- sha256: {sha256(text)}\n  schema: {schema or 'null'}\n  variant: v{number}\n  family: brackets\n"
        + ("" if schema else "  reason: for tests\n")
        + (f"  repos: [{repos}]\n" if repos else "")
        for number, (text, schema, repos) in enumerate(templates)
    )
    (root / "templates.yaml").write_text("templates:\n" + entries if entries else "templates: []\n", "utf-8")
    return root
