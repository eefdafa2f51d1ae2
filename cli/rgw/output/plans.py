"""The view of `rgw resync`: what is added, changed and removed, with a readable diff for each schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from rgw.output.text import BAD, DIM, GOOD, NAME, WARN, indented, line, table
from rgw.upstream.planning import Change, Plan, TemplateChange

_MARKS = {Change.ADDED: ("+", GOOD), Change.CHANGED: ("~", WARN), Change.REMOVED: ("-", BAD)}


def view(plan: Plan, *, written: bool) -> Iterator[RenderableType]:
    """What a person sees of a plan."""
    yield Text.assemble(
        line(plan.before or "nothing", DIM),
        " → ",
        line(f"TRL {plan.after}", "bold"),
        line(f"  in {_from_here(plan.registry)}", DIM),
    )
    for schema in plan.schemas:
        mark, style = _MARKS[schema.kind]
        yield ""
        yield Text.assemble((f"{mark} schema ", style), line(schema.name, NAME))
        if schema.kind is not Change.REMOVED:
            yield from _diff(schema.diff)
    if plan.templates:
        yield ""
        yield table(("", "Template", "Variant", "Schema"), [_template_row(change) for change in plan.templates])
    for note in plan.notes:
        yield ""
        yield Text.assemble(("! ", WARN), line(note.message))
        yield from _diff(note.diff)
    yield ""
    if plan.empty:
        yield Text.assemble(("✓ ", GOOD), "nothing to do: the registry says what TRL says")
    else:
        yield line(_summary(plan, written=written), "bold")


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _template_row(change: TemplateChange) -> list[str | Text]:
    mark, style = _MARKS[change.kind]
    before, after = change.before or "no schema", change.after or "no schema"
    moved = change.kind is Change.CHANGED and before != after
    schema = f"{before} → {after}" if moved else before if change.kind is Change.REMOVED else after
    return [line(mark, style), line(change.sha256[:12]), change.variant, line(schema, NAME if change.after else DIM)]


def _diff(diff: str) -> Iterator[RenderableType]:
    styles = {"+": "green", "-": "red", "@": "cyan"}
    lines = [line(text, styles.get(text[:1], DIM)) for text in diff.splitlines() if not text.startswith(("---", "+++"))]
    if lines:
        yield indented(Text("\n").join(lines))


def _summary(plan: Plan, *, written: bool) -> str:
    counts = [
        f"{count} {noun} {kind.value}"
        for noun, changes in (("schemas", plan.schemas), ("templates", plan.templates))
        for kind in Change
        if (count := sum(change.kind is kind for change in changes))
    ]
    done = "written" if written else "to write"
    files = ", ".join(sorted(plan.contents))
    return f"{', '.join(counts) or 'only the pin moves'}; {done}: {files}"
