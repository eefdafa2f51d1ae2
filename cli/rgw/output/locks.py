"""The view of `rgw lock`: each model with the commit, the template and the schema that were written down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from rgw.drift.lockfile import Lock, LockedModel
from rgw.output.text import BAD, DIM, GOOD, NAME, line, table


def view(lock: Lock, file: Path) -> Iterator[RenderableType]:
    """What a person sees of a lock."""
    yield table(("Model", "Commit", "Template", "Schema"), [_row(model) for model in lock.models])
    yield ""
    models = "1 model" if len(lock.models) == 1 else f"{len(lock.models)} models"
    yield Text.assemble(("✓ ", GOOD), line(f"{models} locked in {file}", "bold"))


def _row(model: LockedModel) -> list[str | Text]:
    effective = next((template for template in model.templates if template.effective), model.templates[0])
    followed = f"{model.revision} @ " if model.revision and model.revision != model.commit else ""
    return [
        line(model.ref, "bold"),
        line(f"{followed}{model.commit[:12]}" if model.commit else "local", DIM),
        line(effective.sha256[:12], DIM),
        line(effective.schema, NAME) if effective.schema else line("no schema", BAD),
    ]
