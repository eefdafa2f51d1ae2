"""The examples of `docs/derender.md` are what the derender does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from derender.derender_schemas import needs_response_template, registered, tiling
from rgw.derender.argument_types import ToolSchemas, read_untyped
from rgw.registry.model import UntypedValues

PAGE = (Path(__file__).parents[2] / "docs" / "derender.md").read_text("utf-8")
TILING = re.compile(r"With `(\w+)`:\n\n```text\n(.*?)\n```\n\nis tiled as\n\n```text\n(.*?)\n```", re.DOTALL)
WIRE_ROW = re.compile(r"^\| `(\w+)` \| `(\".*\")` \| `(\".*\")` \|$", re.MULTILINE)
TYPE_ROW = re.compile(r"^\| `(\{.*?\})` \| `(.*?)` \| `(.*?)` \|$", re.MULTILINE)

AROUND = {
    "qwen3_5": "<tool_call>\n<function=f>\n{}\n</function>\n</tool_call>",
    "qwen3_coder": "<tool_call>\n<function=f>\n{}\n</function>\n</tool_call>",
    "glm4_7": "<tool_call>f{}</tool_call>",
}


@needs_response_template
@pytest.mark.parametrize(("schema", "output", "tiles"), TILING.findall(PAGE))
def test_the_tiling(schema: str, output: str, tiles: str) -> None:
    parsed = registered(schema).parse(output, prompt="")
    assert [f"{kind} {json.dumps(text)}" for kind, text in tiling(output, parsed)] == tiles.splitlines()


@needs_response_template
@pytest.mark.parametrize(("schema", "wire", "value"), WIRE_ROW.findall(PAGE))
def test_a_value_on_the_wire(schema: str, wire: str, value: str) -> None:
    parsed = registered(schema).parse(AROUND[schema].format(json.loads(wire)), prompt="")
    assert [use["input"] for use in parsed.tool_uses] == [{"city": json.loads(value)}]


@pytest.mark.parametrize(("declared", "wire", "value"), TYPE_ROW.findall(PAGE))
def test_a_declared_type(declared: str, wire: str, value: str) -> None:
    tools = ToolSchemas([{"name": "f", "parameters": {"properties": {"x": json.loads(declared)}}}])
    read: Any = read_untyped(wire, tools.declared("f", "x"), UntypedValues.JSON)[0]
    assert (read, type(read)) == (json.loads(value), type(json.loads(value)))


def test_there_are_examples() -> None:
    assert [len(pattern.findall(PAGE)) for pattern in (TILING, WIRE_ROW, TYPE_ROW)] == [1, 5, 12]
