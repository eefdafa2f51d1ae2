"""From a REF as a person writes it to chat templates: decides what the REF names and asks the module that reads it.

huggingface_hub is only imported for a hub id, never for a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rgw.errors import Obstacle, SourceError, UsageError
from rgw.templates import local
from rgw.templates.concurrency import Watch
from rgw.templates.model import ResolvedTemplates, UnresolvedTemplates

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_MODEL_FILES = frozenset(
    {"chat_template.jinja", "chat_template.json", "tokenizer_config.json", "processor_config.json"}
)
_FILE_SUFFIXES = frozenset({".jinja", ".json", ".j2", ".jinja2", ".txt", ".gguf"})


def resolve(ref: str, *, revision: str | None = None) -> ResolvedTemplates:
    """Read the chat templates that a REF names.

    Args:
        ref: A model directory, a file, `-` for standard input, or the id of a hub repository. What exists on disk is
            never looked up on the hub.
        revision: A branch, tag or commit of the hub repository.

    Raises:
        SourceError: It could not be read.
        UsageError: The request cannot be meant.
    """
    if is_local(ref):
        if revision is not None:
            raise _no_revision(ref)
        return _resolve_local(ref)
    from rgw.templates.hub import resolve_repository

    return resolve_repository(ref, revision=revision)


def resolve_many(refs: Sequence[str], *, revision: str | None = None) -> list[ResolvedTemplates | UnresolvedTemplates]:
    """Read many REFs, hub repositories concurrently, and return a result for each, in order.

    Raises:
        UsageError: The request cannot be meant; a REF that cannot be read is a result.
    """
    if revision is not None:
        for ref in filter(is_local, refs):
            raise _no_revision(ref)
    results = resolve_places((ref, revision) for ref in refs)
    return [results[ref, revision] for ref in refs]


def resolve_places(
    places: Iterable[tuple[str, str | None]], *, watch: Watch[tuple[str, str | None]] = iter
) -> dict[tuple[str, str | None], ResolvedTemplates | UnresolvedTemplates]:
    """Read many REFs, each at a revision of its own, hub repositories concurrently; local ones have no revision.

    Args:
        places: The REFs, each with its revision.
        watch: Lets somebody watch the hub repositories pass while they are read.
    """
    unique = dict.fromkeys(places)
    results = {(ref, revision): _resolve_or_report(ref) for ref, revision in unique if is_local(ref)}
    repositories = [place for place in unique if place not in results]
    if repositories:
        from rgw.templates.hub import resolve_revisions

        results |= resolve_revisions(repositories, watch=watch)
    return results


def is_local(ref: str) -> bool:
    """Whether a REF names something on this machine: it exists, or it is written as a path or a file name."""
    return ref == "-" or _exists(ref) or not _HUB_ID.fullmatch(ref) or Path(ref).suffix in _FILE_SUFFIXES


def name_of(ref: str) -> str:
    """What to call the template of a REF: as its repository or directory, or as a file of a name of its own."""
    if ref == "-":
        return "template"
    path = Path(ref).absolute() if is_local(ref) else Path(ref)
    if path.name in _MODEL_FILES:
        path = path.parent
    elif path.suffix in _FILE_SUFFIXES:
        path = path.with_suffix("")
    return path.name.lower() or "template"


def place_of(written: str) -> tuple[str, str | None]:
    """A REF and its revision, as people write them in one: `OWNER/NAME@REVISION`. What exists is a path, whole."""
    ref, at, revision = written.rpartition("@")
    if at and revision and _HUB_ID.fullmatch(ref) and not _exists(written):
        return ref, revision
    return written, None


def _resolve_or_report(ref: str) -> ResolvedTemplates | UnresolvedTemplates:
    try:
        return _resolve_local(ref)
    except SourceError as error:
        return UnresolvedTemplates(ref, error.message, error.fix, error.obstacle)


def _no_revision(ref: str) -> UsageError:
    return UsageError(f"{ref} is local and has no revisions", "leave --revision out, or name a hub id")


def _resolve_local(ref: str) -> ResolvedTemplates:
    if ref == "-":
        return local.read_standard_input()
    if not _exists(ref):
        raise SourceError(
            f"{ref}: no such file or directory",
            "name a path that exists, or a hub id such as OWNER/NAME",
            Obstacle.MISSING,
        )
    path = Path(ref)
    return local.read_directory(path, ref) if path.is_dir() else local.read_file(path, ref)


def _exists(ref: str) -> bool:
    try:
        return Path(ref).exists()
    except (OSError, ValueError):  # a name that no file system takes, such as one with a NUL
        return False
