"""A whole proof: what fits is proved, what does not is not, and the certificate says why with a small example."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from proof.pairs import FIELDS, TEMPLATE, schema
from rgw.proof import proving
from rgw.proof.certificate import Check, FindingKind, Proof
from rgw.proof.proving import prove
from rgw.proof.roundtrip import Outcome
from rgw.registry.model import TurnRules
from rgw.templates.rendering import RenderPool

COUNT = 60


def attempt(pool: RenderPool, *, template: str = TEMPLATE, fields: Mapping[str, Any] = FIELDS) -> Proof:
    return prove(template, schema(fields), count=COUNT, pool=pool)


@pytest.fixture(scope="module")
def proof(pool: RenderPool) -> Proof:
    return attempt(pool)


def test_a_pair_that_fits_is_proved(proof: Proof) -> None:
    assert proof.proved
    assert proof.counterexample is None
    assert proof.findings == ()
    assert set(proof.counts) == set(Check)
    assert all(counts.get(Outcome.SILENT, 0) == 0 for counts in proof.counts.values())


def test_the_certificate_says_what_the_template_loses_and_carries(proof: Proof) -> None:
    assert set(proof.losses) == set(proof.typed_losses) == {"text: outer white space"}
    assert proof.carries_reasoning
    assert proof.carries_calls
    assert proof.shape["reasoning"] == "reasoning_content"


def test_every_check_did_something(proof: Proof) -> None:
    assert all(sum(counts.values()) >= COUNT for counts in proof.counts.values())
    assert proof.counts[Check.HOSTILE_VALUES][Outcome.FLAGGED] > 0
    assert proof.counts[Check.TRUNCATION][Outcome.FLAGGED] > 0
    assert proof.counts[Check.MUTATION][Outcome.FLAGGED] > 0


def test_the_same_seed_gives_the_same_certificate(pool: RenderPool, proof: Proof) -> None:
    again = attempt(pool)
    assert again == proof
    assert again.digest == proof.digest
    assert prove(TEMPLATE, schema(), count=COUNT, seed=1, pool=pool).digest != proof.digest


def test_a_long_proof_is_the_sum_of_its_blocks(pool: RenderPool, proof: Proof, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "LARGEST_BLOCK", COUNT)
    long = prove(TEMPLATE, schema(), count=2 * COUNT, pool=pool)
    rest = prove(TEMPLATE, schema(), count=COUNT, seed=2**32, pool=pool)
    assert (long.conversations, long.seed) == (2 * COUNT, 0)
    assert all(
        long.counts[check][outcome] == proof.counts[check].get(outcome, 0) + rest.counts[check].get(outcome, 0)
        for check in Check
        for outcome in Outcome
    )
    lost = "text: outer white space"
    assert long.losses[lost] == proof.losses[lost] + rest.losses[lost]
    assert long.proved


def test_the_blocks_of_a_long_proof_are_of_about_one_size() -> None:
    blocks = proving._blocks(proving.blank_proof(TEMPLATE, schema(), count=2_002, seed=5))
    assert [block.conversations for block in blocks] == [668, 667, 667]
    assert [block.seed for block in blocks] == [5, 5 + 2**32, 5 + 2**33]


def test_a_long_proof_ends_with_its_first_failing_block(pool: RenderPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "LARGEST_BLOCK", COUNT)
    deaf = schema({name: field for name, field in FIELDS.items() if name != "tool_calls"})
    proof = prove(TEMPLATE, deaf, count=100 * COUNT, pool=pool)
    assert not proof.proved
    assert proof.conversations == COUNT


def test_the_certificate_is_plain_data(proof: Proof) -> None:
    plain = json.loads(json.dumps(proof.to_dict()))
    assert plain["proved"] is True
    assert plain["conversations"] == COUNT
    assert plain["seed"] == 0
    assert set(plain["versions"]) == {"rgw", "transformers", "jinja2", "hypothesis"}
    assert plain["counts"]["round_trip"]["silent"] == 0


def test_a_schema_that_does_not_know_the_calls_is_not_proved(pool: RenderPool) -> None:
    deaf = replace(
        schema({name: field for name, field in FIELDS.items() if name != "tool_calls"}),
        turn=TurnRules(end=("[end]",)),
    )
    proof = prove(TEMPLATE, deaf, count=COUNT, pool=pool)
    assert not proof.proved
    assert proof.counts[Check.ROUND_TRIP][Outcome.SILENT] > 0
    assert proof.counterexample is not None
    assert proof.counterexample.check is Check.ROUND_TRIP
    assert "calls: dropped" in proof.counterexample.trip.notes


def test_the_counterexample_is_the_smallest_there_is(pool: RenderPool) -> None:
    fields = {**FIELDS, "reasoning_content": {"open": "<think>", "close": "</think>", "content": "text"}}
    proof = attempt(pool, fields=fields)
    assert proof.counterexample is not None
    example = proof.counterexample.to_dict()
    assert example["notes"] == ["reasoning: outer white space"]
    question, answer = example["conversation"]["turns"]
    assert question["role"] == "user"
    assert "tool_uses" not in answer
    assert answer["reasoning"].strip() != answer["reasoning"]
    assert example["parsed"]["reasoning"] == answer["reasoning"].strip()
    segments = example["parsed"]["segments"]
    assert segments[0]["start"] == 0
    assert segments[-1]["end"] == len(example["output"])


def test_a_schema_that_flags_ordinary_turns_is_not_proved(pool: RenderPool) -> None:
    fields = {**FIELDS, "tool_calls": {**FIELDS["tool_calls"], "close": "</calls>"}}
    proof = attempt(pool, fields=fields)
    assert not proof.proved
    assert proof.counts[Check.ROUND_TRIP][Outcome.FLAGGED] > 0
    assert proof.counterexample is not None
    assert proof.counterexample.trip.outcome is Outcome.FLAGGED


def test_a_schema_for_another_format_is_not_proved(pool: RenderPool) -> None:
    template = TEMPLATE.replace("<call>", "<tool>").replace("</call>", "</tool>")
    assert not attempt(pool, template=template).proved


@pytest.mark.parametrize(
    ("template", "kind", "message"),
    [
        ("{% for %}", FindingKind.NOT_COMPILED, "TemplateSyntaxError"),
        ("{{ raise_exception('never') }}", FindingKind.NOT_RENDERED, "never"),
        (
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            FindingKind.EXCEEDS_LIMIT,
            "more than 2 s",
        ),
        ("{{ 'x' * 10000000000 }}", FindingKind.EXCEEDS_LIMIT, "memory"),
        ("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", FindingKind.EXCEEDS_LIMIT, "recurses"),
    ],
    ids=["syntax", "raises", "endless", "huge", "deep"],
)
def test_a_template_that_does_not_render_is_a_finding(
    pool: RenderPool, template: str, kind: FindingKind, message: str
) -> None:
    proof = attempt(pool, template=template)
    (finding,) = proof.findings
    assert finding.kind is kind
    assert message in finding.message
    assert not proof.proved
    assert proof.counts == {}


def test_a_template_without_an_assistant_is_not_proved(pool: RenderPool) -> None:
    template = "{% for m in messages %}{% if m.role == 'user' %}[user]{{ m.content }}[end]{% endif %}{% endfor %}"
    assert not attempt(pool, template=template).proved


def test_a_template_that_does_not_continue_its_generation_prompt_is_a_finding(pool: RenderPool) -> None:
    proof = attempt(pool, template="{{ messages | length }}" + TEMPLATE)
    assert [finding.kind for finding in proof.findings] == [FindingKind.NO_TURN]
