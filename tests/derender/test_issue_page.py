"""`docs/issues.md` explains every code, and each of its examples carries the code that it explains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from derender.derender_schemas import needs_response_template, registered
from rgw.model import IssueCode

PAGE = (Path(__file__).parents[2] / "docs" / "issues.md").read_text("utf-8")
SECTION = re.compile(r"^### `(\w+)`\n\n\*\*(error|warning)\*\* — (.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^With `(\w+)`(, with tools)?:\n\n```text\n(.*?)\n```", re.MULTILINE | re.DOTALL)

WITHOUT_EXAMPLE = {"missing_field", "too_deep", "time_budget_exceeded", "engine_failure"}
"""No registered schema, or no output that fits a page, shows these."""

PROPERTIES = {"city": {"type": "string"}, "days": {"type": "integer"}}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "get_weather", "parameters": {"type": "object", "properties": PROPERTIES}},
    }
]


class Example(NamedTuple):
    code: str
    severity: str
    schema: str
    with_tools: bool
    output: str


def examples() -> list[Example]:
    return [
        Example(code, severity, schema, bool(with_tools), output)
        for code, severity, text in SECTION.findall(PAGE)
        for schema, with_tools, output in EXAMPLE.findall(text)
    ]


def test_every_code_has_one_section() -> None:
    assert sorted(code for code, _, _ in SECTION.findall(PAGE)) == sorted(IssueCode)


def test_every_section_has_an_example_or_cannot_have_one() -> None:
    assert sorted({example.code for example in examples()} | WITHOUT_EXAMPLE) == sorted(IssueCode)


@needs_response_template
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.code)
def test_an_example_carries_the_code_that_it_explains(example: Example) -> None:
    parsed = registered(example.schema).parse(example.output, prompt="", tools=TOOLS if example.with_tools else None)
    found = [(issue.code, issue.severity) for issue in parsed.issues]
    assert (example.code, example.severity) in found
    others = {"unclosed_reasoning"} if example.code == "call_in_reasoning" else set()
    assert {code for code, _ in found} <= {example.code, *others}
