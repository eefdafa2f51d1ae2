"""The file of a candidate: what is printed reads back as the schema that was proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference import made_up_templates as made_up
from rgw.inference.document import inference_document, inferred_file, schema_data
from rgw.inference.inferring import infer
from rgw.inference.model import Inference
from rgw.registry.schema_file import read_schema
from rgw.registry.yaml_reading import read_yaml
from rgw.templates.rendering import RenderPool


@pytest.mark.parametrize("template", [made_up.TAGS, made_up.OWN_QUOTES, made_up.MESSAGES, made_up.STRIPS_THOUGHTS])
def test_the_file_reads_back_as_the_schema(pool: RenderPool, tmp_path: Path, template: str) -> None:
    inference = infer(template, name="made_up", conversations=5, pool=pool)
    path = tmp_path / "made_up.yaml"
    path.write_text(inferred_file("a model", inference), "utf-8")
    assert read_schema(read_yaml(path, "made_up.yaml"), "made_up") == inference.schema


def test_comments_stand_above_what_they_explain(pool: RenderPool) -> None:
    lines = inferred_file("a model", infer(made_up.JSON_OBJECTS, conversations=5, pool=pool)).splitlines()
    assert lines[0] == "# proved: a model"
    place = next(number for number, line in enumerate(lines) if "open_pattern: (?:\\r?\\n)?<do>" in line)
    assert lines[place - 1].strip().startswith("# what stands before a call: '\\n<do>\\n'")


def test_what_has_no_candidate_is_comments_only() -> None:
    told = inferred_file("x\n::error::y", Inference(None, failure="it does\nnot render"))
    assert told.splitlines() == ["# 'not proved: x\\n::error::y'", "# 'it does\\nnot render'"]


def test_the_json_document(pool: RenderPool) -> None:
    inference = infer(made_up.NAME_AND_JSON, conversations=5, pool=pool)
    document = inference_document("a model", "0" * 64, inference)
    assert inference.schema is not None
    assert (document["version"], document["proved"], document["failure"]) == (1, True, None)
    assert document["schema"] == schema_data(inference.schema)
    assert document["proof"]["proved"] is True
