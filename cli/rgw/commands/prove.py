"""`rgw prove`: whether a response schema reads what a chat template writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rgw.commands.options import (
    AnyRefsArgument,
    ConversationsOption,
    JobsOption,
    RegistryOption,
    RevisionOption,
    SeedOption,
    with_output,
)
from rgw.errors import UsageError
from rgw.output import Mode, Output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rgw.proof.batch import Attempt

_UNTRIED_TOLD = 10


@with_output
def prove(
    output: Output,
    refs: AnyRefsArgument = None,
    every: Annotated[bool, typer.Option("--all", help="Prove every registered template with its schema.")] = False,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="NAME", help="Try this schema; with --all, only the templates of it."),
    ] = None,
    templates: Annotated[
        Path | None,
        typer.Option(
            "--templates",
            metavar="DIR",
            help="With --all: a folder of .jinja files that holds the texts, instead of the hub.",
        ),
    ] = None,
    conversations: ConversationsOption = 200,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    revision: RevisionOption = None,
    registry: RegistryOption = None,
) -> None:
    """Prove that a response schema reads what a chat template writes.

    Made-up conversations are rendered with the template and must come back as they were meant; no damaged or hostile
    turn may be misread without an issue. The same seed gives the same certificate.

    \b
    rgw prove Qwen/Qwen3-8B
    rgw prove ./checkpoint/chat_template.jinja --schema qwen3 --conversations 1000
    rgw prove --all --templates ./templates --jobs 4
    """
    if bool(refs) == every:
        if refs:
            raise UsageError("REF and --all exclude each other", "leave one of them out")
        raise UsageError("there is nothing to prove", "name a REF, or pass --all")
    if templates is not None and not every:
        raise UsageError("--templates is for --all", "name the template file as REF")
    from rgw.output.documents import proofs_document
    from rgw.proof.batch import Status, pairs_of_refs, pairs_of_registry, prove_all
    from rgw.registry.loader import load_registry
    from rgw.templates.texts import texts_in_folder, texts_on_hub

    known = load_registry(registry)

    def find_texts(carriers: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
        return texts_in_folder(templates) if templates is not None else texts_on_hub(carriers)

    pairs = (
        pairs_of_refs(refs, known, schema=schema, revision=revision)
        if refs
        else pairs_of_registry(known, find_texts, schema=schema)
    )
    workers = min(jobs or _processors(), max(len(pairs), 1))
    proving = prove_all(pairs, count=conversations, seed=seed, jobs=workers)
    attempts = list(output.progress(proving, description="Proving", total=len(pairs)))

    def human() -> Iterator[RenderableType]:
        from rgw.output.proofs import view

        return view(attempts)

    proved = [attempt.ref for attempt in attempts if attempt.status is Status.PROVED]
    output.document(proofs_document(attempts), human=human, quiet=proved)
    _tell(output, attempts)
    raise typer.Exit(exit_code(attempts, every=every))


def exit_code(attempts: Sequence[Attempt], *, every: bool) -> int:
    """The exit code: in a whole registry, a template without a text is told but only fails where nothing was tried."""
    from rgw.proof.batch import Status

    found = {attempt.status for attempt in attempts}
    untried = {Status.ERROR} if every and Status.PROVED in found else {Status.ERROR, Status.NO_TEXT}
    if found & untried or not found:
        return 3
    return int(bool(found & {Status.NOT_PROVED, Status.UNRECOGNISED}))


def _tell(output: Output, attempts: Sequence[Attempt]) -> None:
    """Say on stderr what the document does not show a person, or shows nobody."""
    from rgw.proof.batch import Status

    untried = [attempt for attempt in attempts if attempt.proof is None]
    if output.mode is Mode.HUMAN:
        untried = [attempt for attempt in untried if attempt.status is Status.NO_TEXT and len(attempts) > 1]
    for attempt in untried[:_UNTRIED_TOLD]:
        output.warning(f"{attempt.ref}: {attempt.message}")
    if len(untried) > _UNTRIED_TOLD:
        output.warning(f"{len(untried) - _UNTRIED_TOLD} more were not tried; the JSON document has them")
    for attempt in attempts:
        if attempt.proof is not None and not attempt.proof.proved and output.mode is not Mode.HUMAN:
            output.warning(f"{attempt.ref}: not proved with schema {attempt.schema}")


def _processors() -> int:
    import os

    return os.cpu_count() or 1
