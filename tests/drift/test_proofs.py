"""Many templates are put to the proof at the same time, with the answers that they would get one by one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from drift.conftest import CONVERSATIONS
from drift.formats import BREAKING, COMPATIBLE, NOT_JINJA, TEMPLATE, sha256
from rgw.drift import proofs
from rgw.drift.proofs import Prover, Question
from rgw.registry.loader import Registry
from rgw.templates.rendering import RenderPool

TEXTS = [*(f"{COMPATIBLE}{{# {number} #}}" for number in range(6)), BREAKING, NOT_JINJA]
QUESTIONS = [Question(sha256(text), text, "bracketed") for text in TEXTS]
ANSWERS = [True] * 6 + [False, None]


@pytest.fixture
def prover(registry: Registry) -> Iterator[Prover]:
    with RenderPool() as pool:
        yield Prover(registry, conversations=CONVERSATIONS, pool=pool)


def answers(prover: Prover) -> list[bool | None]:
    return [prover.proves(each.sha256, each.text, each.schema) for each in QUESTIONS]


def refuse(*_: object) -> None:
    raise AssertionError("this has been answered")


def test_what_was_asked_ahead_is_known(prover: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs.os, "cpu_count", lambda: 2)
    prover.ask_ahead(QUESTIONS)
    monkeypatch.setattr(prover, "_try", refuse)
    assert answers(prover) == ANSWERS
    monkeypatch.setattr("rgw.proof.recognition.schemas_that_prove", refuse)
    assert prover.proving_schemas(sha256(BREAKING), BREAKING) == ("tooled",)


def test_one_by_one_the_answers_are_the_same(prover: Prover) -> None:
    assert answers(prover) == ANSWERS
    assert prover.proving_schemas(sha256(BREAKING), BREAKING) == ("tooled",)


def test_a_schema_that_is_gone_cannot_be_tried(prover: Prover) -> None:
    assert prover.proves(sha256(TEMPLATE), TEMPLATE, "gone") is None


@pytest.mark.parametrize(("questions", "processors"), [(QUESTIONS[:7], 2), (QUESTIONS, 1), (QUESTIONS[:1] * 9, 2)])
def test_no_process_is_started_for_few_or_without_processors(
    questions: list[Question], processors: int, prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs.os, "cpu_count", lambda: processors)
    monkeypatch.setattr(proofs, "map_in_processes", refuse)
    prover.ask_ahead(questions)


def test_processes_that_die_leave_the_answers_to_be_found_one_by_one(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(proofs, "_prepare", exit)
    prover.ask_ahead(QUESTIONS)
    assert answers(prover) == ANSWERS
