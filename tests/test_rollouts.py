"""What reads an output is chosen once, never guessed, and a prompt that nobody gave is the template's own."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rgw.derender.policy import Policy
from rgw.errors import RegistryError, RgwError, SourceError, UnrecognisedTemplateError, UsageError
from rgw.registry.layer import Layer, RegistryLayer
from rgw.registry.loader import Registry, load_registry
from rgw.registry.model import RegisteredTemplate
from rgw.rollouts import BadLine, Choice, NotRunnable, Readers, Reading, Request, compare_schemas, read_lines
from rgw.templates.resolve import resolve

EXAMPLES = Path(__file__).parents[1] / "examples"
MODEL = str(EXAMPLES / "model")


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry(EXAMPLES / "registry")


@pytest.fixture
def readers(registry: Registry) -> Readers:
    return Readers(registry, policy=Policy())


@pytest.mark.parametrize(
    "names",
    [{"schema": "a", "template": "b"}, {"schema": "a", "model": "b"}, {"template": "a", "model": "b"}],
)
def test_a_choice_is_one_thing(names: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        Choice(**names)


def test_no_choice_is_false_and_an_empty_name_is_still_a_choice() -> None:
    assert not Choice()
    assert Choice(schema="")


def test_the_same_choice_is_made_once(readers: Readers) -> None:
    assert readers.reader(Choice(schema="qwen3")) is readers.reader(Choice(schema="qwen3"))


def test_a_model_that_cannot_be_read_is_asked_for_once(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def unreachable(ref: str, *, revision: str | None = None) -> None:
        asked.append(ref)
        raise SourceError(f"{ref} is unreachable")

    monkeypatch.setattr("rgw.templates.resolve.resolve", unreachable)
    for _ in range(3):
        with pytest.raises(SourceError, match="owner/model is unreachable"):
            readers.reader(Choice(model="owner/model"))
    assert asked == ["owner/model"]


def test_an_unrecognised_template_is_never_read_by_another_schema(readers: Readers) -> None:
    with pytest.raises(UnrecognisedTemplateError, match="is not registered"):
        readers.reader(Choice(model=str(EXAMPLES / "edited-model")))


def test_an_unknown_schema_is_refused(readers: Readers) -> None:
    with pytest.raises(UsageError, match="there is no schema 'nonsense'"):
        readers.reader(Choice(schema="nonsense"))


def test_the_prefill_of_the_template_stands_for_a_prompt_that_is_not_given(registry: Registry) -> None:
    template = resolve(MODEL).effective
    assert template is not None
    entry = RegisteredTemplate(template.sha256, "kiosk", "thinking kiosk", "kiosk", prefill="<|assistant|><|think|>")
    layer = RegistryLayer(Layer.OVERLAY, EXAMPLES, "test", {}, {template.sha256: entry}, ())
    thinking = Readers(replace(registry, layers=(*registry.layers, layer)), policy=Policy())
    reader = thinking.reader(Choice(model=MODEL))
    output = "why<|/think|>so<|end|>"
    assert reader.read(output, Request(), name=1).parsed.reasoning == "why"
    assert reader.read(output, Request(prompt=""), name=1).parsed.reasoning == ""


def test_a_comparison_has_every_schema_and_the_one_that_reads_most_comes_first(readers: Readers) -> None:
    output = (EXAMPLES / "outputs" / "complete.txt").read_text("utf-8")
    results = compare_schemas(output, readers, Request(), name="it")
    assert sorted(result.schema for result in results) == sorted(load_registry(EXAMPLES / "registry").schemas)
    assert results[0].schema == "kiosk"
    assert results[0].clean


def test_a_stream_is_read_as_it_is_asked_for(readers: Readers, tmp_path: Path) -> None:
    stream = tmp_path / "stream"
    stream.write_text(json.dumps({"output": "one"}) + "\nnonsense\n" + json.dumps({"output": "three"}), "utf-8")
    results = read_lines(str(stream), readers, Request(Choice(schema="kiosk")))
    first, second, third = next(results), next(results), next(results)
    assert isinstance(first, Reading)
    assert isinstance(second, BadLine)
    assert isinstance(third, Reading)
    assert (first.output, second.line, third.output) == ("one", 2, "three")


def test_a_stream_that_cannot_be_opened_is_an_error_of_its_own(readers: Readers, tmp_path: Path) -> None:
    with pytest.raises(RgwError, match="No such file"):
        list(read_lines(str(tmp_path / "missing"), readers, Request()))


SLOW_SCHEMA = """\
name: slow
title: A format whose thought may end anywhere
origin:
  source: rgw
dialects:
  response_template:
    start_anchor: <bot>
    fields:
      reasoning_content:
        open_pattern: <t>(?=.*</t>)
        close: </t>
        content: text
      content:
        close: </bot>
        content: text
"""


@pytest.fixture
def slow_overlay(tmp_path: Path) -> Registry:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "slow.yaml").write_text(SLOW_SCHEMA, encoding="utf-8")
    return load_registry(tmp_path)


def test_a_slow_schema_of_an_overlay_reads_nothing(slow_overlay: Registry) -> None:
    with pytest.raises(RegistryError, match=re.escape(r"<t>(?=.*</t>)")):
        Readers(slow_overlay, policy=Policy()).reader(Choice(schema="slow"))


def test_a_slow_schema_of_an_overlay_is_left_out_of_a_comparison(slow_overlay: Registry) -> None:
    results = compare_schemas("<bot>hi</bot>", Readers(slow_overlay, policy=Policy()), Request(), name="x")
    assert [result.schema for result in results if isinstance(result, NotRunnable)] == ["slow"]
