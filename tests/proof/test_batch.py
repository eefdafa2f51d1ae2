"""Many pairs at once: each gets its certificate or a reason, in order, whatever its neighbours do."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from proof.pairs import FIELDS, TEMPLATE, schema
from rgw.errors import EngineError
from rgw.proof.batch import Attempt, Pair, Status, certify, prove_all
from rgw.proof.certificate import FindingKind
from rgw.templates.identity import sha256_of
from rgw.templates.rendering import RenderPool

LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
HUGE = "{{ 'x' * 10000000000 }}"
RECURSION = "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}"
HANGS_ON_CALLS = TEMPLATE + "{% if messages[-1].tool_calls %}" + LOOP + "{% endif %}"
LONG_TURNS = TEMPLATE.replace("[end]", "[end]{{ 'x' * 200000 }}")


def pair(text: str, name: str = "pair", *, vetted: bool = True) -> Pair:
    return Pair(name, sha256_of(text), text, schema(), vetted, "digest")


def test_attempts_come_in_order_and_those_that_are_no_pair_pass_through() -> None:
    unread = Attempt("missing", Status.ERROR, message="no such file")
    attempts = list(prove_all([pair(TEMPLATE, "a"), unread, pair("{{ oops", "b")], count=20, seed=0, jobs=1))
    assert [(attempt.ref, attempt.status) for attempt in attempts] == [
        ("a", Status.PROVED),
        ("missing", Status.ERROR),
        ("b", Status.NOT_PROVED),
    ]
    assert attempts[1] is unread


def test_processes_give_the_same_certificates() -> None:
    pairs = [pair(TEMPLATE, "a"), pair(TEMPLATE + " ", "b")]
    alone = list(prove_all(pairs, count=20, seed=3, jobs=1))
    together = list(prove_all(pairs, count=20, seed=3, jobs=2))
    assert [attempt.proof and attempt.proof.digest for attempt in together] == [
        attempt.proof and attempt.proof.digest for attempt in alone
    ]


@pytest.mark.parametrize(
    ("template", "kind"),
    [
        pytest.param(LOOP, FindingKind.EXCEEDS_LIMIT, id="an endless loop"),
        pytest.param(HUGE, FindingKind.EXCEEDS_LIMIT, id="a string of 10 GB"),
        pytest.param(RECURSION, FindingKind.EXCEEDS_LIMIT, id="recursion without end"),
        pytest.param(HANGS_ON_CALLS, FindingKind.EXCEEDS_LIMIT, id="a loop that only a call starts"),
        pytest.param(LONG_TURNS, FindingKind.EXCEEDS_LIMIT, id="turns that are long whatever was said"),
        pytest.param("{{ oops", FindingKind.NOT_COMPILED, id="it does not compile"),
        pytest.param("{{ raise_exception('no') }}", FindingKind.NOT_RENDERED, id="it refuses every conversation"),
        pytest.param("always the same", FindingKind.NOTHING_WRITTEN, id="it writes no turn of an assistant"),
    ],
)
def test_a_template_that_cannot_be_proved_is_a_finding_in_seconds(template: str, kind: FindingKind) -> None:
    started = time.monotonic()
    bad, good = prove_all([pair(template), pair(TEMPLATE)], count=10, seed=0, jobs=1)
    assert time.monotonic() - started < 30
    assert bad.proof is not None
    assert not bad.proof.proved
    assert [finding.kind for finding in bad.proof.findings] == [kind]
    assert good.status is Status.PROVED


def test_recursion_over_some_conversations_only_turns_those_down() -> None:
    few = "tools and tools[0].function.parameters.properties | length == 1"
    template = TEMPLATE + "{% if " + few + " %}" + RECURSION + "{% endif %}"
    (attempt,) = prove_all([pair(template)], count=60, seed=0, jobs=1)
    assert attempt.status is Status.PROVED
    assert attempt.proof is not None
    assert list(attempt.proof.refused) == ["rendering recurses too deeply"]


def test_the_certificate_names_the_registry_and_the_growth(pool: RenderPool) -> None:
    attempt = certify(pair(TEMPLATE), count=10, seed=0, pool=pool)
    assert attempt.proof is not None
    assert attempt.proof.registry_digest == "digest"
    assert attempt.proof.growth is not None
    assert attempt.proof.growth.linear
    plain = attempt.to_dict()
    assert plain["certificate"]["growth"]["linear"] is True
    assert plain["certificate_digest"] == attempt.proof.digest


def test_a_slow_schema_that_nobody_vetted_reads_nothing(pool: RenderPool) -> None:
    fields = {**FIELDS, "reasoning_content": {**FIELDS["reasoning_content"], "open_pattern": "<think>(?=.*</think>)"}}
    del fields["reasoning_content"]["open"]
    slow = replace(pair(TEMPLATE, vetted=False), schema=schema(fields))
    attempt = certify(slow, count=10, seed=0, pool=pool)
    assert attempt.status is Status.NOT_PROVED
    assert attempt.proof is not None
    assert [finding.kind for finding in attempt.proof.findings] == [FindingKind.SUPERLINEAR]
    assert not attempt.proof.counts


def test_a_schema_that_cannot_run_is_an_error_of_its_pair(pool: RenderPool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise EngineError("needs a newer transformers")

    monkeypatch.setattr("rgw.proof.batch.prove", refuse)
    attempt = certify(pair(TEMPLATE), count=10, seed=0, pool=pool)
    assert (attempt.status, attempt.message) == (Status.ERROR, "needs a newer transformers")
