"""Render workers that outlive the pool that started them: each takes most of a second to import transformers."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

import pytest

from rgw.templates import rendering
from rgw.templates.rendering import RenderLimits, RenderPool

Worker = rendering._Worker

_kept: defaultdict[tuple[int, RenderLimits], list[Worker]] = defaultdict(list)
"""The idle workers of this process; one that is forked from it has its own."""


def keep_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the workers of a pool that was left without an error to the next one with the same limits."""
    monkeypatch.setattr(rendering, "_Worker", _take)
    monkeypatch.setattr(RenderPool, "__exit__", _leave)


def _take(limits: RenderLimits) -> Worker:
    kept = _kept[os.getpid(), limits]
    while kept:
        worker = kept.pop()
        if worker._process is not None and worker._process.poll() is None:
            return worker
        worker.stop()
    return Worker(limits)


def _leave(pool: RenderPool, kind: type[BaseException] | None, *_: Any) -> None:
    if kind is not None:
        pool.close()
        return
    _kept[os.getpid(), pool.limits] += pool._workers
