"""One check: the comparisons that were asked for, joined to one report with the baseline applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import rgw
from rgw.drift.assessment import CONVERSATIONS, Assessor
from rgw.drift.baseline import Acceptance, apply_baseline
from rgw.drift.engines import check_results, check_samples
from rgw.drift.lockfile import Lock, read_lock, transformers_version
from rgw.drift.model import Finding, Place, Report, Subject, sorted_findings
from rgw.drift.models import check_models
from rgw.drift.recordings import read_recordings
from rgw.drift.registrations import check_registrations
from rgw.drift.samples import Recording
from rgw.drift.upstream import check_upstream
from rgw.errors import UsageError
from rgw.registry.layer import SAMPLE_RESULTS, SCHEMAS
from rgw.registry.loader import PACKAGED_LABEL, Registry
from rgw.upstream.sources import UpstreamSource

Checked = tuple[Subject, list[Finding]]
Item = TypeVar("Item")


class Watch(Protocol):
    """Lets somebody watch items pass while they are read or compared."""

    def __call__(self, items: Iterable[Item], *, description: str, total: int | None = None) -> Iterable[Item]:
        """The items, in their order."""


def unwatched(items: Iterable[Item], *, description: str, total: int | None = None) -> Iterable[Item]:  # noqa: ARG001
    """The items, watched by nobody."""
    return items


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to compare.

    Attributes:
        lockfile: Compare the models of this lockfile with the hub, the registry and the installed transformers.
        registrations: Compare the registered templates with what the hub serves.
        families: Only the registered templates of these families; empty: all.
        upstream: Compare the registry with this TRL.
        samples: Compare how the installed transformers reads the samples of every schema with what is recorded.
        conversations: How many conversations the proof of a changed template takes.
    """

    lockfile: Path | None = None
    registrations: bool = False
    families: tuple[str, ...] = ()
    upstream: UpstreamSource | None = None
    samples: bool = False
    conversations: int = CONVERSATIONS


def check(
    wanted: Wanted, registry: Registry, baseline: Sequence[Acceptance] = (), *, watch: Watch = unwatched
) -> Report:
    """Carry out every comparison that is wanted.

    Args:
        wanted: What to compare.
        registry: What is registered.
        baseline: The findings that are accepted.
        watch: See `Watch`.

    Raises:
        RgwError: What to compare with cannot be read, or nobody can mean it. What cannot be reached of many is a
            finding.
    """
    _require_families(wanted, registry)
    lock = read_lock(wanted.lockfile) if wanted.lockfile else None
    with Assessor(registry, conversations=wanted.conversations) as assessor:
        checked = list(_checked(wanted, lock, registry, assessor, watch))
    subjects = sorted((subject for subject, _ in checked), key=lambda subject: subject.name)
    found = (finding for _, findings in checked for finding in findings)
    left, accepted = apply_baseline(baseline, found, subjects)
    return Report(
        subjects=tuple(subjects),
        findings=sorted_findings(left),
        accepted=tuple(sorted(accepted, key=lambda entry: (entry.finding.subject, entry.finding.fingerprint))),
        versions={"rgw": rgw.__version__, "transformers": transformers_version()},
        registry_digest=registry.digest(),
    )


def _checked(
    wanted: Wanted, lock: Lock | None, registry: Registry, assessor: Assessor, watch: Watch
) -> Iterator[Checked]:
    reading = partial(watch, description="Reading")
    if wanted.lockfile and lock:
        models = check_models(lock, registry, assessor, lockfile=str(wanted.lockfile), watch=reading)
        yield from watch(models, description="Comparing", total=len(lock.models))
        results = _locked_results(lock, registry, Place(str(wanted.lockfile)))
        yield from watch(results, description="Parsing samples", total=len(lock.schemas))
    if wanted.registrations:
        registrations = check_registrations(registry, assessor, families=wanted.families, watch=reading)
        yield from watch(registrations, description="Comparing")
    if wanted.upstream:
        yield check_upstream(wanted.upstream, registry, assessor)
    if wanted.samples:
        place = Place(f"{PACKAGED_LABEL}/{SCHEMAS}")
        schemas = registry.schemas.values()
        yield from watch(check_samples(schemas, place), description="Parsing samples", total=len(schemas))
        yield from watch(_recorded_results(registry), description="Parsing samples", total=len(schemas))


def _locked_results(lock: Lock, registry: Registry, place: Place) -> Iterator[Checked]:
    for name, locked in lock.schemas.items():
        if name in registry.schemas:  # one that is gone has been reported with the templates that it read
            recording = Recording(lock.transformers, locked.results)
            yield check_results(registry.schema(name), [recording], place)


def _recorded_results(registry: Registry) -> Iterator[Checked]:
    for layer in registry.layers:
        recordings = read_recordings(layer.root, layer.label)
        for name in layer.schemas:
            place = Place(f"{layer.label}/{SAMPLE_RESULTS}")
            yield check_results(registry.schema(name), recordings.get(name, []), place)


def _require_families(wanted: Wanted, registry: Registry) -> None:
    known = {template.family for template in registry.templates.values()}
    for family in wanted.families:
        if family not in known:
            raise UsageError(f"no template of the family {family!r} is registered", _suggestion(family, sorted(known)))


def _suggestion(family: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(family, list(known))
    return f"did you mean {' or '.join(close)}?" if close else "`rgw registry list --json` shows them"
