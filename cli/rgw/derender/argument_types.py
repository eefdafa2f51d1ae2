"""Typing arguments by the request's tool schemas, on every transformers version alike.

Where the wire carries no types, the declared JSON Schema type says how a value's text is read; where it carries them,
the declared type is only compared. Unions, `anyOf`, `oneOf`, enums, `const`, `nullable` and local `$ref`s are read.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum, auto
from threading import Lock
from typing import Any, NamedTuple

from rgw.derender.json_values import read_json, skip_white_space
from rgw.derender.reading import ContentError
from rgw.errors import UsageError
from rgw.registry.model import PYTHON_CONSTANTS, UntypedValues

_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_FILTERING = Lock()
"""Filters of warnings are the process's: threads must not restore each other's."""

_LITERAL_LIMIT = 100_000
_TYPES_OF_CONSTANTS = {
    "null": "null",
    "true": "boolean",
    "false": "boolean",
    "None": "null",
    "True": "boolean",
    "False": "boolean",
}
_STARTS_OF_LITERALS = (*"[{-0123456789", "True", "False", "None")
_REFERENCE_DEPTH = 8


class Declaration(NamedTuple):
    """What a tool declares for one argument: the JSON types it admits, in order, and the members of its enum."""

    types: tuple[str, ...]
    members: tuple[Any, ...]


class Fit(Enum):
    """How a value relates to what its tool declares."""

    FITS = auto()
    PYTHON_LITERAL = auto()
    OTHER_CONSTANT = auto()
    """A string, and a constant that is admitted too in the notation that the format does not use."""
    MISFIT = auto()


class ToolSchemas:
    """The tools of one request, by name.

    Args:
        tools: OpenAI-style tools (`{"type": "function", "function": {…}}`), bare functions (`{"name", "parameters"}`)
            or Python functions, as `apply_chat_template` accepts them. What is none of these is ignored.

    Raises:
        UsageError: A Python function has no schema, because it lacks a docstring or type hints.
    """

    def __init__(self, tools: Iterable[Mapping[str, Any] | Callable[..., Any]]) -> None:
        self._parameters: dict[str, Mapping[str, Any]] = {}
        self._declared: dict[tuple[str, str], Declaration | None] = {}
        for tool in tools:
            function = _function_of(tool)
            name = function.get("name")
            if isinstance(name, str):
                parameters = function.get("parameters") or function.get("input_schema")
                self._parameters[name] = parameters if isinstance(parameters, Mapping) else {}

    def declares(self, tool: str) -> bool:
        """Whether the request offers the tool."""
        return tool in self._parameters

    def undeclared_argument(self, tool: str, argument: str) -> bool:
        """Whether the tool says which properties it has, and this is none of them."""
        parameters = self._parameters.get(tool, {})
        properties = parameters.get("properties")
        if not isinstance(properties, Mapping) or argument in properties:
            return False
        return parameters.get("additionalProperties") in (None, False) and "patternProperties" not in parameters

    def declared(self, tool: str, argument: str) -> Declaration | None:
        """What the tool declares for an argument; `None` when it does not declare it."""
        key = (tool, argument)
        if key not in self._declared:
            parameters = self._parameters.get(tool, {})
            properties = parameters.get("properties")
            schema = properties.get(argument) if isinstance(properties, Mapping) else None
            self._declared[key] = _declaration(schema, parameters) if isinstance(schema, Mapping) else None
        return self._declared[key]


def _function_of(tool: Any) -> Mapping[str, Any]:
    if callable(tool):
        from transformers.utils.chat_template_utils import get_json_schema

        try:
            tool = get_json_schema(tool)
        except Exception as error:  # noqa: BLE001 - transformers raises several kinds for a function that it cannot read
            name = getattr(tool, "__name__", "a tool")
            reason = str(error).partition("\n")[0]
            raise UsageError(
                f"the tool function {name} has no schema: {reason}", "pass its JSON Schema instead"
            ) from None
    function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return function if isinstance(function, Mapping) else {}


def _declaration(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Declaration:
    schema = _resolve(schema, root)
    members = schema.get("enum")
    return Declaration(
        types=tuple(dict.fromkeys(_types(schema, root, _REFERENCE_DEPTH))),
        members=tuple(members) if isinstance(members, list | tuple) else (),
    )


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow local `$ref`s (`#/$defs/X`), a bounded number of steps."""
    for _ in range(_REFERENCE_DEPTH):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        target: Any = root
        for key in reference[2:].split("/"):
            target = target.get(key) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            return {}
        schema = target
    return {}


