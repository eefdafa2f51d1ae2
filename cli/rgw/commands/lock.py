"""`rgw lock`: write down which models a project uses, as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rgw.commands.options import RegistryOption, RevisionOption, with_output
from rgw.errors import UsageError
from rgw.output import Output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rgw.drift.lockfile import Lock, LockedModel


@with_output
def lock(
    output: Output,
    refs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REF...]",
            help="Hub ids (OWNER/NAME, OWNER/NAME@REV) or model directories; without any, all that are locked.",
        ),
    ] = None,
    file: Annotated[Path, typer.Option("--file", metavar="FILE", help="The lockfile.")] = Path("rgw.lock"),
    revision: RevisionOption = None,
    registry: RegistryOption = None,
) -> None:
    """Write the models that a project uses to rgw.lock, so that `rgw check` can say what has changed.

    A model that is locked already is locked anew; the others in the file stay as they are. Without a REF all are locked
    anew, each at the revision that it follows.

    \b
    rgw lock Qwen/Qwen3-8B zai-org/GLM-4.5-Air
    rgw lock my-org/agent@v2
    rgw lock
    """
    from rgw.drift.lockfile import lock_models, lock_to_dict, read_lock, write_lock
    from rgw.registry.loader import load_registry
    from rgw.templates.resolve import is_local, resolve_places

    if revision is not None and not refs:
        raise UsageError("--revision needs to know of which models", "name them: rgw lock REF... --revision REV")
    known = load_registry(registry)
    before = read_lock(file) if file.exists() or not refs else None
    kept = before.models if before else ()
    places = [_place(ref, revision) for ref in dict.fromkeys(refs or ())]
    places = places or [(model.ref, model.revision) for model in kept]
    for ref, wanted in places:
        if wanted is not None and is_local(ref):
            raise UsageError(f"{ref} is local and has no revisions", "leave --revision out, or name a hub id")
    resolved = resolve_places(places)
    locked = lock_models(((wanted, resolved[ref, wanted]) for ref, wanted in places), known, kept=kept)
    write_lock(file, locked)
    unread = [model.ref for model in locked.models if not _is_read(model)]
    output.document(
        lock_to_dict(locked), human=lambda: _view(locked, file), quiet=(model.ref for model in locked.models)
    )
    for ref in unread:
        output.warning(f"{ref}: no schema is registered for its chat template — `rgw detect {ref}` says what to do")
    raise typer.Exit(int(bool(unread)))


def _place(written: str, revision: str | None) -> tuple[str, str | None]:
    from rgw.templates.resolve import place_of

    ref, own = place_of(written)
    return ref, own or revision


def _view(locked: Lock, file: Path) -> Iterator[RenderableType]:
    from rgw.output.locks import view

    return view(locked, file)


def _is_read(model: LockedModel) -> bool:
    return any(template.effective and template.schema for template in model.templates)
