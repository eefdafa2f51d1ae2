"""The views of `rgw registry`: all schemas with what they are registered for, and one schema in full."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.panel import Panel
from rich.text import Text

from rgw.output.text import DIM, NAME, WARN, block, card, line, table
from rgw.registry.model import RegisteredTemplate, Schema


def list_view(schemas: Sequence[Schema], templates: Sequence[RegisteredTemplate]) -> Iterator[RenderableType]:
    """What a person sees of a registry."""
    yield table(
        ("Schema", "Title", "Dialects", "Origin", "Templates"), [_schema_row(schema, templates) for schema in schemas]
    )
    unread = [template for template in templates if template.schema is None]
    yield ""
    yield line(f"{len(schemas)} schemas for {len(templates) - len(unread)} templates", DIM)
    if unread:
        yield line(f"{len(unread)} more templates are known to have no schema", DIM)


def show_view(schema: Schema, templates: Sequence[RegisteredTemplate]) -> Iterator[RenderableType]:
    """What a person sees of one schema."""
    yield Text.assemble(line(schema.name, NAME), "  ", line(schema.title, "bold"))
    yield card(_facts(schema))
    yield ""
    yield table(("Template", "Family", "Variant", "Carried by"), [_template_row(template) for template in templates])
    for dialect, spec in schema.dialects.items():
        yield ""
        yield Panel(
            block(json.dumps(spec, indent=2, ensure_ascii=False)),
            title=line(dialect.value, "bold"),
            title_align="left",
            box=box.ROUNDED,
            border_style=DIM,
        )


def _schema_row(schema: Schema, templates: Sequence[RegisteredTemplate]) -> list[str | Text]:
    count = sum(template.schema == schema.name for template in templates)
    return [
        line(schema.name, NAME),
        schema.title,
        "\n".join(dialect.value for dialect in schema.dialects),
        line(f"{schema.origin.source}, patched", WARN) if schema.patched else line(schema.origin.source, DIM),
        str(count),
    ]


def _facts(schema: Schema) -> Iterator[tuple[str, str | Text]]:
    names = ", ".join(f"{name} ({dialect})" for dialect, name in schema.origin.names.items())
    yield "origin", f"{schema.origin.source}: {names}" if names else schema.origin.source
    if schema.patched:
        yield "patched", line(schema.patched, WARN)
    yield "end of turn", "  ".join(schema.turn.end) or "none"
    if schema.turn.prefill:
        yield "prefill", schema.turn.prefill
    yield "untyped values", f"read as {schema.untyped_values.value}"


def _template_row(template: RegisteredTemplate) -> list[str | Text]:
    return [line(template.sha256[:12], DIM), template.family, template.variant, "\n".join(template.repos)]
