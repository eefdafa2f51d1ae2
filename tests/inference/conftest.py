"""One pool of render workers for all the tests of the room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rgw.inference.inferring import render_pool
from rgw.templates.rendering import RenderPool


@pytest.fixture(scope="session")
def pool() -> Iterator[RenderPool]:
    with render_pool() as pool:
        yield pool
