"""The notations that the dialect can express, and which of them a template writes."""

from __future__ import annotations

from collections.abc import Sequence

from rgw.inference.calls import CallForm
from rgw.inference.json_calls import FlattenedJson, JsonCalls, JsonList, JsonListByName, NamedJson
from rgw.inference.python_calls import PythonList
from rgw.inference.relaxed_calls import RelaxedJson
from rgw.inference.sightings import Sighting
from rgw.inference.tagged_calls import TaggedArguments

_FORMS: tuple[type[CallForm], ...] = (
    JsonList,
    JsonListByName,
    JsonCalls,
    NamedJson,
    FlattenedJson,
    PythonList,
    RelaxedJson,
    TaggedArguments,
)


def find_form(sightings: Sequence[Sighting]) -> CallForm | None:
    """The first form, from the plainest to the most particular, that all the sightings with calls are written in."""
    for form in _FORMS:
        fitted = form.fit(sightings)
        if fitted is not None:
            return fitted
    return None
