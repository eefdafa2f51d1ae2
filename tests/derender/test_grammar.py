"""What a response template must be to be read: transformers' own rules, and that its fields are parts of a turn."""

from __future__ import annotations

from typing import Any

import pytest

from derender.derender_schemas import JSON_CALLS, VERBATIM, needs_response_template, schema
from rgw.derender import Derenderer
from rgw.errors import EngineError, RegistryError

pytestmark = needs_response_template


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"content": {"close": "<end>", "content": "prose"}}, "prose"),
        ({"content": {"open_pattern": "(", **VERBATIM}}, "content"),
        ({"content": {"open": "<a>", "close": "</a>", "wrong": 1}}, "wrong"),
        ({"summary": {"open": "<a>", "close": "</a>", **VERBATIM}}, "summary"),
    ],
)
def test_a_template_that_cannot_be_meant_is_refused_with_its_schema_and_field(
    fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(RegistryError) as caught:
        Derenderer(schema("sample", fields))
    assert "schema sample" in caught.value.message
    assert says in caught.value.message


def test_a_content_parser_that_this_transformers_lacks_names_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.utils.chat_parsing import content_parsers

    monkeypatch.delitem(content_parsers.CONTENT_PARSERS, "python-call-list", raising=False)
    calls = {"open": "<calls>", "close": "</calls>", "content": "python-call-list", "transform_each": True}
    with pytest.raises(EngineError, match=r"sample needs transformers >= 5\.24") as caught:
        Derenderer(schema("sample", {"tool_calls": calls}))
    assert "transformers>=5.24" in caught.value.fix


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_has_the_names_that_chat_templates_give_it(name: str) -> None:
    thinking = schema("sample", {name: {"open": "<t>", "close": "</t>", **VERBATIM}, "content": {**VERBATIM}})
    assert Derenderer(thinking).parse("<t>Hm.</t>Yes.", prompt="").reasoning == "Hm."


def test_a_field_may_strip_its_content_which_is_layout_then() -> None:
    stripping = schema("sample", {"content": {"close": "<end>", "content": "text"}})
    parsed = Derenderer(stripping).parse(" Yes. \n<end>", prompt="")
    assert parsed.text == "Yes."
    assert [segment.kind for segment in parsed.segments] == ["layout", "text", "layout", "delimiter"]


def test_a_derenderer_names_its_engine() -> None:
    assert Derenderer(JSON_CALLS).engine.startswith("response_template (transformers 5.")
