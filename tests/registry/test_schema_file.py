"""`schemas/NAME.yaml`: what it gives, and each thing that can be wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry.registry_files import SCHEMA
from rgw.errors import RegistryError
from rgw.registry.model import Dialect, LayoutRules, Origin, Sample, Schema, TurnRules, UntypedValues
from rgw.registry.schema_file import read_schema, schema_patterns
from rgw.registry.yaml_reading import Located, read_yaml

FULL = r"""
name: full
title: Everything that a schema can say
origin:
  source: trl
  names: {response_template: full_template, response_schema: full_schema}
  digests:
    response_template: 1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a
    response_schema: 2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b
patched: one pattern was too slow
usable_by_name: its models ship an encoder script
turn:
  end: [<end>, <call-end>]
  resumable: [<call-end>]
  reserved: [<bot>]
  repeated_reasoning: true
  prefill: "<think>\n"
layout:
  turn_start: "\n"
  between_regions: '[ \n]?'
  between_arguments: ''
untyped_values: text
dialects:
  response_schema:
    type: object
    x-regex: (?P<content>.*)
    x-regex-substitutions:
      - ['a+', 'b']
    properties:
      tool_calls:
        type: array
        x-regex-iterator: <call>(.*?)</call>
        items:
          type: object
          properties:
            arguments:
              x-regex-key-value: (?P<key>\w+)=(?P<value>\w+)
              additionalProperties: {x-parser: json, x-parser-args: {allow_non_json: true}}
  response_template:
    version: 1
    defaults: {role: assistant}
    start_anchor_pattern: <bot>\s
    fields:
      tool_calls:
        open_pattern: <call (?P<name>\w+)>
        close: </call>
        repeats: true
        content: xml-inline
        content_args: {tag_pattern: '<(?P<key>\w+)>(?P<value>.*?)</>'}
        transform: {name: '{name}', arguments: '{content}'}
constants: ['true', 'false']
samples:
  - title: A call
    prompt: "<bot>"
    output: |-
      <call f>
      <a>1</></call>
    tools: [{type: function, function: {name: f}}]
    expected:
      reasoning: ''
      text: ''
      tool_uses: [{name: f, input: {a: 1}}]
      issues: [undeclared_argument]