def _types(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[str]:
    """The JSON types that a property schema admits, in the order of declaration; empty when it does not say."""
    if depth == 0:
        return []
    schema = _resolve(schema, root)
    declared = schema.get("type")
    types = [declared] if isinstance(declared, str) else []
    if isinstance(declared, list | tuple):
        types += [name for name in declared if isinstance(name, str)]
    for union in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(union)
        for choice in choices if isinstance(choices, list | tuple) else ():
            if isinstance(choice, Mapping):
                types += _types(choice, root, depth - 1)
    members = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if not types and isinstance(members, list | tuple):
        types += [_type_of(member) for member in members]
    if schema.get("nullable") is True:
        types.append("null")
    return types


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for name, kind in (("integer", int), ("number", float), ("string", str), ("array", list)):
        if isinstance(value, kind):
            return name
    return "object"


def fits(value: Any, declaration: Declaration) -> bool:
    """Whether a typed value has one of the types that its tool declares."""
    types = declaration.types
    if not types:
        return True
    found = _type_of(value)
    if found == "integer" and "number" in types:
        return True
    if found == "number" and "integer" in types and float(value).is_integer():
        return True
    return found in types


def read_untyped(
    text: str, declaration: Declaration | None, untyped: UntypedValues, *, constants: Sequence[str] = PYTHON_CONSTANTS
) -> tuple[Any, Fit]:
    """Read a value whose wire carries no types.

    Args:
        text: The value as it stands in the output.
        declaration: What the tool declares for it; `None` when nothing is declared.
        untyped: How the response schema reads a value of no declared type.
        constants: The constants that the format writes, such as `None` and not `null`: where a string is allowed too,
            any other is a string.

    Returns:
        The value, and how it fits the declaration. The types other than `string` are tried in the order in which they
        are declared, `string` last, since any text is a string; what fits none keeps its text. Where a string is
        allowed, save for the members of an enum, a scalar is only read from the one way to write it: `7` is a number
        there, and `7.0 ` is a string.
    """
    if declaration is None or not declaration.types:
        return _UNTYPED_READERS[untyped](text), Fit.FITS
    types = declaration.types
    if text in declaration.members:
        return text, Fit.FITS
    is_exact = "string" in types and not declaration.members
    for name in types:
        reader = _READERS.get(name)
        if (
            reader is not None
            and (read := reader(text)) is not None
            and (not is_exact or _writes(read[0], text, constants))
        ):
            return read[0], Fit.FITS
    if "string" in types:
        return text, Fit.OTHER_CONSTANT if _TYPES_OF_CONSTANTS.get(text) in types else Fit.FITS
    literal = _python_literal(text, types)
    if literal is None:
        return text, Fit.MISFIT
    is_printed = untyped is UntypedValues.PYTHON and str(literal) == text
    return literal, Fit.FITS if is_printed else Fit.PYTHON_LITERAL


def _writes(value: Any, text: str, constants: Sequence[str]) -> bool:
    """Whether the format writes a scalar just so; containers may be laid out in any way."""
    if isinstance(value, dict | list):
        return True
    return text in constants if isinstance(value, bool | None) else text == json.dumps(value)


def _json_or_text(text: str) -> Any:
    read = _json(text)
    return text if read is None else read[0]


def _python_or_text(text: str) -> Any:
    """The value that Python prints just so, such as `{'a': [True, None]}`; any other text is a string, printed bare."""
    read = _literal(text) if text.startswith(_STARTS_OF_LITERALS) else None
    return text if read is None or str(read[0]) != text else read[0]


_UNTYPED_READERS: Mapping[UntypedValues, Callable[[str], Any]] = {
    UntypedValues.TEXT: str,
    UntypedValues.JSON: _json_or_text,
    UntypedValues.PYTHON: _python_or_text,
}


def _json(text: str) -> tuple[Any] | None:
    """The JSON value that the whole text is, in a tuple; `None` when it is none."""
    try:
        value, end = read_json(text, 0)
    except ContentError:
        return None
    return (value,) if skip_white_space(text, end) == len(text) else None


def _integer(text: str) -> tuple[int] | None:
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return (int(text),)
    if _number(text) is None:
        return None
    exact = Decimal(text)
    return (int(exact),) if exact == exact.to_integral_value() else None


def _number(text: str) -> tuple[int | float] | None:
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return (int(text),)
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return (number,) if abs(number) != float("inf") else None


def _boolean(text: str) -> tuple[bool] | None:
    word = text.strip().lower()
    return (word == "true",) if word in ("true", "false") else None


def _null(text: str) -> tuple[None] | None:
    return (None,) if text.strip() in ("null", "None") else None


def _object(text: str) -> tuple[Any] | None:
    read = _json(text)
    return read if read is not None and isinstance(read[0], dict) else None


def _array(text: str) -> tuple[Any] | None:
    read = _json(text)
    return read if read is not None and isinstance(read[0], list) else None


_READERS: Mapping[str, Callable[[str], tuple[Any] | None]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
    "object": _object,
    "array": _array,
}


def _python_literal(text: str, types: tuple[str, ...]) -> Any:
    """A dict or list written as Python instead of JSON; `None` when the text is neither or is too large."""
    wanted = tuple(kind for name, kind in (("object", dict), ("array", list)) if name in types)
    read = _literal(text) if wanted else None
    return read[0] if read is not None and isinstance(read[0], wanted) else None


def _literal(text: str) -> tuple[Any] | None:
    """The JSON value that a Python literal is, in a tuple; `None` when the text is none or is too large."""
    if len(text) > _LITERAL_LIMIT:
        return None
    try:
        tree = _parsed(text.strip())
        value = ast.literal_eval(tree)
        is_json = read_json(json.dumps(value), 0)[0] == value
    except (ContentError, ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return (value,) if is_json and not _repeats_key(tree) else None


def _parsed(text: str) -> ast.Expression:
    """The expression, read alike whatever becomes of warnings, such as that of an escape that Python does not know."""
    with _FILTERING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval")


def _repeats_key(tree: ast.AST) -> bool:
    """Whether a dict of a literal names a key twice, of which the value holds only the last."""
    displays = (node for node in ast.walk(tree) if isinstance(node, ast.Dict))
    return any(len(set(map(ast.dump, filter(None, node.keys)))) != len(node.keys) for node in displays)
