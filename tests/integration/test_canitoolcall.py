"""CanIToolCall's fixtures: every one passes, or its id stands in a list with the reason why it does not."""

from __future__ import annotations

from pathlib import Path

from canitoolcall.fixtures import Fixture, load_fixtures
from canitoolcall.pytest_plugin import assert_conforms
from canitoolcall.results import Status

from integration.canitoolcall_adapter import (
    DISAGREEMENTS,
    SCHEMAS,
    SOFT_PASSES,
    listed_status,
    replay,
    results_page,
    status,
)

PAGE = Path(__file__).parents[2] / "docs" / "canitoolcall.md"


def test_a_fixture_is_read_as_listed(canitoolcall_fixture: Fixture) -> None:
    result = replay(canitoolcall_fixture)
    listed = listed_status(canitoolcall_fixture)
    if listed is not Status.FAIL:
        assert_conforms(canitoolcall_fixture, result, soft=listed is Status.SOFT_PASS)
    assert status(canitoolcall_fixture, result) is listed


def test_a_disagreement_invents_no_call() -> None:
    fixtures = {fixture.id: fixture for fixture in load_fixtures()}
    assert [identifier for identifier in DISAGREEMENTS if replay(fixtures[identifier]).tool_calls] == []


def test_every_listed_fixture_exists() -> None:
    known = {fixture.id for fixture in load_fixtures()}
    assert (DISAGREEMENTS.keys() | SOFT_PASSES.keys()) - known == set()


def test_every_reference_model_has_a_schema() -> None:
    assert {fixture.reference_model for fixture in load_fixtures()} == SCHEMAS.keys()


def test_the_page_shows_these_results() -> None:
    assert PAGE.read_text("utf-8") == results_page(), "run: python scripts/canitoolcall_results.py"
