"""One table from what huggingface_hub raises to one line that says what happened and what to do.

The client's own messages run over several lines, repeat what a server says, and differ between its versions.
"""

from __future__ import annotations

from huggingface_hub import constants
from huggingface_hub.errors import (
    DisabledRepoError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from rgw.errors import Obstacle, SourceError

HTTP_ERROR: type[Exception] = HfHubHTTPError.__bases__[0]
"""The base of what the client's HTTP library raises, whichever library that is."""

_USE_CACHE = "HF_HUB_OFFLINE=1 reads the cached copy"
_TRY_LATER = f"try again later; {_USE_CACHE}"
_LOG_IN = "log in with `hf auth login` or set HF_TOKEN"

_STATUSES = {
    401: (Obstacle.GATED, "{hub} refuses the token for {ref} (401)", "renew it with `hf auth login` or HF_TOKEN"),
    403: (Obstacle.GATED, "{hub} forbids access to {ref} (403)", "use a token that may read it"),
    429: (Obstacle.UNREACHABLE, "{hub} limits the rate of requests (429)", f"{_LOG_IN}, or {_TRY_LATER}"),
}
_NO_HUB = (Obstacle.UNREACHABLE, "{hub} does not answer like a hub", "check HF_ENDPOINT and the proxy settings")
_EXCEPTIONS: tuple[tuple[type[Exception], tuple[Obstacle, str, str]], ...] = (
    (GatedRepoError, (Obstacle.GATED, "{ref} is gated", f"accept its terms at {{hub}}/{{ref}}, then {_LOG_IN}")),
    (DisabledRepoError, (Obstacle.MISSING, "{ref} has been disabled on the hub", "name another repository")),
    (
        RepositoryNotFoundError,
        (
            Obstacle.MISSING,
            "{ref} is neither a path here nor a repository that {hub} shows",
            f"check the spelling; if it is private, {_LOG_IN}",
        ),
    ),
    (
        RevisionNotFoundError,
        (Obstacle.MISSING, "{ref} has no revision {revision!r}", "name a branch, a tag or a full commit"),
    ),
    (
        HFValidationError,
        (Obstacle.UNUSABLE, "{ref!r} is neither a path here nor a hub id", "write OWNER/NAME, or a path that exists"),
    ),
    (HfHubHTTPError, (Obstacle.UNREACHABLE, "{hub} answers {status} for {ref}", _TRY_LATER)),
    (FileMetadataError, _NO_HUB),
    (TimeoutError, (Obstacle.UNREACHABLE, "{hub} is too slow to answer for {ref}", _TRY_LATER)),
    (
        HTTP_ERROR,
        (Obstacle.UNREACHABLE, "{hub} cannot be reached for {ref}", f"check the network and HF_ENDPOINT; {_USE_CACHE}"),
    ),
    (
        OSError,
        (
            Obstacle.UNREACHABLE,
            "{ref} cannot be fetched into {cache}: {reason}",
            "check the disk and the network, then try again",
        ),
    ),
    (Exception, _NO_HUB),
)


def explain(error: Exception, ref: str, revision: str | None) -> SourceError:
    """What a failure of the client means for a repository."""
    error = _root(error)
    status = status_of(error)
    obstacle, message, fix = _find(error, status)
    facts = {
        "ref": ref,
        "revision": revision,
        "hub": constants.ENDPOINT,
        "cache": constants.HF_HUB_CACHE,
        "status": status,
        "reason": str(error).strip().partition("\n")[0],
    }
    return SourceError(message.format_map(facts), fix.format_map(facts), obstacle)


def not_cached(ref: str, revision: str | None) -> SourceError:
    """The failure of offline mode."""
    what = ref if revision is None else f"{ref} at {revision!r}"
    return SourceError(
        f"{what} is not in the cache, and HF_HUB_OFFLINE forbids asking the hub",
        "run once without HF_HUB_OFFLINE",
        Obstacle.UNREACHABLE,
    )


def status_of(error: Exception) -> int | None:
    """The HTTP status that stands behind an error, where that is all it says."""
    return error.response.status_code if isinstance(error, HfHubHTTPError) else None


def is_timeout(error: Exception) -> bool:
    """Whether the other side took too long, whichever HTTP library says so."""
    return "Timeout" in type(error).__name__


def _root(error: Exception) -> Exception:
    """What kept the client from the hub, when all that it raises is that the cache has no copy either."""
    if isinstance(error, LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        return error.__cause__
    return error


def _find(error: Exception, status: int | None) -> tuple[Obstacle, str, str]:
    if type(error) is HfHubHTTPError and status in _STATUSES:
        return _STATUSES[status]
    known = TimeoutError() if is_timeout(error) else error
    return next(meaning for kind, meaning in _EXCEPTIONS if isinstance(known, kind))
