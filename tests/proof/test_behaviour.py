"""A fingerprint is of what a template does: equal for texts that render the same, and it says where they do not."""

from __future__ import annotations

import re

import pytest

from proof.pairs import TEMPLATE
from rgw.proof.behaviour import PROBES, SUITE, Behaviour, behaviour_of, most_alike
from rgw.registry.list_files import BEHAVIOUR
from rgw.registry.model import RegisteredTemplate
from rgw.templates.rendering import RenderPool

REWRITTEN = "{# the same, otherwise written #}" + re.sub(r"message\b", "entry", TEMPLATE)
LOUD_CALLS = TEMPLATE.replace("'<call>'", "'<CALL>'")
CALLS = [
    "a call",
    "a call with its arguments as JSON",
    "two calls behind a text",
    "values of every type",
    "a tool's result",
]


def of(pool: RenderPool, template: str) -> Behaviour:
    behaviour = behaviour_of(pool, template)
    assert behaviour is not None
    return behaviour


def registered(name: str, behaviour: Behaviour | None, schema: str | None = "bracketed") -> RegisteredTemplate:
    written = None if behaviour is None else str(behaviour)
    return RegisteredTemplate(name * 64, schema, name, "family", behaviour=written)


def test_it_is_of_what_is_rendered_not_of_the_text(pool: RenderPool) -> None:
    assert of(pool, TEMPLATE) == of(pool, REWRITTEN)
    assert of(pool, TEMPLATE).differences(of(pool, LOUD_CALLS)) == CALLS


def test_a_refused_probe_is_part_of_the_behaviour(pool: RenderPool) -> None:
    refusing = "{% if tools %}{{ raise_exception('none') }}{% endif %}" + TEMPLATE
    with_tools = [name for name, request in PROBES.items() if request.tools]
    assert of(pool, TEMPLATE).differences(of(pool, refusing)) == with_tools


def test_it_is_written_as_the_registry_reads_it(pool: RenderPool) -> None:
    behaviour = of(pool, TEMPLATE)
    assert re.fullmatch(BEHAVIOUR, str(behaviour))
    assert str(behaviour).startswith(f"{SUITE}-")
    assert Behaviour.read(str(behaviour)) == behaviour
    assert Behaviour.read("1-abc") is None


@pytest.mark.parametrize(
    "template",
    [
        "{{ oops",
        "{{ raise_exception('no') }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_renders_nothing_has_none(template: str, pool: RenderPool) -> None:
    assert behaviour_of(pool, template) is None


def test_the_most_alike_is_found_and_its_differences_are_named(pool: RenderPool) -> None:
    ours, loud = of(pool, TEMPLATE), of(pool, LOUD_CALLS)
    found = most_alike(ours, [registered("a", loud), registered("b", ours), registered("c", None)])
    assert found is not None
    assert (found.template.variant, found.differences, found.probes) == ("b", (), len(PROBES))
    nearest = most_alike(ours, [registered("a", loud)])
    assert nearest is not None
    assert nearest.differences == tuple(CALLS)
    assert nearest.to_dict()["alike"] == len(PROBES) - len(CALLS)


def test_among_equals_one_with_a_schema_comes_first(pool: RenderPool) -> None:
    ours = of(pool, TEMPLATE)
    found = most_alike(ours, [registered("a", ours, schema=None), registered("b", ours)])
    assert found is not None
    assert found.template.variant == "b"


def test_fingerprints_of_another_suite_are_not_compared(pool: RenderPool) -> None:
    ours = of(pool, TEMPLATE)
    assert most_alike(ours, [registered("a", Behaviour(SUITE + 1, ours.hashes))]) is None
    assert most_alike(ours, [registered("a", Behaviour(SUITE, ours.hashes[:-1]))]) is None
