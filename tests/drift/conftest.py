"""What the tests of drift share: a loopback hub, a small registry, and a project with a lockfile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drift.formats import TEMPLATE, write_registry
from loopback_hub import LoopbackHub
from rgw.drift.checking import Wanted, check
from rgw.drift.lockfile import LOCKFILE, lock_models, write_lock
from rgw.drift.model import Report
from rgw.registry.loader import Registry, load_registry
from rgw.templates.hub import CONCURRENT_REPOSITORIES
from rgw.templates.resolve import resolve_places

CONVERSATIONS = 10


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return load_registry(packaged=write_registry(tmp_path / "registry", (TEMPLATE, "bracketed", "owner/model")))


class Project:
    """A project with a lockfile."""

    def __init__(self, directory: Path, registry: Registry) -> None:
        self.lockfile = directory / LOCKFILE
        self.registry = registry

    def lock(self, *refs: str, revision: str | None = None) -> None:
        """Lock models as they are now."""
        places = [(ref, revision) for ref in refs]
        resolved = resolve_places(places)
        write_lock(self.lockfile, lock_models(((revision, resolved[place]) for place in places), self.registry))

    def check(self, registry: Registry | None = None) -> Report:
        """Check them against what they are now."""
        return check(Wanted(lockfile=self.lockfile, conversations=CONVERSATIONS), registry or self.registry)


@pytest.fixture
def project(tmp_path: Path, registry: Registry) -> Project:
    return Project(tmp_path, registry)


@contextmanager
def in_time(hub: LoopbackHub, seconds: float) -> Iterator[None]:
    """What is done meanwhile takes less than `seconds`, were the machine free.

    That is the processor's time and the waits for the hub, many of them at a time: one after the other they would take
    longer on the busiest machine.
    """
    hub.requests.clear()
    wall, processor = time.monotonic(), time.process_time()
    yield
    wall, processor = time.monotonic() - wall, time.process_time() - processor
    waits = len(hub.requests) * hub.latency
    assert processor + waits / CONCURRENT_REPOSITORIES < seconds
    assert wall < waits


def kinds(report: Report) -> list[tuple[str, str]]:
    """Kind and severity of each finding."""
    return [(finding.kind.value, finding.severity.value) for finding in report.findings]
