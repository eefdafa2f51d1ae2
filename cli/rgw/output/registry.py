"""The views of `rgw registry`: all schemas with what they are registered for, and one schema in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import RenderableType
from rich.panel import Panel
from rich.text import Text

from rgw.output.json_text import pretty
from rgw.output.text import BAD, DIM, GOOD, NAME, WARN, block, card, line, table
from rgw.registry.layer import Layer
from rgw.registry.loader import Registry
from rgw.registry.model import RegisteredTemplate, Schema

if TYPE_CHECKING:
    from rgw.checking import SchemaCheck

REPOS_SHOWN = 3


def list_view(registry: Registry) -> Iterator[RenderableType]:
    """What a person sees of a registry."""
    counts = Counter(template.schema for template in registry.templates.values())
    rows = [_schema_row(schema, registry.layer_of(schema.name), counts) for schema in registry.schemas.values()]
    yield table(("Schema", "Title", "Dialects", "Origin", "Templates"), rows)
    yield ""
    yield line(f"{len(registry.schemas)} schemas for {len(registry.templates) - counts[None]} templates", DIM)
    if counts[None]:
        yield line(f"{counts[None]} more templates are known to have no schema", DIM)


def show_view(schema: Schema, templates: Sequence[RegisteredTemplate]) -> Iterator[RenderableType]:
    """What a person sees of one schema."""
    yield Text.assemble(line(schema.name, NAME), "  ", line(schema.title, "bold"))
    yield card(_facts(schema))
    yield ""
    yield table(("Template", "Family", "Variant", "Carried by"), [_template_row(template) for template in templates])
    for dialect, spec in schema.dialects.items():
        yield ""
        yield Panel(
            block(pretty(spec)),
            title=line(dialect.value, "bold"),
            title_align="left",
            box=box.ROUNDED,
            border_style=DIM,
        )


def check_view(checks: Sequence[SchemaCheck]) -> Iterator[RenderableType]:
    """What a person sees of a check."""
    yield table(("", "Schema", "Samples", ""), [_check_row(check) for check in checks])
    faulty = sum(bool(check.problems) for check in checks)
    yield ""
    yield line(
        f"{faulty} of {len(checks)} schemas have problems" if faulty else "the registry is valid",
        BAD if faulty else GOOD,
    )


def _check_row(check: SchemaCheck) -> list[str | Text]:
    mark, style = ("✗", BAD) if check.problems else ("·", DIM) if check.skipped else ("✓", GOOD)
    remarks = check.problems or ((check.skipped,) if check.skipped else ())
    return [line(mark, style), line(check.name, NAME), str(check.samples), Text("\n").join(map(line, remarks))]


def _schema_row(schema: Schema, layer: Layer, counts: Mapping[str | None, int]) -> list[str | Text]:
    origin = schema.origin.source if layer is Layer.PACKAGED else layer.value
    return [
        line(schema.name, NAME),
        schema.title,
        Text("\n").join(line(dialect.value) for dialect in schema.dialects),
        line(f"{origin}, patched", WARN) if schema.patched else line(origin, DIM),
        str(counts.get(schema.name, 0)),
    ]


def _facts(schema: Schema) -> Iterator[tuple[str, str | Text]]:
    names = ", ".join(f"{name} ({dialect})" for dialect, name in schema.origin.names.items())
    yield "origin", f"{schema.origin.source}: {names}" if names else schema.origin.source
    if schema.patched:
        yield "patched", line(schema.patched, WARN)
    if schema.usable_by_name:
        yield "by name only", schema.usable_by_name
    yield "end of turn", "  ".join(schema.turn.end) or "none"
    if schema.turn.prefill:
        yield "prefill", schema.turn.prefill
    yield "untyped values", f"read as {schema.untyped_values.value}"


def _template_row(template: RegisteredTemplate) -> list[str | Text]:
    repos = list(template.repos[:REPOS_SHOWN])
    if len(template.repos) > REPOS_SHOWN:
        repos.append(f"and {len(template.repos) - REPOS_SHOWN} more")
    return [line(template.sha256[:12], DIM), template.family, template.variant, Text("\n").join(map(line, repos))]
