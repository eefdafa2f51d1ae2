"""CanIToolCall's fixtures: every one passes leniently; where the defaults are stricter, a list says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from canitoolcall.fixtures import Fixture, load_fixtures
from canitoolcall.pytest_plugin import assert_conforms
from canitoolcall.results import Status

from integration.canitoolcall_adapter import (
    POLICIES,
    SCHEMAS,
    SOFT_PASSES,
    STRICTER_DEFAULTS,
    listed_status,
    replay,
    results_page,
    status,
)
from rgw.derender import Policy

PAGE = Path(__file__).parents[2] / "docs" / "canitoolcall.md"


@pytest.mark.parametrize("policy", POLICIES, ids=["lenient", "defaults"])
def test_a_fixture_is_read_as_listed(canitoolcall_fixture: Fixture, policy: Policy) -> None:
    result = replay(canitoolcall_fixture, policy)
    listed = listed_status(canitoolcall_fixture, policy)
    if listed is not Status.FAIL:
        assert_conforms(canitoolcall_fixture, result, soft=listed is Status.SOFT_PASS)
    assert status(canitoolcall_fixture, result) is listed


def test_where_the_defaults_are_stricter_no_call_is_read() -> None:
    fixtures = {fixture.id: fixture for fixture in load_fixtures()}
    read = {identifier: replay(fixtures[identifier], Policy()).tool_calls for identifier in STRICTER_DEFAULTS}
    assert {identifier for identifier, calls in read.items() if calls} == set()


def test_every_listed_fixture_exists() -> None:
    known = {fixture.id for fixture in load_fixtures()}
    assert (STRICTER_DEFAULTS.keys() | SOFT_PASSES.keys()) - known == set()


def test_every_reference_model_has_a_schema() -> None:
    assert {fixture.reference_model for fixture in load_fixtures()} == SCHEMAS.keys()


def test_the_page_shows_these_results() -> None:
    assert PAGE.read_text("utf-8") == results_page(), "run: python scripts/canitoolcall_results.py"
