"""Raw outputs reconstructed from public bug reports, kept beside the checkout; `test_reported_faults` says the kinds.

What counts: an expectation without ill-formed parts must be met exactly and the turn be well-formed; one with such
parts needs an issue, and either the whole turn as raw text or the expected parse. Compared trimmed unless a case says
that white space is exact.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

from rgw.derender import Derenderer
from rgw.model import ParsedOutput
from rgw.registry.loader import load_registry

CASES = Path(__file__).parents[3] / "shared" / "cases" / "outputs.jsonl"

SCHEMAS = {
    "Qwen3 JSON": "qwen3",
    "Hermes / Qwen3 JSON": "qwen3",
    "Qwen3 thinking": "qwen3",
    "Qwen3 / R1": "qwen3",
    "Qwen3-Next JSON": "qwen3",
    "Qwen ChatML": "qwen3",
    "Qwen3-Coder XML": "qwen3_coder",
    "Qwen3.5 XML": "qwen3_5",
    "Qwen3.6 XML": "qwen3_5",
    "Qwen3.8 XML": "qwen3_5",
    "Nemotron 3 XML": "nemotron_3",
    "GLM-4.5": "glm4_moe",
    "GLM-4.5 / Laguna": "glm4_moe",
    "GLM-4.7": "glm4_7",
    "GLM-5.2": "glm4_7",
    "gpt-oss harmony": "gpt_oss",
    "Gemma 4": "gemma4",
    "Llama 3 JSON": "llama3",
    "bare JSON (tag-less template)": "llama3",
    "Mistral JSON list (Ministral-8B, 7B v0.3)": "mistral_list",
    "DeepSeek V3 (thinking)": "deepseek_v3",
    "DeepSeek V3.2 DSML": "deepseek_dsml",
    "DeepSeek V4 DSML": "deepseek_dsml",
    "Kimi K2": "kimi_k2",
    "Kimi K2.5": "kimi_k2",
    "MiniMax M2": "minimax_m2",
    "MiniMax M3": "minimax_m3",
    "DeepSeek R1": "deepseek_r1_distill",
    "DeepSeek R1 distill (Qwen)": "deepseek_r1_distill",
}
"""The schema that reads the outputs of each family; a family that is not here has no schema yet."""

DISAGREEMENTS = {
    "B09": (
        "the newlines that the template itself writes around the thought are layout, not data, so they are in neither"
        " reasoning nor text; the raw slices that a round trip needs are in the segments"
    ),
}
"""The cases whose expectation is believed wrong, each with the reason."""


def _cases() -> list[Any]:
    """The cases as parameters; those of families without a schema are expected to fail."""
    if not CASES.is_file():
        return [pytest.param({}, id="none", marks=pytest.mark.skip(reason="shared/cases is not beside the checkout"))]
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    return [pytest.param(case, id=case["id"], marks=_marks(case)) for case in cases]


def _marks(case: dict[str, Any]) -> list[pytest.MarkDecorator]:
    if case["family"] not in SCHEMAS:
        return [pytest.mark.xfail(reason=f"no schema yet for {case['family']}", raises=KeyError)]
    if case["id"] in DISAGREEMENTS:
        return [pytest.mark.xfail(reason=DISAGREEMENTS[case["id"]], raises=AssertionError)]
    return []


@pytest.mark.parametrize("case", _cases())
def test_a_reported_output_is_read_or_flagged(case: dict[str, Any]) -> None:
    registry = load_registry()
    derenderer = Derenderer(registry.schema(SCHEMAS[case["family"]]), call_markers=registry.call_markers)
    started = time.perf_counter()
    parsed = derenderer.parse(_output(case), prompt=case.get("prompt_suffix") or "", tools=case["tools"])
    assert time.perf_counter() - started < case.get("time_limit_s", math.inf)
    if case["expected"]["ill_formed"]:
        assert parsed.issues
        assert parsed.ill_formed or _meaning(parsed, case) == _expected(case)
    else:
        assert _meaning(parsed, case) == _expected(case)
        assert not parsed.ill_formed


def _output(case: dict[str, Any]) -> str:
    """The raw output; a large one is written as a Python expression."""
    output = case.get("raw_output")
    return output if output is not None else eval(case["raw_output_gen"], {"__builtins__": {}})


def _meaning(parsed: ParsedOutput, case: dict[str, Any]) -> tuple[str, str, list[Any]]:
    calls = [(use["name"], use["input"]) for use in parsed.tool_uses]
    return _trimmed(parsed.reasoning, case), _trimmed(parsed.text, case), calls


def _expected(case: dict[str, Any]) -> tuple[str, str, list[Any]]:
    expected = case["expected"]
    calls = [(call["name"], call["arguments"]) for call in expected["tool_calls"]]
    return _trimmed(expected["reasoning"] or "", case), _trimmed(expected["text"] or "", case), calls


def _trimmed(text: str, case: dict[str, Any]) -> str:
    return text if case["whitespace_exact"] else text.strip()
