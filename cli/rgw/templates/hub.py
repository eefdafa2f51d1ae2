"""Reads chat templates from hub repositories with huggingface_hub's own client, cache, token and offline mode.

One request lists a repository with its commit and file sizes; then only the few small files that can hold a template
are fetched. `local` decides on the cached snapshot which of them counts. Works with huggingface_hub 1.x and 2.x.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
from huggingface_hub.utils.tqdm import disable_progress_bars

from rgw.errors import SourceError
from rgw.templates import local
from rgw.templates.concurrency import map_concurrently, within
from rgw.templates.hub_errors import HTTP_ERROR, explain, is_timeout, not_cached, status_of
from rgw.templates.identity import MAX_TEMPLATE_BYTES, too_large
from rgw.templates.model import ResolvedTemplates, UnresolvedTemplates

CONCURRENT_REPOSITORIES = 16
DEADLINE_SECONDS = 60.0
RETRY_WAITS = (0.5, 1.0, 2.0)
LONGEST_RETRY_WAIT = 8.0

_COMMIT = re.compile(r"[0-9a-f]{40}")
_ADDITIONAL_TEMPLATE = re.compile(rf"{local.TEMPLATE_DIRECTORY}/[^/]*\.jinja")
_TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

Result = TypeVar("Result")


def resolve_repository(ref: str, *, revision: str | None = None) -> ResolvedTemplates:
    """Read the chat templates of a hub repository at a branch, tag or commit (default: the main branch).

    Raises:
        SourceError: It could not be read; the message says why and what to do.
    """
    _silence_client()
    try:
        # The client bounds each wait for data, but not a hub that sends one byte at a time.
        return within(DEADLINE_SECONDS, partial(_resolve, ref, revision))
    except TimeoutError as error:
        raise explain(error, ref, revision) from error


def resolve_revisions(
    places: Iterable[tuple[str, str | None]],
) -> dict[tuple[str, str | None], ResolvedTemplates | UnresolvedTemplates]:
    """Read many repositories concurrently, each at its own revision; one that fails is a result like the others."""

    def resolve(place: tuple[str, str | None]) -> ResolvedTemplates | UnresolvedTemplates:
        ref, revision = place
        try:
            return resolve_repository(ref, revision=revision)
        except SourceError as error:
            return UnresolvedTemplates(ref, error.message, error.fix, error.obstacle)

    return map_concurrently(resolve, places, workers=CONCURRENT_REPOSITORIES)


def _resolve(ref: str, revision: str | None) -> ResolvedTemplates:
    try:
        return _resolve_from_hub(ref, revision)
    except OfflineModeIsEnabled:
        return _resolve_from_cache(ref, revision)


def _resolve_from_hub(ref: str, revision: str | None) -> ResolvedTemplates:
    commit, name_now, sizes = _list_repository(ref, revision)
    renamed_to = name_now if name_now != ref else None
    local.require_tokenizer_files({name.partition("/")[0] for name in sizes}, ref)
    wanted = [name for name in sizes if name in local.SOURCE_FILES or _ADDITIONAL_TEMPLATE.fullmatch(name)]
    if not wanted:
        return ResolvedTemplates(ref, commit, renamed_to=renamed_to)
    for name in wanted:
        _require_small(f"{ref}/{name}", name, sizes[name])
    paths = [_ask(partial(hf_hub_download, ref, name, revision=commit), ref, revision) for name in wanted]
    snapshot = _snapshot_of(Path(paths[0]), commit)
    _remember_revision(snapshot, revision or constants.DEFAULT_REVISION, commit)
    return replace(local.read_directory(snapshot, ref, revision=commit), renamed_to=renamed_to)


def _list_repository(ref: str, revision: str | None) -> tuple[str, str, dict[str, int | None]]:
    """The commit that the revision stands for now, what the repository is called now, and the size of every file."""
    timeout = constants.HF_HUB_ETAG_TIMEOUT
    request = partial(HfApi().model_info, ref, revision=revision, files_metadata=True, timeout=timeout)
    info = _ask(request, ref, revision)
    if info.siblings is None or not _COMMIT.fullmatch(info.sha or ""):
        raise explain(ValueError(), ref, revision)
    return str(info.sha), info.id, {sibling.rfilename: sibling.size for sibling in info.siblings}


def _require_small(where: str, name: str, size: int | None) -> None:
    limit = local.MAX_CONFIGURATION_BYTES if name.endswith(".json") else MAX_TEMPLATE_BYTES
    if size is not None and size > limit:
        raise too_large(where, limit)


def _resolve_from_cache(ref: str, revision: str | None) -> ResolvedTemplates:
    patterns = [*local.SOURCE_FILES, f"{local.TEMPLATE_DIRECTORY}/*.jinja"]
    try:
        snapshot = Path(snapshot_download(ref, revision=revision, local_files_only=True, allow_patterns=patterns))
    except LocalEntryNotFoundError as error:
        raise not_cached(ref, revision) from error
    if not any((snapshot / name).exists() for name in (*local.SOURCE_FILES, local.TEMPLATE_DIRECTORY)):
        raise not_cached(ref, revision)
    return local.read_directory(snapshot, ref, revision=snapshot.name)


def _snapshot_of(path: Path, commit: str) -> Path:
    """The directory of the cache that mirrors a repository at one commit, given a file in it."""
    return next(parent for parent in path.parents if parent.name == commit)


def _remember_revision(snapshot: Path, revision: str, commit: str) -> None:
    """Note in the cache which commit a branch or tag stood for, so that offline mode finds it again.

    The files were fetched by commit, so that a branch moving meanwhile cannot mix two states; the client therefore has
    not noted it. The place and form are those of the documented cache layout.
    """
    if _COMMIT.fullmatch(revision):
        return
    note = snapshot.parent.parent / "refs" / revision
    draft = note.with_name(f"{note.name}.{threading.get_ident()}.draft")
    with suppress(OSError):  # a cache that cannot be written to can still be read from
        note.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(commit, encoding="utf-8")
        draft.replace(note)


def _ask(request: Callable[[], Result], ref: str, revision: str | None) -> Result:
    """Make one call of the client, and say what its failure means."""
    try:
        return _with_retries(request)
    except OfflineModeIsEnabled:
        raise
    except Exception as error:
        raise explain(error, ref, revision) from error


def _with_retries(request: Callable[[], Result]) -> Result:
    """Call again after failures that pass by themselves; the client itself retries only some of its requests."""
    for attempt, wait in enumerate(RETRY_WAITS):
        try:
            return request()
        except HTTP_ERROR as error:
            # A time-out is long already. It is worth one more try, for when one thread loses its connection, the
            # client closes those of the others, which then wait in vain.
            if not _is_transient(error) or (is_timeout(error) and attempt > 0):
                raise
            time.sleep(max(wait, _asked_wait(error)))
    return request()


def _is_transient(error: Exception) -> bool:
    status = status_of(error)
    return status is None or status in _TRANSIENT_STATUSES


def _asked_wait(error: Exception) -> float:
    """How long the hub asks to wait, within reason."""
    header = error.response.headers.get("Retry-After", "") if isinstance(error, HfHubHTTPError) else ""
    return min(float(header), LONGEST_RETRY_WAIT) if header.isdigit() else 0.0


def _silence_client() -> None:
    """Keep the client's bars and warnings, which repeat what the hub says unescaped, off the terminal."""
    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
