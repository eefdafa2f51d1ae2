"""The registry that is shipped: what must be in it."""

from __future__ import annotations

import pytest

from rgw.registry.loader import load_registry, packaged_registry_path, validate_registry
from rgw.registry.yaml_reading import read_yaml

ORIGINAL_GATEWAY = {
    "44f81586": "glm4_moe",
    "a4c9919c": "gpt_oss",
    "cd8e9439": "qwen3",
    "a55ee1b1": "qwen3",
    "64f85b19": "qwen3",
    "3636d0f0": "qwen3",
    "273d8e0e": "qwen3_5",
    "a4aee8af": "qwen3_5",
    "e84f32a2": "qwen3_5_json_values",
    "ab7813c3": "nemotron_3",
    "575fb74f": "nemotron_3",
    "82753bef": "nemotron_3_ultra",
}


@pytest.mark.parametrize(("prefix", "schema"), ORIGINAL_GATEWAY.items())
def test_a_template_of_the_original_gateway_is_registered(prefix: str, schema: str) -> None:
    templates = load_registry().templates
    (found,) = (template for sha256, template in templates.items() if sha256.startswith(prefix))
    assert found.schema == schema


def test_it_is_valid_throughout() -> None:
    validate_registry(load_registry())


def test_every_template_that_has_a_schema_names_a_repository_that_serves_it() -> None:
    assert [t.sha256 for t in load_registry().templates.values() if t.schema and not t.repos] == []


def test_the_notice_names_the_pin_of_the_lock() -> None:
    directory = packaged_registry_path()
    lock = read_yaml(directory / "upstream.lock.yaml", "upstream.lock.yaml").plain()
    (line,) = (line for line in (directory / "../NOTICE").read_text().splitlines() if line.startswith("TRL pin: "))
    assert lock["version"] in line
    assert lock.get("commit", lock.get("archive_sha256")) in line
