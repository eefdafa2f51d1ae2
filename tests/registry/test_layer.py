"""Templates that are read when they are asked for: the same as when all are read, and errors where they stand."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from rgw.errors import RegistryError
from rgw.registry import layer
from rgw.registry.layer import TEMPLATES, TemplatesOnDemand
from rgw.registry.list_files import read_templates
from rgw.registry.loader import load_registry, packaged_registry_path
from rgw.registry.yaml_reading import parse_yaml

A, B, C = ("abc"[number] * 64 for number in range(3))
HEAD = "templates:\n"
INDENTED = f"templates:\n  - {{sha256: {A}, schema: tag, variant: plain, family: tag}}\n"


def entry(sha256: str, variant: str = "plain") -> str:
    return f"- sha256: {sha256}\n  schema: tag\n  variant: {variant}\n  family: tag\n  repos:\n  - owner/model\n"


def on_demand(text: str) -> TemplatesOnDemand:
    return TemplatesOnDemand(text, "registry/templates.yaml", {"tag"})


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are parsed, without their blank lines."""
    texts: list[str] = []

    def record(text: str, file: str) -> object:
        texts.append(re.sub(r"\n+", "\n", text))
        return parse_yaml(text, file)

    monkeypatch.setattr(layer, "parse_yaml", record)
    return texts


def test_one_is_read_alone_and_once(parsed: list[str]) -> None:
    templates = on_demand(HEAD + entry(A) + entry(B, "other"))
    assert parsed == []
    assert [templates[B].variant, templates[B].sha256] == ["other", B]
    assert parsed == [HEAD + entry(B, "other")]


def test_none_is_read_for_what_is_not_there(parsed: list[str]) -> None:
    templates = on_demand(HEAD + entry(A) + entry(B))
    assert templates.get(C) is None
    assert (C in templates, B in templates, len(templates)) == (False, True, 2)
    assert parsed == []


def test_all_are_read_at_once_in_the_order_of_the_file(parsed: list[str]) -> None:
    text = HEAD + entry(B) + entry(A) + entry(C)
    templates = on_demand(text)
    assert templates[A].sha256 == A
    assert list(templates) == [B, A, C]
    assert [template.sha256 for template in templates.values()] == [B, A, C]
    assert parsed == [HEAD + entry(A), text]


def test_a_file_that_is_laid_out_otherwise_is_read_whole(parsed: list[str]) -> None:
    templates = on_demand(INDENTED)
    assert parsed == [INDENTED]
    assert (list(templates), templates[A].variant, A in templates, len(templates)) == ([A], "plain", True, 1)


@pytest.mark.parametrize(
    ("text", "act", "message"),
    [
        (HEAD + entry(A) + entry(B) + entry(A), len, ":14: the template aaaaaaaaaaaa stands in line 2 already"),
        (HEAD + entry(A) + entry(B) + "  lines: []\n", lambda templates: templates[B], ":14: "),
        (HEAD + entry(A) + entry(B).replace("tag", "x"), lambda templates: templates[B], ":9: there is no schema 'x'"),
        (HEAD + entry(A) + entry(B).replace("tag", "x"), list, ":9: there is no schema 'x'"),
    ],
)
def test_an_error_points_at_its_line(text: str, act: Callable[[TemplatesOnDemand], object], message: str) -> None:
    with pytest.raises(RegistryError) as raised:
        act(on_demand(text))
    assert message in str(raised.value)


def test_the_shipped_templates_can_be_read_one_by_one(parsed: list[str]) -> None:
    text = (packaged_registry_path() / TEMPLATES).read_text("utf-8")
    schemas = load_registry().schema_names
    one_by_one = TemplatesOnDemand(text, TEMPLATES, schemas)
    assert parsed == []
    whole = read_templates(parse_yaml(text, TEMPLATES), schemas)
    assert {sha256: one_by_one[sha256] for sha256 in whole} == whole
    assert len(parsed) == len(whole)
