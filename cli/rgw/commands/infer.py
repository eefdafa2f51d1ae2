"""`rgw infer`: a response schema for a chat template that nobody has registered, proved or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rgw.commands.options import (
    ConversationsOption,
    RefArgument,
    RegistryOption,
    RevisionOption,
    SeedOption,
    with_output,
)
from rgw.errors import SourceError, UsageError
from rgw.output import Mode, Output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rgw.inference.agreement import Agreement
    from rgw.inference.model import Inference
    from rgw.proof.registration import Candidate
    from rgw.registry.model import Schema


@with_output
def infer(
    output: Output,
    ref: RefArgument,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What to call the schema; by default as REF is called.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Put schema and template in the registry of --registry, when they prove.")
    ] = False,
    eos_token: Annotated[
        str | None,
        typer.Option("--eos-token", metavar="TOKEN", help="The tokenizer's eos_token, where REF does not say it."),
    ] = None,
    conversations: ConversationsOption = 200,
    seed: SeedOption = 0,
    revision: RevisionOption = None,
    registry: RegistryOption = None,
) -> None:
    """Infer a response schema from a chat template alone, and prove it.

    Prints the file of the schema with a comment above each inferred line. One that does not prove comes with the turn
    that it misreads; it is never written. Where the template is registered already, the first lines say on how many
    turns the registered schema reads the same.

    \b
    rgw infer acme/acme-1 > acme-1.yaml
    rgw infer ./checkpoint --name acme --write --registry ./registry
    """
    if write and registry is None:
        raise UsageError("--write needs a registry to write to", "add --registry DIR")
    from rgw.registry.schema_file import NAME

    if name is not None and not re.fullmatch(NAME, name):
        fix = "use lower-case letters and digits, joined by '_', '-' or '.'"
        raise UsageError(f"{name!r} cannot name a schema", fix)
    from rgw.inference.document import inference_document, inferred_file
    from rgw.inference.inferring import infer as infer_schema
    from rgw.inference.inferring import render_pool
    from rgw.templates.rendering import PLACEHOLDER_TOKENS
    from rgw.templates.resolve import resolve
    from rgw.templates.special_tokens import special_tokens

    resolved = resolve(ref, revision=revision)
    template = resolved.effective
    if template is None:
        raise SourceError(f"{ref} has no chat template", "name the template that it is served with")
    registered = _registered(template.sha256, registry)
    known = {"eos_token": registered.turn.end[0]} if registered is not None and registered.turn.end else {}
    given = {"eos_token": eos_token} if eos_token is not None else {}
    named = {**known, **special_tokens(ref), **given}
    tokens = {**PLACEHOLDER_TOKENS, **named}
    called = name or _name_of(ref)
    agreement: Agreement | None = None
    with render_pool(tokens) as pool:
        inference = infer_schema(
            template.text, name=called, tokens=named, conversations=conversations, seed=seed, pool=pool
        )
        if registered is not None and inference.schema is not None and inference.proved:
            from rgw.inference.agreement import agreement as agreement_of

            agreement = agreement_of(
                pool,
                template.text,
                inference.schema,
                registered,
                tokens=tokens,
                count=conversations,
                seed=seed,
            )

    def human() -> Iterator[RenderableType]:
        from rgw.output.inferences import counterexample

        return counterexample(inference)

    if output.mode is Mode.HUMAN or (output.mode is Mode.QUIET and inference.proved):
        output.paragraph(inferred_file(ref, inference, agreement).rstrip("\n"))
    output.document(inference_document(ref, template.sha256, inference, agreement), human=human)
    if not inference.proved:
        if output.mode is not Mode.HUMAN:
            output.error(f"{ref}: not proved: {inference.failure}")
        raise typer.Exit(1)
    if write:
        assert registry is not None
        from rgw.proof.registration import Candidate

        _write(output, Candidate(ref, called, revision=revision, resolved=resolved), inference, registry, conversations)


def _registered(sha256: str, registry: Path | None) -> Schema | None:
    """The schema that is registered for a template, if there is one."""
    from rgw.registry.loader import load_registry

    known = load_registry(registry if registry is not None and registry.is_dir() else None)
    entry = known.find_template(sha256)
    return known.schema(entry.schema) if entry is not None and entry.schema is not None else None


def _write(output: Output, candidate: Candidate, inference: Inference, registry: Path, conversations: int) -> None:
    """Register the template with the schema, which proves the pair once more."""
    if inference.end_is_unknown:
        message = f"{candidate.ref}: turns end with the tokenizer's own eos_token, and nothing says which that is"
        raise UsageError(message, "name it: --eos-token TOKEN")
    from dataclasses import replace
    from tempfile import TemporaryDirectory

    from rgw.inference.document import inferred_file
    from rgw.proof.registration import register

    with TemporaryDirectory() as directory:
        path = Path(directory) / f"{candidate.schema}.yaml"
        path.write_text(inferred_file(candidate.ref, inference), encoding="utf-8")
        registration = register(replace(candidate, schema_file=path), registry, count=conversations)
    if registration.entry is None:
        message = registration.attempt.message or "the pair is not proved"
        output.error(f"{candidate.ref}: not registered: {message}")
        raise typer.Exit(1)
    output.hint(f"registered as {registration.entry['variant']} with schema {candidate.schema} in {registry}")


def _name_of(ref: str) -> str:
    """A schema name from what names the template."""
    from rgw.templates.resolve import name_of

    return re.sub(r"[^a-z0-9]+", "_", name_of(ref)).strip("_") or "inferred"
