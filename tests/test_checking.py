"""A registry is sound when each schema reads its own samples, here and in linear time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rgw.checking import SchemaCheck, check_registry
from rgw.errors import RegistryError
from rgw.registry.layer import Layer
from rgw.registry.loader import Registry, load_registry
from rgw.registry.model import Sample, Schema

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def kiosk() -> Schema:
    return load_registry(EXAMPLES / "registry").schema("kiosk")


def check(schema: Schema, *, growth: bool = False) -> SchemaCheck:
    """Check a registry that has only this schema."""
    [overlay] = [layer for layer in load_registry(EXAMPLES / "registry").layers if layer.layer is Layer.OVERLAY]
    [result] = check_registry(Registry((replace(overlay, schemas={schema.name: schema}),)), growth=growth)
    return result


def test_a_sound_schema_has_no_problems(kiosk: Schema) -> None:
    assert check(kiosk) == SchemaCheck("kiosk", 2)


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"text": "no"}, "sample 'it': text is 'yes', not 'no'"),
        ({}, "sample 'it': text is 'yes', not ''"),
        ({"text": "yes", "reasoning": "why"}, "sample 'it': reasoning is '', not 'why'"),
        ({"text": "yes", "issues": ["unclosed_call"]}, "sample 'it': issues is [], not ['unclosed_call']"),
    ],
)
def test_a_sample_that_is_read_otherwise_is_a_problem(kiosk: Schema, expected: dict[str, object], problem: str) -> None:
    sample = Sample("it", "yes<|end|>", expected)
    assert check(replace(kiosk, samples=(sample,))) == SchemaCheck("kiosk", 1, (problem,))


def test_a_schema_that_cannot_be_run_here_is_skipped_and_says_why(
    kiosk: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rgw.derender.engines.transformers_version", lambda: (4, 9))
    result = check(kiosk)
    assert result.problems == ()
    assert "needs transformers" in result.skipped


def test_growth_is_a_problem_only_when_it_is_measured(kiosk: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(schema: Schema) -> None:
        raise RegistryError(f"schema {schema.name}: reading takes too long")

    monkeypatch.setattr("rgw.checking.require_linear", refuse)
    assert check(kiosk).problems == ()
    assert check(kiosk, growth=True).problems == ("schema kiosk: reading takes too long",)


def test_a_sound_schema_grows_linearly(kiosk: Schema) -> None:
    assert check(kiosk, growth=True).problems == ()
