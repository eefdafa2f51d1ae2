"""One pool of render workers for all the tests of the room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rgw.templates.rendering import RenderLimits, RenderPool


@pytest.fixture(scope="session")
def pool() -> Iterator[RenderPool]:
    with RenderPool(limits=RenderLimits(seconds=2.0)) as pool:
        yield pool
