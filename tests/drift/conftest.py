"""What the tests of drift share: a loopback hub, a small registry, and a project with a lockfile."""

from __future__ import annotations

from pathlib import Path

import pytest

from drift.formats import TEMPLATE, write_registry
from rgw.drift.checking import Wanted, check
from rgw.drift.lockfile import LOCKFILE, lock_models, write_lock
from rgw.drift.model import Report
from rgw.registry.loader import Registry, load_registry
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


def kinds(report: Report) -> list[tuple[str, str]]:
    """Kind and severity of each finding."""
    return [(finding.kind.value, finding.severity.value) for finding in report.findings]
