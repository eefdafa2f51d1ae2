"""A re-sync that is killed while it writes leaves the old registry or the new one, and either loads."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from rgw.registry.loader import load_registry
from rgw.upstream import Plan, Upstream, UpstreamRef, apply_plan, plan_resync
from rgw.upstream.reading import read_module
from upstream.upstream_samples import SECOND_GENERATION, TEXTS, THIRD_GENERATION

OLD = Upstream(UpstreamRef("1.6.0", version="1.6.0"), read_module(SECOND_GENERATION, TEXTS))
NEW = Upstream(UpstreamRef("1.16.0", version="1.16.0"), read_module(THIRD_GENERATION, TEXTS))
KILLED = 9


def apply_until(plan: Plan, step: int) -> bool:
    """Apply `plan` in a process that is killed before its operation `step` on the registry; whether it was."""
    child = os.fork()
    if child == 0:
        steps = iter(range(1, step))

        def watch(_: str, arguments: tuple[object, ...]) -> None:
            if arguments and str(plan.registry) in str(arguments[0]) and next(steps, None) is None:
                os._exit(KILLED)

        sys.addaudithook(watch)
        try:
            apply_plan(plan)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


def test_killed_at_any_operation_the_registry_is_old_or_new(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    apply_plan(plan_resync(base, OLD))
    old = load_registry(packaged=base).digest()
    plan = plan_resync(base, NEW)
    seen = []
    for step in range(1, 1000):
        registry = tmp_path / str(step) / "registry"
        shutil.copytree(base, registry)
        if not apply_until(replace(plan, registry=registry), step):
            break
        seen.append(load_registry(packaged=registry).digest())
        assert plan_resync(registry, NEW).empty == (seen[-1] != old)
    new = load_registry(packaged=registry).digest()
    assert old != new
    assert set(seen) == {old, new}
