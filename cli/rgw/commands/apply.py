"""`rgw apply`: a proved schema into a model directory, for every engine that reads response templates there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rgw.commands.options import ConversationsOption, RegistryOption, RevisionOption, SeedOption, with_output
from rgw.errors import SourceError, UsageError
from rgw.output import Mode, Output


@with_output
def apply(
    output: Output,
    ref: Annotated[
        str, typer.Argument(metavar="REF", help="What names the chat template: a hub id, a model directory, a file.")
    ],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The model directory to write to.")],
    conversations: ConversationsOption = 200,
    seed: SeedOption = 0,
    revision: RevisionOption = None,
    registry: RegistryOption = None,
) -> None:
    """Write the schema of a chat template into a model directory, when it proves.

    It becomes the response_template of the directory's tokenizer_config.json, which transformers, vLLM and SGLang read.
    Every other byte of the file stays as it is, and the old file is kept beside it.

    \b
    rgw apply ./checkpoint ./checkpoint
    rgw apply acme/acme-1 ./fine-tuned --registry ./registry
    """
    from rgw.applying import apply as apply_schema
    from rgw.proof.batch import Attempt, Status, certify, pairs_of_refs
    from rgw.registry.loader import load_registry
    from rgw.templates.resolve import resolve

    if not directory.is_dir():
        raise SourceError(f"{directory}: no such directory", "name the directory of a chat model")
    known = load_registry(registry)
    pair = pairs_of_refs([ref], known, revision=revision)[0]
    own = resolve(str(directory)).effective
    if own is None:
        raise SourceError(f"{directory} has no chat template", "name the directory of a chat model")
    if own.sha256 != pair.sha256:
        fix = "write the schema of the directory's own template: rgw apply DIR DIR"
        raise UsageError(f"{directory} has another chat template than {ref}", fix)
    attempt = pair if isinstance(pair, Attempt) else certify(pair, count=conversations, seed=seed)
    if attempt.status is Status.UNRECOGNISED:
        output.error(
            f"{ref}: nothing was written: no schema is registered for its template — register one: rgw infer {ref}"
            " --write --registry DIR"
        )
        raise typer.Exit(1)
    if attempt.status is not Status.PROVED:
        output.error(f"{ref}: nothing was written: {attempt.message or 'the pair is not proved'}")
        raise typer.Exit(3 if attempt.status is Status.ERROR else 1)
    application = apply_schema(known.schema(str(attempt.schema)), directory)
    document = {
        "version": 1,
        "ref": ref,
        "schema": attempt.schema,
        "path": str(application.path),
        "backup": str(application.backup) if application.backup else None,
        "warnings": list(application.warnings),
        "certificate_digest": attempt.proof.digest if attempt.proof else None,
    }
    output.document(document, human=tuple, quiet=[str(application.path)] if application.backup else [])
    if output.mode is Mode.HUMAN:
        kept = f"the old file is {application.backup}" if application.backup else "nothing had to be written"
        output.text(f"{application.path} reads with {attempt.schema}; {kept}")
    if output.mode is not Mode.JSON:
        for warning in application.warnings:
            output.warning(warning)
