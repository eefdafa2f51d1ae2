"""Reads YAML so that every value still knows the file and line where it stands, for messages that point at it.

Stricter than YAML where YAML surprises: a key stands once, keys are text, nothing is an alias, and only `null`,
`true`, `false` and JSON numbers are anything else than text. Knows nothing of schemas or templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml

from rgw.errors import RegistryError

Member = TypeVar("Member", bound=StrEnum)

INTEGER = r"-?(?:0|[1-9][0-9]*)"
FLOAT = INTEGER + r"(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|-?\.inf|\.nan"

TAG = "tag:yaml.org,2002:"
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """Resolves untagged scalars as the module says."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


_Loader.add_implicit_resolver(TAG + "null", re.compile(r"(?:~|null|)\Z"), ["~", "n", ""])
_Loader.add_implicit_resolver(TAG + "bool", re.compile(r"(?:true|false)\Z"), ["t", "f"])
_Loader.add_implicit_resolver(TAG + "int", re.compile(rf"(?:{INTEGER})\Z"), list("-0123456789"))
_Loader.add_implicit_resolver(TAG + "float", re.compile(rf"(?:{FLOAT})\Z"), list("-.0123456789"))


def read_yaml(path: Path, file: str) -> Located:
    """The content of a YAML file, which messages call `file`.

    Raises:
        RegistryError: The file cannot be read or is not one document of YAML.
    """
    return parse_yaml(read_text(path, file), file)


def read_text(path: Path, file: str) -> str:
    """The text of a file, which messages call `file`.

    Raises:
        RegistryError: The file cannot be read.
    """
    try:
        content = path.read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise RegistryError(f"{file}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RegistryError(f"{file}:{line}: not UTF-8") from error


def parse_yaml(text: str, file: str) -> Located:
    """The content of YAML, which messages call `file`.

    Raises:
        RegistryError: It is not one document of YAML.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise RegistryError(f"{file}:{_line_of(error)}: not valid YAML: {error.problem}") from error
    except yaml.reader.ReaderError as error:
        raise RegistryError(
            f"{file}:{_line_of_control_character(text)}: a control character stands unescaped"
        ) from error
    except RecursionError as error:
        raise RegistryError(f"{file}: nested too deeply") from error
    if node is None:
        raise RegistryError(f"{file}:1: the file is empty")
    if "&" in text:  # without an anchor there is no alias
        _refuse_aliases(file, node)
    return Located(file, node, "the file")


class Located:
    """A value of a YAML file together with where it stands. Reading it as what it is not raises `RegistryError`.

    Args:
        file: What messages call the file.
        node: The value.
        name: What messages call the value.
    """

    __slots__ = ("_node", "file", "name")

    def __init__(self, file: str, node: yaml.Node, name: str) -> None:
        self.file = file
        self.name = name
        self._node = node

    def error(self, message: str, fix: str = "") -> RegistryError:
        """An error that points here."""
        return _error(self.file, self._node, message, fix)

    @property
    def line(self) -> int:
        """The line where the value stands, counted from 1."""
        return int(self._node.start_mark.line) + 1

    def text(self) -> str:
        """The value, which is text."""
        if self._node.tag != TAG + "str" or not isinstance(self._node, yaml.ScalarNode):
            raise self.error(f"{self.name} must be text, not {self._kind()}", self._quoting())
        value: str = self._node.value
        return value

    def nonempty_text(self) -> str:
        """The value, which is text and not blank."""
        value = self.text()
        if not value.strip():
            raise self.error(f"{self.name} must not be blank")
        return value

    def flag(self) -> bool:
        """The value, which is `true` or `false`."""
        value = self.plain() if isinstance(self._node, yaml.ScalarNode) else None
        if not isinstance(value, bool):
            raise self.error(f"{self.name} must be true or false, not {self._kind()}")
        return value

    def member(self, choices: type[Member]) -> Member:
        """The value, which names a member of an enumeration."""
        value = self.text()
        try:
            return choices(value)
        except ValueError:
            raise self.error(f"{self.name} must be one of {', '.join(choices)}, not {value!r}") from None

    def matching(self, pattern: str, description: str) -> str:
        """The value, which is text that `pattern` matches whole; `description` says what that is."""
        value = self.text()
        if not re.fullmatch(pattern, value):
            raise self.error(f"{self.name} must be {description}, not {value!r}")
        return value

    def items(self) -> list[Located]:
        """The values of a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error(f"{self.name} must be a list, not {self._kind()}")
        return [Located(self.file, item, f"an item of {self.name}") for item in self._node.value]

    def texts(self) -> tuple[str, ...]:
        """The values of a list of texts, none of them blank."""
        return tuple(item.nonempty_text() for item in self.items())

    def entries(self) -> dict[str, Located]:
        """The values of a mapping, by key."""
        return {key: Located(self.file, value, repr(key)) for key, _, value in self._pairs()}

    def record(self, *, required: Sequence[str] = (), optional: Sequence[str] = ()) -> dict[str, Located]:
        """The values of a mapping with these keys and no others; an optional key that is `null` is left out."""
        entries = {}
        for key, key_node, value_node in self._pairs():
            if key not in required and key not in optional:
                raise _error(self.file, key_node, f"unknown key {key!r}", _suggestion(key, [*required, *optional]))
            value = Located(self.file, value_node, repr(key))
            if key in required or not value.is_null():
                entries[key] = value
        for key in required:
            if key not in entries:
                raise self.error(f"{key!r} is missing")
        return entries

    def is_null(self) -> bool:
        """Whether the value is `null`."""
        return bool(self._node.tag == TAG + "null")

    def is_mapping(self) -> bool:
        """Whether the value is a mapping."""
        return isinstance(self._node, yaml.MappingNode)

    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self._node, yaml.SequenceNode)

    def is_text(self) -> bool:
        """Whether the value is text."""
        return bool(self._node.tag == TAG + "str")

    def plain(self) -> Any:
        """The value as JSON-like data, which no longer knows where it stands."""
        try:
            return _plain(self.file, self._node)
        except RecursionError:
            raise self.error(f"{self.name} is nested too deeply") from None

    def _pairs(self) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        if not isinstance(self._node, yaml.MappingNode):
            raise self.error(f"{self.name} must be a mapping, not {self._kind()}")
        return _pairs(self.file, self._node)

    def _quoting(self) -> str:
        return "quote it" if isinstance(self._node, yaml.ScalarNode) and self._node.value else ""

    def _kind(self) -> str:
        match self._node:
            case yaml.MappingNode():
                return "a mapping"
            case yaml.SequenceNode():
                return "a list"
            case _:
                written = repr(self._node.value)
                return written if self.is_text() else written[1:-1] or "nothing"


