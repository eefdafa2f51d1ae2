"""Reads chat templates from hub repositories with huggingface_hub's own client, cache, token and offline mode.

One request lists a repository with its commit and file sizes; then only the few small files that can hold a template
are fetched. `local` decides on the cached snapshot which of them counts. Of GGUF files nothing is fetched: the hub
itself serves the template that is inside. Works with huggingface_hub 1.x and 2.x.
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
from typing import Any, NamedTuple, TypeVar

from huggingface_hub import HfApi, ModelInfo, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RevisionNotFoundError,
)
from huggingface_hub.utils.tqdm import disable_progress_bars

from rgw.errors import SourceError
from rgw.templates import gguf, local
from rgw.templates.concurrency import Watch, map_concurrently, within
from rgw.templates.hub_errors import HTTP_ERROR, explain, is_timeout, not_cached, status_of
from rgw.templates.identity import MAX_TEMPLATE_BYTES, chat_template, mark_effective, named_texts, too_large
from rgw.templates.model import EMBEDDED_SOURCE, ChatTemplate, ResolvedTemplates, UnresolvedTemplates

CONCURRENT_REPOSITORIES = 16
DEADLINE_SECONDS = 60.0
RETRY_WAITS = (0.5, 1.0, 2.0)
LONGEST_RETRY_WAIT = 8.0

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_BEGINNING_OF_COMMIT = re.compile(r"[0-9a-f]{7,39}")
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
    places: Iterable[tuple[str, str | None]], *, watch: Watch[tuple[str, str | None]] = iter
) -> dict[tuple[str, str | None], ResolvedTemplates | UnresolvedTemplates]:
    """Read many repositories concurrently, each at its own revision; one that fails is a result like the others."""

    def resolve(place: tuple[str, str | None]) -> ResolvedTemplates | UnresolvedTemplates:
        ref, revision = place
        try:
            return resolve_repository(ref, revision=revision)
        except SourceError as error:
            return UnresolvedTemplates(ref, error.message, error.fix, error.obstacle)

    return map_concurrently(resolve, places, workers=CONCURRENT_REPOSITORIES, watch=watch)


def _resolve(ref: str, revision: str | None) -> ResolvedTemplates:
    try:
        return _resolve_from_hub(ref, revision)
    except OfflineModeIsEnabled:
        return _resolve_from_cache(ref, revision)


class _Repository(NamedTuple):
    """What one request says of a repository; `files` are the sizes of its files by their names."""

    commit: str
    name: str
    files: dict[str, int | None]
    information: ModelInfo

    @property
    def has_gguf(self) -> bool:
        return any(name.endswith(gguf.SUFFIX) for name in self.files)


def _resolve_from_hub(ref: str, revision: str | None) -> ResolvedTemplates:
    repository = _list_repository(ref, revision)
    resolved = _resolve_files(ref, revision, repository)
    if repository.name != ref:
        resolved = replace(resolved, renamed_to=repository.name)
    if not repository.has_gguf:
        return resolved
    embedded = _embedded_templates(ref, revision, repository, required=not resolved.templates)
    templates = resolved.templates + embedded if resolved.templates else mark_effective(embedded)
    return replace(resolved, templates=templates, base_models=_base_models(repository.information))


def _resolve_files(ref: str, revision: str | None, repository: _Repository) -> ResolvedTemplates:
    """What the files of a tokenizer say."""
    commit, files = repository.commit, repository.files
    if not repository.has_gguf:
        local.require_tokenizer_files({name.partition("/")[0] for name in files}, ref)
    wanted = [name for name in files if name in local.SOURCE_FILES or _ADDITIONAL_TEMPLATE.fullmatch(name)]
    if not wanted:
        return ResolvedTemplates(ref, commit)
    for name in wanted:
        _require_small(f"{ref}/{name}", name, files[name])
    paths = [_ask(partial(hf_hub_download, ref, name, revision=commit), ref, revision) for name in wanted]
    snapshot = _snapshot_of(Path(paths[0]), commit)
    _remember_revision(snapshot, revision or constants.DEFAULT_REVISION, commit)
    return local.read_directory(snapshot, ref, revision=commit)


def _list_repository(ref: str, revision: str | None) -> _Repository:
    """The commit that the revision stands for now, what the repository is called now, and the size of every file."""
    info = _ask(partial(_information, ref, revision), ref, revision)
    if info.siblings is None or not _COMMIT.fullmatch(info.sha or ""):
        raise explain(ValueError(), ref, revision)
    return _Repository(str(info.sha), info.id, {sibling.rfilename: sibling.size for sibling in info.siblings}, info)


def _information(ref: str, revision: str | None) -> ModelInfo:
    timeout = constants.HF_HUB_ETAG_TIMEOUT
    ask = partial(HfApi().model_info, ref, files_metadata=True, timeout=timeout)
    try:
        return ask(revision=revision)
    except RevisionNotFoundError:
        commit = _whole_commit(ref, revision or "")
        if commit is None:
            raise
        return ask(revision=commit)


def _whole_commit(ref: str, beginning: str) -> str | None:
    """The only commit of the main branch that begins so: the hub itself knows commits by their whole hash alone."""
    if not _BEGINNING_OF_COMMIT.fullmatch(beginning):
        return None
    commits = [commit.commit_id for commit in HfApi().list_repo_commits(ref)]
    found = [commit for commit in commits if commit.startswith(beginning)]
    return found[0] if len(found) == 1 else None


def _embedded_templates(
    ref: str, revision: str | None, repository: _Repository, *, required: bool
) -> tuple[ChatTemplate, ...]:
    """The template inside a GGUF repository's files, as the hub has read it."""
    metadata: Any = repository.information.gguf
    if metadata is None and required:
        timeout = constants.HF_HUB_ETAG_TIMEOUT
        request = partial(HfApi().model_info, ref, revision=repository.commit, expand=["gguf"], timeout=timeout)
        metadata = _ask(request, ref, revision).gguf
    if metadata is None and not required:
        return ()
    if not isinstance(metadata, dict):
        raise SourceError(
            f"{constants.ENDPOINT} serves no metadata of the GGUF files in {ref}", "download one and name the file"
        )
    where = f"{ref}: the GGUF metadata that the hub serves"
    texts = named_texts(metadata.get("chat_template"), where)
    return tuple(chat_template(name, text, source=EMBEDDED_SOURCE, where=where) for name, text in texts.items())


def _base_models(info: ModelInfo) -> tuple[str, ...]:
    """The repositories that a model says it was made from, in its card or else in its tags; only what can be a name."""
    card: Any = info.card_data
    named = card.get("base_model") if card is not None else None
    tags = [tag.rpartition(":")[2] for tag in info.tags or () if tag.startswith("base_model:")]
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else tags
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and _REPOSITORY.fullmatch(name)))


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
