"""What a repository ships beside the registered schema is compared by digest, and by proof."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from proof.pairs import FIELDS, TEMPLATE, schema
from rgw.detection import Detection, DetectionStatus
from rgw.exporting import TargetEngine, export
from rgw.proof import native
from rgw.proof.batch import Status
from rgw.proof.native import Agreement, NativeAssessment, assess_native
from rgw.registry.loader import load_registry
from rgw.registry.model import Dialect
from rgw.templates.identity import chat_template, mark_effective
from rgw.templates.model import ResolvedTemplates
from rgw.templates.rendering import RenderPool

FITTING = schema().dialects[Dialect.RESPONSE_TEMPLATE]
BLIND = schema({"content": FIELDS["content"]}).dialects[Dialect.RESPONSE_TEMPLATE]
"""It takes calls and thoughts for text."""


def shipped(response_template: Mapping[str, Any] | None, text: str | None = TEMPLATE) -> ResolvedTemplates:
    templates = [] if text is None else [chat_template("default", text, source="file", where="owner/model")]
    return ResolvedTemplates(
        "owner/model", templates=mark_effective(templates), native_response_template=response_template
    )


@pytest.fixture
def assessed(pool: RenderPool, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Assess with few conversations; `registered` is the schema that the registry has for the template."""

    def assess(resolved: ResolvedTemplates, registered: str | None = None) -> NativeAssessment | None:
        registry = load_registry()
        found = registry.schema(registered) if registered else None
        detection = Detection(resolved.ref, DetectionStatus.RECOGNISED, "", schema=found)
        monkeypatch.setattr(native, "detect", lambda *_: detection)
        return assess_native(resolved, registry, count=30, pool=pool)

    return assess


def test_what_ships_nothing_is_not_assessed(assessed: Any) -> None:
    assert assessed(shipped(None)) is None


def test_one_that_proves_beside_no_registered_schema(assessed: Any) -> None:
    found = assessed(shipped(FITTING))
    assert (found.agreement, found.proves, found.same_as) == (Agreement.UNREGISTERED, True, ())
    assert found.attempt.proof.counts["round_trip"]["exact"] > 0
    assert "it proves to read the chat template" in found.message


def test_another_than_the_registered_one_that_proves(assessed: Any) -> None:
    assert assessed(shipped(FITTING), "qwen3").agreement is Agreement.BOTH_READ


def test_another_than_the_registered_one_that_misreads(assessed: Any) -> None:
    found = assessed(shipped(BLIND), "qwen3")
    assert (found.agreement, found.proves) == (Agreement.DISAGREE, False)
    assert (found.is_superlinear, found.is_untried) == (False, False)
    assert found.message == "the native response_template differs from schema qwen3; it is not proved to read it"


def test_the_registered_one(assessed: Any) -> None:
    own = load_registry().schema("qwen3").dialects[Dialect.RESPONSE_TEMPLATE]
    found = assessed(shipped(own), "qwen3")
    assert (found.agreement, found.same_as, found.attempt) == (Agreement.SAME, ("qwen3",), None)
    assert found.message == "the native response_template is that of schema qwen3"


@pytest.mark.parametrize("engine", TargetEngine)
def test_what_the_registered_one_is_exported_as(assessed: Any, engine: TargetEngine) -> None:
    exported = export(load_registry().schema("qwen3"), engine).response_template
    assert assessed(shipped(exported), "qwen3").agreement is Agreement.SAME


def test_one_that_takes_minutes_reads_nothing(assessed: Any) -> None:
    slow = schema({"content": {"close_pattern": r"(?:(a|b|ab)*)*c<end>", "content": "text"}})
    found = assessed(shipped(slow.dialects[Dialect.RESPONSE_TEMPLATE]), "qwen3")
    assert found.attempt.status is Status.NOT_PROVED
    assert [finding.kind for finding in found.attempt.proof.findings] == ["superlinear"]
    assert (found.is_superlinear, found.is_untried) == (True, True)
    assert "it is not proved to read it: reading" in found.message


@pytest.mark.parametrize("response_template", [{}, {"fields": {}}, {"fields": {"content": {"open": 3}}}])
def test_one_that_is_not_valid(assessed: Any, response_template: Mapping[str, Any]) -> None:
    found = assessed(shipped(response_template), "qwen3")
    assert (found.agreement, found.attempt.status) == (Agreement.DISAGREE, Status.ERROR)
    assert "owner/model" in found.message
    assert "\n" not in found.message


def test_one_without_a_chat_template(assessed: Any) -> None:
    found = assessed(shipped(FITTING, None))
    assert found.attempt is None
    assert found.message.endswith("it is not proved to read it: there is no chat template")