def _plain(file: str, node: yaml.Node) -> Any:
    match node:
        case yaml.ScalarNode():
            return _scalar(file, node)
        case yaml.SequenceNode():
            return [_plain(file, item) for item in node.value]
        case _:
            return {key: _plain(file, value) for key, _, value in _pairs(file, node)}


def _scalar(file: str, node: yaml.ScalarNode) -> Any:
    tag, value = node.tag.removeprefix(TAG), node.value
    try:
        match tag:
            case "str":
                return value
            case "int":
                return int(value)
            case "float":
                return float(value.replace(".inf", "inf").replace(".nan", "nan"))
            case "null" | "bool":
                return _CONSTANTS[value]
    except (ValueError, KeyError) as error:
        raise _error(file, node, f"{value[:40]!r} cannot be read as {tag}") from error
    raise _error(file, node, f"the tag {node.tag!r} has no meaning here", "remove it")


def _pairs(file: str, node: yaml.Node) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """The key, its node and the value's node of each entry of a mapping."""
    seen = set()
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _error(file, key_node, "a key must be text")
        key = key_node.value
        if key_node.tag != TAG + "str":
            raise _error(file, key_node, f"the key {key!r} must be text", "quote it")
        if key in seen:
            raise _error(file, key_node, f"the key {key!r} stands twice", "remove one of the two")
        seen.add(key)
        yield key, key_node, value_node


def _refuse_aliases(file: str, root: yaml.Node) -> None:
    """Raise for a value that stands in several places: what is read must be a tree, and of the size that it looks."""
    seen = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            raise _error(file, node, "an alias refers to this value", "write the value out wherever it is used")
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            waiting.extend(part for pair in node.value for part in pair)


def _error(file: str, node: yaml.Node, message: str, fix: str = "") -> RegistryError:
    return RegistryError(f"{file}:{node.start_mark.line + 1}: {message}", fix)


def _suggestion(key: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(known)}"


def _line_of(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return mark.line + 1 if mark else 1


def _line_of_control_character(text: str) -> int:
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 1
