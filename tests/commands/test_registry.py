"""`rgw registry` shows what is registered and finds what is wrong with a registry."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commands.conftest import EXAMPLES, KIOSK, Rgw

QWEN3_SHA256 = "a55ee1b1"


def test_the_list_in_json_has_every_schema_and_template(rgw: Rgw) -> None:
    outcome = rgw("registry", "list", "--json")
    document = outcome.document
    assert (outcome.code, document["version"]) == (0, 1)
    [qwen3] = [schema for schema in document["schemas"] if schema["name"] == "qwen3"]
    assert qwen3["origin"] == "trl"
    assert qwen3["dialects"] == ["response_template", "response_schema"]
    [template] = [template for template in document["templates"] if template["sha256"].startswith(QWEN3_SHA256)]
    assert template["schema"] == "qwen3"
    assert "Qwen/Qwen3-8B" in template["repos"]


def test_the_list_for_people_and_for_scripts(rgw: Rgw) -> None:
    assert "qwen3_5" in rgw("registry", "list").out
    names = rgw("registry", "list", "-q").out.splitlines()
    assert names == sorted(names)
    assert {"qwen3", "gpt_oss", "llama3"} <= set(names)


def test_an_overlay_is_laid_over_the_packaged_registry(rgw: Rgw) -> None:
    schemas = rgw("registry", "list", *KIOSK, "--json").document["schemas"]
    layers = {schema["name"]: schema["layer"] for schema in schemas}
    assert (layers["kiosk"], layers["qwen3"]) == ("overlay", "packaged")


@pytest.mark.parametrize("name", ["qwen3", QWEN3_SHA256])
def test_a_schema_is_shown_by_name_or_by_the_start_of_a_hash(name: str, rgw: Rgw) -> None:
    outcome = rgw("registry", "show", name, "--json")
    document = outcome.document
    assert (outcome.code, document["version"]) == (0, 1)
    assert document["schema"]["name"] == "qwen3"
    assert "tool_calls" in document["schema"]["dialects"]["response_template"]["fields"]
    assert any(template["sha256"].startswith(QWEN3_SHA256) for template in document["templates"])


def test_a_schema_for_people(rgw: Rgw) -> None:
    outcome = rgw("registry", "show", "qwen3")
    assert outcome.code == 0
    assert outcome.out.startswith("qwen3  ")
    assert "Qwen/Qwen3-8B" in outcome.out


def test_an_unknown_schema_is_a_usage_error_with_a_suggestion(rgw: Rgw) -> None:
    outcome = rgw("registry", "show", "qwen33")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean qwen3" in outcome.err


def test_a_sound_registry_passes_the_check(rgw: Rgw) -> None:
    outcome = rgw("registry", "check", *KIOSK, "--json")
    document = outcome.document
    assert (outcome.code, document["valid"]) == (0, True)
    assert {"name": "kiosk", "samples": 2, "problems": [], "skipped": None} in document["schemas"]


def test_a_schema_that_misreads_its_sample_is_a_finding(rgw: Rgw, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "registry", tmp_path, dirs_exist_ok=True)
    schema = tmp_path / "schemas" / "kiosk.yaml"
    text = schema.read_text("utf-8")
    schema.write_text(text.replace("text: The tea is on shelf four.", "text: There is no tea."), encoding="utf-8")
    outcome = rgw("registry", "check", "--registry", tmp_path, "--json")
    assert outcome.code == 1
    [kiosk] = [schema for schema in outcome.document["schemas"] if schema["name"] == "kiosk"]
    assert kiosk["problems"] == [
        "sample 'An answer alone': text is 'The tea is on shelf four.', not 'There is no tea.'"
    ]
    assert rgw("registry", "check", "--registry", tmp_path, "-q").out == "kiosk\n"


def test_a_file_that_does_not_validate_is_named(rgw: Rgw, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "registry", tmp_path, dirs_exist_ok=True)
    (tmp_path / "schemas" / "kiosk.yaml").write_text("name: kiosk\nnonsense: 1\n", encoding="utf-8")
    outcome = rgw("registry", "check", "--registry", tmp_path)
    assert (outcome.code, outcome.out) == (3, "")
    assert "kiosk.yaml:" in outcome.err
