"""Real TRL releases, from the package index through pip; small registries to sync."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rgw.errors import UpstreamError
from rgw.upstream import pip


@pytest.fixture(scope="session")
def trl_wheel(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The wheel of a TRL release, kept in pytest's cache; the test is skipped where the index cannot be reached."""
    cache = request.config.cache
    assert cache is not None
    directory = cache.mkdir("trl")

    def wheel(version: str) -> Path:
        kept = directory / f"trl-{version}-py3-none-any.whl"
        if not kept.is_file():
            with tempfile.TemporaryDirectory(dir=directory) as temporary:
                try:
                    pip.download("trl", version, into=Path(temporary)).replace(kept)
                except UpstreamError as error:
                    pytest.skip(f"needs TRL {version} from the package index: {error.message}")
        return kept

    return wheel
