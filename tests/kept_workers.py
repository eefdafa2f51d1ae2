"""Render workers that outlive the pool that started them: each takes most of a second to import transformers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from rgw.templates.rendering import RenderLimits, RenderPool

_kept: dict[tuple[int, RenderLimits, int], tuple[Any, Any]] = {}
"""The workers and the queue of those that are idle, by process, limits and number."""


def keep_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all pools of this process that are alike have the same workers, which end with it."""
    monkeypatch.setattr(RenderPool, "__init__", _sharing(RenderPool.__init__))
    monkeypatch.setattr(RenderPool, "close", lambda _: None)


def _sharing(make: Callable[..., None]) -> Callable[..., None]:
    def make_sharing(pool: RenderPool, *arguments: Any, **options: Any) -> None:
        make(pool, *arguments, **options)
        alike = (os.getpid(), pool.limits, len(pool._workers))
        pool._workers, pool._idle = _kept.setdefault(alike, (pool._workers, pool._idle))

    return make_sharing
