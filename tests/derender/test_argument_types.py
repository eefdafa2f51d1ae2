"""Typing arguments by the tools of the request: how text becomes a value, and when a value is not what was declared."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgw.derender.argument_types import Fit, ToolSchemas, fits, read_untyped
from rgw.errors import UsageError
from rgw.registry.model import JSON_CONSTANTS, UntypedValues


def declared(schema: dict[str, Any], **root: Any) -> Any:
    """What a tool that has one argument of this schema declares for it."""
    parameters = {"type": "object", "properties": {"x": schema}, **root}
    tools = ToolSchemas([{"type": "function", "function": {"name": "f", "parameters": parameters}}])
    return tools.declared("f", "x")


def read(text: str, schema: dict[str, Any], **root: Any) -> tuple[Any, Fit]:
    return read_untyped(text, declared(schema, **root), UntypedValues.JSON)


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
OBJECT = {"type": "object"}
ARRAY = {"type": "array"}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (STRING, "02139", "02139"),
        (STRING, "true", "true"),
        (STRING, "null", "null"),
        (STRING, '{"a": 1}', '{"a": 1}'),
        (STRING, " two  words ", " two  words "),
        (STRING, "", ""),
        (INTEGER, "7", 7),
        (INTEGER, " -7 ", -7),
        (INTEGER, "+7", 7),
        (INTEGER, "007", 7),
        (INTEGER, "7.0", 7),
        (INTEGER, "7e2", 700),
        (INTEGER, "9007199254740993", 9007199254740993),
        (INTEGER, "9007199254740993.0", 9007199254740993),
        (NUMBER, "7", 7),
        (NUMBER, "9007199254740993", 9007199254740993),
        (NUMBER, "7.5", 7.5),
        (NUMBER, ".5", 0.5),
        (NUMBER, "1e-3", 0.001),
        (BOOLEAN, "true", True),
        (BOOLEAN, "False", False),
        ({"type": "null"}, "null", None),
        ({"type": "null"}, "None", None),
        (OBJECT, ' {"a": [1, null]} ', {"a": [1, None]}),
        (ARRAY, "[1, 2]", [1, 2]),
        (ARRAY, "[]", []),
    ],
)
def test_the_declared_type_says_how_the_text_is_read(schema: dict[str, Any], text: str, value: Any) -> None:
    read_value, fit = read(text, schema)
    assert (read_value, type(read_value), fit) == (value, type(value), Fit.FITS)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (INTEGER, "seven"),
        (INTEGER, "7.5"),
        (INTEGER, ""),
        (INTEGER, "1" * 500),
        (INTEGER, "0x10"),
        (INTEGER, "1_000"),
        (NUMBER, "1e999"),
        (NUMBER, "NaN"),
        (NUMBER, "Infinity"),
        (BOOLEAN, "yes"),
        (BOOLEAN, "1"),
        ({"type": "null"}, ""),
        (OBJECT, "[1]"),
        (OBJECT, '{"a": 1} and more'),
        (OBJECT, '{"a": 1, "a": 2}'),
        (OBJECT, "{'a': 1, 'a': 2}"),
        (OBJECT, '{"a": NaN}'),
        (OBJECT, "{1: 2}"),
        (OBJECT, "{'a': '\\ud800'}"),
        (OBJECT, "{'a': (1, 2)}"),
        (OBJECT, "{'a': {1, 2}}"),
        (OBJECT, "{'a': 1e999}"),
        (OBJECT, "{'a': __import__('os')}"),
        (ARRAY, "[" * 150 + "]" * 150),
        (ARRAY, "[" * 100_000),
        (ARRAY, "['a'" + ", 1" * 50_000 + "]"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_fits_no_declared_type_keeps_its_text(schema: dict[str, Any], text: str) -> None:
    assert read(text, schema) == (text, Fit.MISFIT)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (OBJECT, "{'deep': True, 'n': None}", {"deep": True, "n": None}),
        (ARRAY, "['a', \"b\"]", ["a", "b"]),
    ],
)
def test_an_object_or_array_may_be_a_python_literal_which_is_told(schema: Any, text: str, value: Any) -> None:
    assert read(text, schema) == (value, Fit.PYTHON_LITERAL)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": ["integer", "string"]}, "7", 7),
        ({"type": ["string", "integer"]}, "7", 7),
        ({"type": ["string", "integer"]}, "seven", "seven"),
        ({"type": ["string", "integer"]}, "7.0", "7.0"),
        ({"type": ["string", "integer"]}, " 7", " 7"),
        ({"type": ["string", "number"]}, "7.50", "7.50"),
        ({"type": ["string", "boolean"]}, "True", True),
        ({"type": ["string", "boolean"]}, "TRUE", "TRUE"),
        ({"type": ["string", "null"]}, "None", None),
        ({"type": "integer", "nullable": True}, "null", None),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "7", 7),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "blue", "blue"),
        ({"oneOf": [{"type": "boolean"}, {"type": "array"}]}, "[1]", [1]),
        ({"allOf": [{"type": "integer"}]}, "7", 7),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": [1, 2]}, "1", 1),
        ({"type": ["integer", "string"], "enum": ["1", 2]}, "1", "1"),
        ({"enum": [None, "a"]}, "null", None),
        ({"type": ["string", "null"], "enum": ["a", None]}, "null", None),
        ({"const": 5}, "5", 5),
        ({"const": "5"}, "5", "5"),
        ({"type": "string", "enum": ["null", "x"]}, "null", "null"),
        ({}, "7", 7),
        ({"description": "anything"}, "02139", "02139"),
    ],
)
def test_unions_enums_and_constants_are_read(schema: dict[str, Any], text: str, value: Any) -> None:
    read_value, fit = read(text, schema)
    assert (read_value, type(read_value), fit) == (value, type(value), Fit.FITS)


def test_local_references_are_followed() -> None:
    definitions = {"Count": {"type": "integer"}, "Alias": {"$ref": "#/$defs/Count"}}
    assert read("7", {"$ref": "#/$defs/Alias"}, **{"$defs": definitions}) == (7, Fit.FITS)
    union = {"anyOf": [{"$ref": "#/definitions/Count"}, {"type": "null"}]}
    assert read("null", union, definitions=definitions) == (None, Fit.FITS)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/Loop"},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "https://example.org/schema"},
        {"anyOf": [{"$ref": "#/$defs/Tree"}]},
    ],
)
def test_a_reference_that_leads_nowhere_declares_nothing(schema: dict[str, Any]) -> None:
    definitions = {"Loop": {"$ref": "#/$defs/Loop"}, "Tree": {"anyOf": [{"$ref": "#/$defs/Tree"}]}}
    assert read("7", schema, **{"$defs": definitions}) == (7, Fit.FITS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("true", True),
        ("null", None),
        ('"quoted"', "quoted"),
        ('{"a": 1}', {"a": 1}),
        ("02139", "02139"),
        ("NaN", "NaN"),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ("plain", "plain"),
        ("7 apples", "7 apples"),
        ("", ""),
    ],
)
def test_without_a_declaration_the_response_schema_decides(text: str, value: Any) -> None:
    assert read_untyped(text, None, UntypedValues.JSON) == (value, Fit.FITS)
    assert read_untyped(text, None, UntypedValues.TEXT) == (text, Fit.FITS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': [True, None, 1.5]}", {"a": [True, None, 1.5]}),
        ("True", True),
        ("None", None),
        ("-7", -7),
        ("true", "true"),
        ('{"a": true}', '{"a": true}'),
        ("[1,2]", "[1,2]"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("'x'", "'x'"),
        ("Trueish", "Trueish"),
        ("{1: 2}", "{1: 2}"),
        ("(1, 2)", "(1, 2)"),
        ("[" * 5000, "[" * 5000),
        ("", ""),
    ],
)
def test_what_python_prints_is_read_where_the_response_schema_says_so(text: str, value: Any) -> None:
    assert read_untyped(text, None, UntypedValues.PYTHON) == (value, Fit.FITS)


def test_a_python_literal_is_a_deviation_only_where_the_format_writes_json() -> None:
    assert read_untyped("['x']", declared({"type": "array"}), UntypedValues.TEXT) == (["x"], Fit.PYTHON_LITERAL)
    assert read_untyped("['x']", declared({"type": "array"}), UntypedValues.PYTHON) == (["x"], Fit.FITS)
    assert read_untyped('["x"]', declared({"type": "array"}), UntypedValues.PYTHON) == (["x"], Fit.FITS)
    assert read_untyped("['x',]", declared({"type": "array"}), UntypedValues.PYTHON) == (["x"], Fit.PYTHON_LITERAL)


@given(st.text())
def test_a_string_parameter_is_never_changed(text: str) -> None:
    assert read(text, STRING) == (text, Fit.FITS)


@given(st.integers())
def test_integers_stay_exact(number: int) -> None:
    assert read(str(number), INTEGER) == (number, Fit.FITS)
    assert read(str(number), NUMBER) == (number, Fit.FITS)


@given(st.dictionaries(st.text(), st.lists(st.integers() | st.text() | st.none())))
def test_an_object_written_as_json_is_read_back(value: dict[str, Any]) -> None:
    assert read(json.dumps(value), OBJECT) == (value, Fit.FITS)


@given(st.text(), st.sampled_from([STRING, INTEGER, NUMBER, BOOLEAN, OBJECT, ARRAY, {}]))
def test_no_text_is_too_strange_to_be_typed(text: str, schema: dict[str, Any]) -> None:
    value, fit = read(text, schema)
    assert fit is not Fit.MISFIT or value == text


@pytest.mark.parametrize(
    ("value", "schema", "fitting"),
    [
        (1, INTEGER, True),
        (1.0, INTEGER, True),
        (1.5, INTEGER, False),
        (1, NUMBER, True),
        (True, INTEGER, False),
        (True, BOOLEAN, True),
        ("1", INTEGER, False),
        (None, {"type": ["string", "null"]}, True),
        (None, STRING, False),
        ([], ARRAY, True),
        ({}, ARRAY, False),
        ({}, {}, True),
        ("blue", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
    ],
)
def test_a_value_with_a_type_is_compared_only(value: Any, schema: dict[str, Any], fitting: bool) -> None:
    assert fits(value, declared(schema)) is fitting


def lookup(city: str) -> str:
    """Look a city up.

    Args:
        city: Its name.
    """
    return city


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "lookup", "parameters": {"properties": {"city": STRING}}}},
        {"name": "lookup", "parameters": {"properties": {"city": STRING}}},
        {"name": "lookup", "input_schema": {"properties": {"city": STRING}}},
        lookup,
    ],
    ids=["openai", "bare", "input_schema", "function"],
)
def test_tools_come_in_every_form_that_templates_take(tool: Any) -> None:
    tools = ToolSchemas([tool])
    assert tools.declares("lookup")
    assert not tools.declares("other")
    assert tools.undeclared_argument("lookup", "town")
    assert read_untyped("02139", tools.declared("lookup", "city"), UntypedValues.JSON) == ("02139", Fit.FITS)


@pytest.mark.filterwarnings("error")
def test_an_escape_that_python_warns_of_is_read_whatever_becomes_of_warnings() -> None:
    value, fit = read(r"{'pattern': '\d+'}", OBJECT)
    assert (value, fit) == ({"pattern": r"\d+"}, Fit.PYTHON_LITERAL)


@pytest.mark.parametrize(
    ("python", "json", "value"), [("None", "null", None), ("True", "true", True), ("False", "false", False)]
)
def test_where_a_string_is_allowed_only_the_constants_of_the_format_are_constants(
    python: str, json: str, value: bool | None
) -> None:
    several = declared({"type": ["string", "null", "boolean"]})
    assert read_untyped(python, several, UntypedValues.TEXT) == (value, Fit.FITS)
    assert read_untyped(json, several, UntypedValues.TEXT) == (json, Fit.OTHER_CONSTANT)
    assert read_untyped(json, several, UntypedValues.TEXT, constants=JSON_CONSTANTS) == (value, Fit.FITS)
    assert read_untyped(python, several, UntypedValues.TEXT, constants=JSON_CONSTANTS) == (python, Fit.OTHER_CONSTANT)
    assert read_untyped(json, several, UntypedValues.TEXT, constants=()) == (json, Fit.OTHER_CONSTANT)
    assert read_untyped(json, declared({"type": "string"}), UntypedValues.TEXT) == (json, Fit.FITS)


def test_a_format_that_writes_json_still_reads_none_where_no_string_is_allowed() -> None:
    assert read_untyped("None", declared({"type": "null"}), UntypedValues.TEXT, constants=JSON_CONSTANTS) == (
        None,
        Fit.FITS,
    )


@pytest.mark.parametrize("tool", [None, 5, {}, {"function": 3}, {"name": 7}, {"name": "f", "parameters": "none"}])
def test_what_is_no_tool_is_ignored(tool: Any) -> None:
    assert ToolSchemas([tool]).declared("f", "x") is None


@pytest.mark.parametrize(
    ("parameters", "undeclared"),
    [
        ({"properties": {"x": {}}}, True),
        ({"properties": {"x": {}}, "additionalProperties": False}, True),
        ({"properties": {"x": {}}, "additionalProperties": True}, False),
        ({"properties": {"x": {}}, "additionalProperties": {"type": "string"}}, False),
        ({"properties": {"x": {}}, "patternProperties": {"^y": {}}}, False),
        ({"type": "object"}, False),
        ({}, False),
    ],
)
def test_an_argument_is_undeclared_only_where_the_tool_lists_its_properties(parameters: Any, undeclared: bool) -> None:
    tools = ToolSchemas([{"name": "f", "parameters": parameters}])
    assert tools.undeclared_argument("f", "y") is undeclared
    assert not tools.undeclared_argument("g", "y")


def test_a_function_without_a_schema_is_the_callers_fault() -> None:
    def undocumented(city):  # type: ignore[no-untyped-def]
        return city

    with pytest.raises(UsageError, match="the tool function undocumented has no schema"):
        ToolSchemas([undocumented])
