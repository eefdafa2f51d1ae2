"""Repositories that could not be read, or are called otherwise now, as findings."""

from __future__ import annotations

from rgw.drift.model import Finding, FindingKind, Outcome, Place, Severity, Subject
from rgw.errors import Obstacle
from rgw.templates.model import ResolvedTemplates, UnresolvedTemplates

_KINDS = {
    Obstacle.MISSING: FindingKind.REPOSITORY_MISSING,
    Obstacle.GATED: FindingKind.REPOSITORY_GATED,
    Obstacle.UNREACHABLE: FindingKind.REPOSITORY_UNREACHABLE,
    Obstacle.UNUSABLE: FindingKind.REPOSITORY_UNUSABLE,
}


def obstacle_finding(unresolved: UnresolvedTemplates, subject: str, place: Place, missing: Severity) -> Finding:
    """The finding for a repository that could not be read; `missing` is what it means that it is gone."""
    return Finding(
        _KINDS[unresolved.obstacle],
        missing if unresolved.obstacle is Obstacle.MISSING else Severity.UNKNOWN,
        subject,
        unresolved.message,
        place,
        unresolved.fix,
        identity=(unresolved.ref,),
    )


def obstacle_subject(unresolved: UnresolvedTemplates, subject: str, place: Place) -> Subject:
    """The subject that could not be read. That it is gone is an answer of the hub: it was looked at."""
    outcome = Outcome.CHECKED if unresolved.obstacle is Obstacle.MISSING else Outcome.FAILED
    return Subject(subject, place, outcome, unresolved.message)


def renamed_finding(resolved: ResolvedTemplates, subject: str, place: Place) -> Finding | None:
    """The finding for a repository that is called otherwise now; the hub still leads from the old name to it."""
    if resolved.renamed_to is None:
        return None
    return Finding(
        FindingKind.REPOSITORY_RENAMED,
        Severity.COMPATIBLE,
        subject,
        f"{resolved.ref} is called {resolved.renamed_to} now",
        place,
        "use the new name: the old one may be given to another repository",
        identity=(resolved.ref, resolved.renamed_to),
    )
