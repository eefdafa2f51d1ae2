"""`rgw resync`: make the registry from TRL, as a plan to read, to check or to write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rgw.commands.options import with_output
from rgw.errors import UsageError
from rgw.output import Output

if TYPE_CHECKING:
    from rich.console import RenderableType


@with_output
def resync(
    output: Output,
    trl_ref: Annotated[
        str | None,
        typer.Option("--trl-ref", metavar="REF", help="A tag, branch or commit of TRL, or a release with pypi."),
    ] = None,
    trl_source: Annotated[
        str,
        typer.Option(
            "--trl-source", metavar="git|pypi|PATH", help="Where TRL is read; PATH is a wheel, sdist or directory."
        ),
    ] = "git",
    write: Annotated[bool, typer.Option("--write", help="Carry the plan out, all of it or nothing.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit 1 when the registry differs from the ref.")] = False,
    registry: Annotated[
        Path | None,
        typer.Option("--registry", metavar="DIR", help="The registry to re-sync; by default the one that rgw reads."),
    ] = None,
) -> None:
    """Make the registry from what TRL says at a ref; without --write, only show what would change.

    TRL is read as text: nothing of it is imported or executed.

    \b
    rgw resync --trl-ref v1.16.0
    rgw resync --trl-ref 1.16.0 --trl-source pypi --check
    rgw resync --trl-source ./trl-1.16.0-py3-none-any.whl --write
    """
    if write and check:
        raise UsageError("--write and --check exclude each other", "check first, then write")
    from rgw.output.documents import plan_document
    from rgw.registry.loader import packaged_registry_path
    from rgw.upstream.planning import apply_plan, plan_resync
    from rgw.upstream.reading import read_upstream
    from rgw.upstream.sources import UpstreamSource

    plan = plan_resync(registry or packaged_registry_path(), read_upstream(UpstreamSource(trl_ref, trl_source)))
    if write:
        apply_plan(plan)

    def human() -> Iterator[RenderableType]:
        from rgw.output.plans import view

        return view(plan, written=write)

    output.document(plan_document(plan, written=write), human=human, quiet=sorted(plan.contents))
    if plan.contents and not (write or check):
        output.hint("nothing was written: --write carries this out")
    raise typer.Exit(int(check and plan.differs))
