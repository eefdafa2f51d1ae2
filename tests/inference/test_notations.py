"""Which notation the calls of a template are written in, found by where the known words stand."""

from __future__ import annotations

import pytest

from inference import made_up_templates as made_up
from rgw.inference.calls import CallForm, Surroundings
from rgw.inference.headers import behind_header
from rgw.inference.json_calls import FlattenedJson, JsonCalls, JsonList, NamedJson
from rgw.inference.notations import find_form
from rgw.inference.python_calls import PythonList
from rgw.inference.relaxed_calls import RelaxedJson
from rgw.inference.sightings import Sighting, observe
from rgw.inference.tagged_calls import TaggedArguments
from rgw.proof.shapes import discover
from rgw.templates.rendering import RenderPool

AROUND = Surroundings("<open>", "<close>")


def sightings(pool: RenderPool, template: str) -> list[Sighting]:
    return behind_header(observe(pool, template, discover(pool, template), seed=0).sightings).sightings


@pytest.mark.parametrize(
    ("template", "form"),
    [
        (made_up.JSON_OBJECTS, JsonCalls),
        (made_up.OTHER_KEYS, JsonCalls),
        (made_up.JSON_LIST, JsonList),
        (made_up.NAME_AND_JSON, NamedJson),
        (made_up.SECTION, NamedJson),
        (made_up.MESSAGES, NamedJson),
        (made_up.TAGS, TaggedArguments),
        (made_up.PYTHON, PythonList),
        (made_up.OWN_QUOTES, RelaxedJson),
    ],
)
def test_the_plainest_notation_that_explains_all_calls(pool: RenderPool, template: str, form: type[CallForm]) -> None:
    assert type(find_form(sightings(pool, template))) is form


def test_no_notation_without_calls(pool: RenderPool) -> None:
    assert find_form(sightings(pool, made_up.NO_CALLS)) is None


def test_arguments_that_cannot_be_told_apart_are_no_notation(pool: RenderPool) -> None:
    calls = made_up.each_call("{{- '<do>' + f.name + (f.arguments.keys() | join) + (f.arguments.values() | join) -}}")
    assert find_form(sightings(pool, made_up.template(calls))) is None


def test_the_keys_of_a_call_are_found(pool: RenderPool) -> None:
    form = find_form(sightings(pool, made_up.OTHER_KEYS))
    assert form is not None
    assert form.field(AROUND)["transform"]["function"] == {"name": "{content.tool}", "arguments": "{content.input}"}


def test_a_call_that_nothing_opens_is_known_by_its_first_keys(pool: RenderPool) -> None:
    form = FlattenedJson.fit(sightings(pool, made_up.BARE_JSON))
    assert form is not None
    field = form.field(Surroundings("", ""))
    assert field["open_pattern"].startswith(r'\{"name":')
    assert field["close_pattern"] == r"\}"


def test_the_literals_of_an_argument(pool: RenderPool) -> None:
    form = find_form(sightings(pool, made_up.TAGS))
    assert form is not None
    assert list(form.literals()) == ["<arg=", ">", "</arg>"]


def test_the_quotes_of_strings(pool: RenderPool) -> None:
    form = find_form(sightings(pool, made_up.OWN_QUOTES))
    assert form is not None
    assert form.field(AROUND)["content_args"] == {"string_delims": [["~|", "|~"]], "unquoted_keys": True}
