"""`rgw register`: a template with a schema into a project's own registry, when the pair proves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rgw.commands.options import (
    ConversationsOption,
    RefArgument,
    RevisionOption,
    SeedOption,
    directory,
    with_output,
)
from rgw.output import Mode, Output

if TYPE_CHECKING:
    from rich.console import RenderableType


@with_output
def register(
    output: Output,
    ref: RefArgument,
    schema: Annotated[str, typer.Option("--schema", metavar="NAME", help="The schema that reads it.")],
    registry: Annotated[
        Path,
        typer.Option(
            "--registry",
            metavar="DIR",
            envvar="RGW_REGISTRY",
            parser=directory,
            help="The project's own registry; created when it is first used.",
        ),
    ],
    as_file: Annotated[
        Path | None,
        typer.Option("--as-file", metavar="FILE", help="The YAML file of a new schema, which is registered with it."),
    ] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="NAME", help="What to call it; by default as REF is called.")
    ] = None,
    family: Annotated[
        str | None, typer.Option("--family", metavar="NAME", help="The model family; by default the schema's name.")
    ] = None,
    conversations: ConversationsOption = 200,
    seed: SeedOption = 0,
    revision: RevisionOption = None,
) -> None:
    """Register a template with a schema in a project's own registry, when the pair proves.

    A pair that does not prove is refused, with the smallest turn that is misread; nothing is written then.

    \b
    rgw register ./checkpoint --schema qwen3 --registry ./registry
    rgw register acme/acme-1 --schema acme --as-file acme.yaml --registry ./registry
    """
    from rgw.output.documents import registration_document
    from rgw.proof.registration import Candidate
    from rgw.proof.registration import register as register_candidate

    candidate = Candidate(ref, schema, as_file, revision, variant, family)
    registration = register_candidate(candidate, registry, count=conversations, seed=seed)

    def human() -> Iterator[RenderableType]:
        from rgw.output.proofs import registration_view

        return registration_view(registration, str(registry))

    quiet_lines = [str(registration.entry["sha256"])] if registration.entry else []
    output.document(registration_document(registration), human=human, quiet=quiet_lines)
    if registration.entry is None:
        if registration.attempt.proof is None or output.mode is not Mode.HUMAN:
            output.error(f"{ref}: not registered: {registration.attempt.message or 'the pair is not proved'}")
        raise typer.Exit(3 if registration.attempt.proof is None else 1)
