"""Templates as TRL ships them, of every wire format among them: inferred from their text alone, and proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from rgw.derender import Derenderer
from rgw.inference.inferring import infer, render_pool
from rgw.templates.rendering import RenderPool
from upstream.conftest import trl_wheel

__all__ = ["trl_wheel"]

CALL = {"name": "f", "input": {"city": "Paris"}}
OUTPUTS = {
    "qwen2_5": '<tool_call>\n{"name": "f", "arguments": {"city": "Paris"}}\n</tool_call><|im_end|>',
    "qwen3": (
        '<think>\nSo.\n</think>\n\n<tool_call>\n{"name": "f", "arguments": {"city": "Paris"}}\n</tool_call><|im_end|>'
    ),
    "qwen3_6": (
        "<think>\nSo.\n</think>\n\n<tool_call>\n<function=f>\n<parameter=city>\nParis\n</parameter>\n</function>\n"
        "</tool_call><|im_end|>"
    ),
    "glm4moe": (
        "\n<think>So.</think>\n<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>"
        "<|observation|>"
    ),
    "gptoss": (
        "<|channel|>analysis<|message|>So.<|end|><|start|>assistant to=functions.f<|channel|>commentary json<|message|>"
        '{"city": "Paris"}<|call|>'
    ),
    "llama3_1": '{"name": "f", "parameters": {"city": "Paris"}}<|eot_id|>',
    "lfm2_2_5": "<|tool_call_start|>[f(city='Paris')]<|tool_call_end|><|im_end|>",
    "gemma4": '<|tool_call>call:f{city:<|"|>Paris<|"|>}<tool_call|><|tool_response>',
}


@pytest.fixture(scope="module")
def pool() -> Iterator[RenderPool]:
    with render_pool() as pool:
        yield pool


@pytest.fixture
def template(trl_wheel: Callable[[str], Path], request: pytest.FixtureRequest) -> str:
    with ZipFile(trl_wheel("1.16.0")) as wheel:
        return wheel.read(f"trl/chat_templates/{request.param}.jinja").decode("utf-8")


@pytest.mark.parametrize(("template", "output"), OUTPUTS.items(), indirect=["template"], ids=list(OUTPUTS))
def test_a_real_template_is_inferred_and_read(pool: RenderPool, template: str, output: str) -> None:
    inference = infer(template, conversations=40, pool=pool)
    assert inference.proved, inference.failure
    assert inference.schema is not None
    parsed = Derenderer(inference.schema).parse(output, prompt="")
    assert (parsed.tool_uses, parsed.text, parsed.ill_formed) == ([CALL], "", False)
