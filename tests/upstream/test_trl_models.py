"""Every template that TRL 1.16.0 maps to a spec, written out as a model directory, is recognised."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rgw.detection import DetectionStatus, detect
from rgw.registry.loader import load_registry
from rgw.templates.resolve import resolve

SCHEMA_OF_TEMPLATE = {
    "deepseek_r1_distill": "deepseek_r1_distill",
    **dict.fromkeys(("gemma4", "gemma4_v2", "gemma4_v3", "gemma4_v4", "gemma4_v5"), "gemma4"),
    "glm4moe": "glm4_moe",
    "gptoss": "gpt_oss",
    **dict.fromkeys(("lfm2_2_5", "lfm2_2_5_v2"), "lfm2_5"),
    **dict.fromkeys(("lfm2_v2", "lfm2_2_5_vl"), "lfm2"),
    **dict.fromkeys(("llama3_1", "llama3_2"), "llama3"),
    **dict.fromkeys(("nemotron_3_nano", "nemotron_3_super"), "nemotron_3"),
    **dict.fromkeys(("nemotron_3_ultra", "nemotron_3_5_lightning"), "nemotron_3_ultra"),
    **dict.fromkeys(("qwen2_5", "qwen3", "qwen3_instruct_2507", "qwen3_vl"), "qwen3"),
    **dict.fromkeys(("qwen3_5_nothink", "qwen3_5_think"), "qwen3_5"),
    **dict.fromkeys(("qwen3_6", "qwen3_8"), "qwen3_5_json_values"),
}
"""The files of `trl/chat_templates` and the schema whose proof decides how their turns are read here."""


def test_there_are_as_many_as_trl_maps() -> None:
    assert len(SCHEMA_OF_TEMPLATE) == 26


@pytest.mark.parametrize("name", SCHEMA_OF_TEMPLATE)
def test_a_model_directory_with_the_template_is_recognised(
    name: str, trl_wheel: Callable[[str], Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(trl_wheel("1.16.0")) as wheel:
        text = wheel.read(f"trl/chat_templates/{name}.jinja")
    (tmp_path / "tokenizer_config.json").write_text("{}", "utf-8")
    (tmp_path / "chat_template.jinja").write_bytes(text)
    detection = detect(resolve(str(tmp_path)), load_registry())
    assert detection.status is DetectionStatus.RECOGNISED
    assert detection.schema is not None
    assert detection.schema.name == SCHEMA_OF_TEMPLATE[name]