"""


def read(tmp_path: Path, text: str) -> Located:
    path = tmp_path / "schema.yaml"
    path.write_text(text, "utf-8")
    return read_yaml(path, "x.yaml")


def test_a_schema_that_says_everything(tmp_path: Path) -> None:
    schema = read_schema(read(tmp_path, FULL), "full")
    assert schema.name == "full"
    assert schema.title == "Everything that a schema can say"
    assert schema.origin == Origin(
        "trl",
        {Dialect.RESPONSE_TEMPLATE: "full_template", Dialect.RESPONSE_SCHEMA: "full_schema"},
        {Dialect.RESPONSE_TEMPLATE: "1a" * 32, Dialect.RESPONSE_SCHEMA: "2b" * 32},
    )
    assert schema.patched == "one pattern was too slow"
    assert schema.usable_by_name == "its models ship an encoder script"
    assert schema.turn == TurnRules(
        end=("<end>", "<call-end>"),
        resumable=("<call-end>",),
        reserved=("<bot>",),
        repeated_reasoning=True,
        prefill="<think>\n",
    )
    assert schema.layout == LayoutRules("\n", r"[ \n]?", "")
    assert schema.untyped_values is UntypedValues.TEXT
    assert schema.constants == ("true", "false")
    assert list(schema.dialects) == [Dialect.RESPONSE_TEMPLATE, Dialect.RESPONSE_SCHEMA]
    assert schema.dialects[Dialect.RESPONSE_TEMPLATE]["fields"]["tool_calls"]["repeats"] is True
    assert schema.dialects[Dialect.RESPONSE_SCHEMA]["x-regex-substitutions"] == [["a+", "b"]]
    assert schema.samples == (
        Sample(
            title="A call",
            output="<call f>\n<a>1</></call>",
            expected={
                "reasoning": "",
                "text": "",
                "tool_uses": [{"name": "f", "input": {"a": 1}}],
                "issues": ["undeclared_argument"],
            },
            prompt="<bot>",
            tools=({"type": "function", "function": {"name": "f"}},),
        ),
    )


def test_what_a_schema_does_not_say_is_the_default(tmp_path: Path) -> None:
    content = {"close_pattern": r"</bot>\s*", "content": "text"}
    assert read_schema(read(tmp_path, SCHEMA), "tag") == Schema(
        name="tag",
        title="A format with tags",
        origin=Origin("rgw"),
        dialects={Dialect.RESPONSE_TEMPLATE: {"start_anchor": "<bot>", "fields": {"content": content}}},
    )


def test_every_regular_expression_is_found(tmp_path: Path) -> None:
    found = [(pattern.line, pattern.text()) for pattern in schema_patterns(read(tmp_path, FULL))]
    assert sorted(found) == [
        (19, "\n"),
        (20, r"[ \n]?"),
        (21, ""),
        (26, "(?P<content>.*)"),
        (28, "a+"),
        (32, "<call>(.*?)</call>"),
        (37, r"(?P<key>\w+)=(?P<value>\w+)"),
        (42, r"<bot>\s"),
        (45, r"<call (?P<name>\w+)>"),
        (49, r"<(?P<key>\w+)>(?P<value>.*?)</>"),
    ]


ORIGIN = "origin:\n  source: rgw\n"
FIELDS = "    fields:\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: tag", "name: tags", "x.yaml:1: the file is called tag.yaml but the schema 'tags' — rename one"),
        ("title: A format with tags\n", "", "x.yaml:1: 'title' is missing"),
        ("A format with tags", "''", "x.yaml:2: 'title' must not be blank"),
        ("title", "titel", "x.yaml:2: unknown key 'titel' — did you mean 'title'?"),
        ("source: rgw", "source: someone", "x.yaml:4: 'source' must be one of trl, rgw, not 'someone'"),
        ("source: rgw", "source: trl", "x.yaml:4: a schema from TRL has 'names' and 'digests', of the same dialects"),
        (
            ORIGIN,
            "origin:\n  source: trl\n  names: {response_template: a}\n  digests: {response_schema: b}\n",
            "x.yaml:4: a schema from TRL has 'names' and 'digests', of the same dialects",
        ),
        (
            ORIGIN,
            "origin:\n  source: trl\n  names: {response_template: a}\n  digests:\n    response_template: b\n",
            "x.yaml:7: 'response_template' must be a sha256 (64 hexadecimal digits), not 'b'",
        ),
        (
            ORIGIN,
            "origin:\n  source: trl\n  names: {legacy: a}\n",
            "x.yaml:5: unknown key 'legacy' — known keys: response_template, response_schema",
        ),
        (
            ORIGIN,
            "origin:\n  source: rgw\n  names: {response_template: a}\n",
            "x.yaml:4: a schema written here has no upstream 'names' or 'digests' — remove them",
        ),
        (
            "  response_template:",
            "  other:",
            "x.yaml:6: unknown key 'other' — known keys: response_template, response_schema",
        ),
        ("    start_anchor: ", "    anchor: ", "x.yaml:7: unknown key 'anchor' — did you mean 'start_anchor'?"),
        (FIELDS, "    field:\n", "x.yaml:8: unknown key 'field' — did you mean 'fields'?"),
        ("close_pattern", "close_patern", "x.yaml:10: unknown key 'close_patern' — did you mean 'close_pattern'?"),
        (
            "content: text",
            "content: text\n        content: json",
            "x.yaml:12: the key 'content' stands twice — remove one of the two",
        ),
    ],
)
def test_what_is_wrong_is_pointed_at(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert SCHEMA.count(old) >= 1
    with pytest.raises(RegistryError) as raised:
        read_schema(read(tmp_path, SCHEMA.replace(old, new, 1)), "tag")
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("patched: true", "x.yaml:12: 'patched' must be text, not true — quote it"),
        ("usable_by_name: ' '", "x.yaml:12: 'usable_by_name' must not be blank"),
        ("untyped_values: xml", "x.yaml:12: 'untyped_values' must be one of text, json, python, not 'xml'"),
        ("turn:\n  ends: [a]", "x.yaml:13: unknown key 'ends' — did you mean 'end'?"),
        ("turn:\n  end: a", "x.yaml:13: 'end' must be a list, not 'a'"),
        ("turn:\n  end:\n    - ''", "x.yaml:14: an item of 'end' must not be blank"),
        (
            "turn:\n  end: [a]\n  resumable:\n    - b",
            "x.yaml:15: 'b' is resumable but not one of the markers in 'end' — add it there",
        ),
        ("turn:\n  repeated_reasoning: often", "x.yaml:13: 'repeated_reasoning' must be true or false, not 'often'"),
        ("turn:\n  prefill: 5", "x.yaml:13: 'prefill' must be text, not 5 — quote it"),
        ("layout:\n  between_region: a", "x.yaml:13: unknown key 'between_region' — did you mean 'between_regions'?"),
        ("samples: {}", "x.yaml:12: 'samples' must be a list, not a mapping"),
        ("samples:\n  - title: a\n    output: b", "x.yaml:13: 'expected' is missing"),
        (
            sample := "samples:\n  - title: a\n    output: b\n    expected:\n",
            "x.yaml:15: 'expected' must be a mapping, not nothing",
        ),
        (
            sample + "      content: c",
            "x.yaml:16: unknown key 'content' — known keys: reasoning, text, tool_uses, issues",
        ),
        (sample + "      tool_uses:\n        - input: {}", "x.yaml:17: 'name' is missing"),
        (sample + "      tool_uses:\n        - {name: f, input: 5}", "x.yaml:17: 'input' must be a mapping, not 5"),
        (sample + "      text: 5", "x.yaml:16: 'text' must be text, not 5 — quote it"),
        (sample + "      text: c\n    tools:\n      - f", "x.yaml:18: an item of 'tools' must be a mapping, not 'f'"),
    ],
)
def test_what_is_wrong_with_an_optional_part_is_pointed_at(tmp_path: Path, added: str, message: str) -> None:
    with pytest.raises(RegistryError) as raised:
        read_schema(read(tmp_path, SCHEMA + added + "\n"), "tag")
    assert str(raised.value) == message


def test_an_unknown_issue_code_is_pointed_at(tmp_path: Path) -> None:
    sample = "samples:\n  - title: a\n    output: b\n    expected:\n      issues:\n        - unclosed\n"
    with pytest.raises(
        RegistryError, match=r"^x\.yaml:17: an item of 'issues' must be one of unclosed_call, .*, not 'unclosed'$"
    ):
        read_schema(read(tmp_path, SCHEMA + sample), "tag")


@pytest.mark.parametrize(
    ("legacy", "message"),
    [
        ("x-regexp: a", "x.yaml:8: unknown key 'x-regexp' — did you mean 'x-regex'?"),
        ("properties:\n  a:\n    x-parse: b", "x.yaml:10: unknown key 'x-parse' — did you mean 'x-parser'?"),
        ("items:\n  typ: a", "x.yaml:9: unknown key 'typ' — did you mean 'type'?"),
        ("additionalProperties:\n  typ: a", "x.yaml:9: unknown key 'typ' — did you mean 'type'?"),
        ("x-regex-substitutions:\n  - [a]", "x.yaml:9: a substitution is a pattern and its replacement"),
        ("x-regex-substitutions:\n  - [a, 5]", "x.yaml:9: a substitution is a pattern and its replacement"),
    ],
)
def test_what_is_wrong_with_a_legacy_dialect_is_pointed_at(tmp_path: Path, legacy: str, message: str) -> None:
    indented = "".join(f"    {line}\n" for line in legacy.splitlines())
    text = f"name: a\ntitle: b\norigin:\n  source: rgw\n\ndialects:\n  response_schema:\n{indented}"
    with pytest.raises(RegistryError) as raised:
        read_schema(read(tmp_path, text), "a")
    assert str(raised.value) == message


def test_a_schema_needs_a_dialect(tmp_path: Path) -> None:
    text = "name: a\ntitle: b\norigin:\n  source: rgw\ndialects: {}\n"
    with pytest.raises(
        RegistryError, match=r"^x\.yaml:5: 'dialects' needs at least one of response_template, response_schema$"
    ):
        read_schema(read(tmp_path, text), "a")


def test_a_constant_is_one_of_six_words(tmp_path: Path) -> None:
    text = FULL.replace("constants: ['true', 'false']", "constants: ['true', 'nil']")
    message = r"^x\.yaml:\d+: 'nil' is no constant — name null, true and false as the templates print them$"
    with pytest.raises(RegistryError, match=message):
        read_schema(read(tmp_path, text), "full")


@pytest.mark.parametrize("name", ["Qwen", "a b", "-a", "a/b", "é"])
def test_a_name_that_is_awkward_on_a_command_line_is_refused(tmp_path: Path, name: str) -> None:
    text = SCHEMA.replace("name: tag", f"name: {name}")
    with pytest.raises(
        RegistryError,
        match=r"^x\.yaml:1: 'name' must be lower-case letters and digits, joined by '_', '-' or '\.', not",
    ):
        read_schema(read(tmp_path, text), name)
