"""The view of `rgw parse` without a schema: what each schema makes of one output. A comparison, not a detection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rgw.output.text import BAD, DIM, GOOD, NAME, WARN, line, table
from rgw.rollouts import NotRunnable, Reading


def view(results: Sequence[Reading | NotRunnable]) -> Iterator[RenderableType]:
    """What a person sees of `results`, which are sorted by how much each schema read."""
    yield Text.assemble(("A comparison, not a detection", WARN), line("  the output read with every schema", DIM))
    yield table(("", "Schema", "Reasoning", "Text", "Tool calls", "Issues"), [_row(result) for result in results])
    clean = sum(result.clean for result in results)
    yield ""
    yield line(
        f"{clean} of {len(results)} schemas read it cleanly. Several may read one output alike: only the hash of the"
        " model's chat template says which schema is its own."
    )


def _row(result: Reading | NotRunnable) -> list[str | Text]:
    if isinstance(result, NotRunnable):
        return [line("·", DIM), line(result.schema, DIM), "", "", "", line(result.error.message, DIM)]
    parsed = result.parsed
    codes = ", ".join(dict.fromkeys(issue.code.value for issue in parsed.issues))
    if parsed.ill_formed:
        return [line("✗", BAD), line(result.schema, NAME), "", "", "", line(codes, BAD)]
    return [
        line("✗", BAD) if parsed.keeps_call_in_text else line("✓", WARN if parsed.issues else GOOD),
        line(result.schema, NAME),
        _size(parsed.reasoning),
        _size(parsed.text),
        ", ".join(tool_use["name"] for tool_use in parsed.tool_uses),
        line(codes, WARN),
    ]


def _size(text: str) -> str:
    return f"{len(text):,}" if text else ""
