"""No registered schema grows faster than linearly up to a megabyte, on any shape made of its own delimiters."""

from __future__ import annotations

import pytest

from rgw.derender import growth
from rgw.derender.growth import Growth, check_growth
from rgw.registry.loader import load_registry

REGISTRY = load_registry()
MEGABYTE = 1_000_000
SECONDS_OF_A_READING = 120.0
SECONDS_OF_A_SCHEMA = 7_200.0

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
@pytest.mark.parametrize("schema", REGISTRY.schemas)
def test_a_megabyte_takes_as_much_longer_as_it_is_longer(
    schema: str, lenient: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "_WALL_SECONDS", SECONDS_OF_A_SCHEMA)
    specification = REGISTRY.schema(schema)
    measured = check_growth(specification, largest=MEGABYTE, limit=SECONDS_OF_A_READING, lenient=lenient)
    assert measured == Growth(True)
