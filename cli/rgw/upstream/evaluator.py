"""A small evaluator for the Python that TRL's `chat_template_utils.py` is written in; nothing upstream is ever run.

It walks the syntax tree and knows only the constructs of that file. Any other construct ends the reading with its
file, line and text: an unknown construct could change a spec, and a guessed spec is worse than none.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, NoReturn, TypeAlias

from packaging.version import InvalidVersion, Version

from rgw.errors import UpstreamError

MAX_SOURCE_CHARACTERS = 5_000_000
MAX_STRING_CHARACTERS = 1_000_000
MAX_ITERATIONS = 100

Scope: TypeAlias = MutableMapping[str, Any]

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something from outside the file, known by its qualified name only."""

    name: str


@dataclass(frozen=True, slots=True)
class PackagePath:
    """A path relative to the directory of the file that is read."""

    parts: tuple[str, ...] = ()

    def __truediv__(self, part: str) -> PackagePath:
        return PackagePath((*self.parts, part))


@dataclass(slots=True)
class ProcessingClass:
    """Stands for the tokenizer that upstream's function gets: holds a chat template, records what is set on it."""

    chat_template: str
    attributes: dict[str, Any] = field(default_factory=dict)


class Outcome(Enum):
    """How a sequence of statements ended."""

    COMPLETED = auto()
    RETURNED = auto()
    RAISED = auto()


def parse(source: str, filename: str) -> ast.Module:
    """The syntax tree of `source`.

    Raises:
        UpstreamError: It is not Python that this version can read.
    """
    if len(source) > MAX_SOURCE_CHARACTERS:
        raise UpstreamError(f"{filename}: longer than {MAX_SOURCE_CHARACTERS} characters")
    try:
        return ast.parse(source, filename)
    except SyntaxError as error:
        raise UpstreamError(f"{filename}:{error.lineno}: not valid Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UpstreamError(f"{filename}: not readable as Python: {type(error).__name__}") from error


class Evaluator:
    """Evaluates one file as if a given transformers version were installed.

    Args:
        filename: What messages call the file.
        read_text: Reads a file next to it, by its path relative to it.
        transformers_version: What `transformers.__version__` is taken to be.
    """

    def __init__(self, *, filename: str, read_text: Callable[[str], str], transformers_version: str) -> None:
        self._filename = filename
        self._read_text = read_text
        self._transformers_version = transformers_version
        self.compared_versions: set[Version] = set()

    def run_module(self, module: ast.Module) -> dict[str, Any]:
        """The names that the module binds."""
        bindings: dict[str, Any] = {"__file__": Foreign("__file__")}
        try:
            self._execute(module.body, bindings)
        except RecursionError as error:
            raise UpstreamError(f"{self._filename}: nested too deeply to be read") from error
        return bindings

    def run_function(self, function: ast.FunctionDef, argument: ProcessingClass, bindings: Scope) -> Outcome:
        """Run a function of one argument; what it sets on the argument is found in `argument.attributes`."""
        parameters = function.args.args
        if len(parameters) != 1:
            self._unknown(function, f"{len(parameters)} parameters of {function.name}")
        return self._execute(function.body, {**bindings, parameters[0].arg: argument})

    def _execute(self, statements: Iterable[ast.stmt], scope: Scope) -> Outcome:
        for statement in statements:
            outcome = self._execute_one(statement, scope)
            if outcome is not Outcome.COMPLETED:
                return outcome
        return Outcome.COMPLETED

    def _execute_one(self, statement: ast.stmt, scope: Scope) -> Outcome:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Import(names=names):
                scope.update({_bound_name(name): Foreign(_imported_name(name)) for name in names})
            case ast.ImportFrom(module=module, names=names) if all(name.name != "*" for name in names):
                scope.update({name.asname or name.name: Foreign(f"{module}.{name.name}") for name in names})
            case ast.FunctionDef(name=name):
                scope[name] = statement
            case ast.Assign(targets=[target], value=value):
                self._assign(target, self._value(value, scope), scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._value(value, scope), scope)
            case ast.If(test=test, body=body, orelse=orelse):
                return self._execute(body if self._truth(test, scope) else orelse, scope)
            case ast.For(target=ast.Name(id=name), iter=iterable, body=body, orelse=[]):
                return self._repeat(name, self._iterations(iterable, scope), body, scope)
            case ast.Return():
                return Outcome.RETURNED
            case ast.Raise():
                return Outcome.RAISED
            case _:
                self._unknown(statement)
        return Outcome.COMPLETED

    def _repeat(self, name: str, values: range, body: Sequence[ast.stmt], scope: Scope) -> Outcome:
        for value in values:
            scope[name] = value
            outcome = self._execute(body, scope)
            if outcome is not Outcome.COMPLETED:
                return outcome
        return Outcome.COMPLETED

    def _iterations(self, node: ast.expr, scope: Scope) -> range:
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]):
                number = self._value(count, scope)
                if isinstance(number, int) and number <= MAX_ITERATIONS:
                    return range(number)
        self._unknown(node, "a loop over")

    def _assign(self, target: ast.expr, value: Any, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope[name] = value
            case ast.Tuple(elts=targets) if isinstance(value, tuple) and len(value) == len(targets):
                for element, part in zip(targets, value, strict=True):
                    self._assign(element, part, scope)
            case ast.Attribute(value=owner, attr=attribute):
                receiver = self._value(owner, scope)
                if not isinstance(receiver, ProcessingClass):
                    self._unknown(target, "an assignment to")
                receiver.attributes[attribute] = value
            case _:
                self._unknown(target, "an assignment to")

    def _truth(self, node: ast.expr, scope: Scope) -> bool:
        value = self._value(node, scope)
        if not isinstance(value, bool):
            self._unknown(node, "a condition on")
        return value

    def _value(self, node: ast.expr, scope: Scope) -> Any:
        match node:
            case ast.Constant(value=str() | bool() | int() | float() | None as value):
                return value
            case ast.Name(id=name) if name in scope:
                return scope[name]
            case ast.List(elts=elements):
                return [self._value(element, scope) for element in elements]
            case ast.Tuple(elts=elements):
                return tuple(self._value(element, scope) for element in elements)
            case ast.Dict():
                return self._dictionary(node, scope)
            case ast.JoinedStr(values=parts):
                return self._bounded(node, "".join(self._text_part(part, scope) for part in parts))
            case ast.BinOp():
                return self._operation(node, scope)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._truth(test, scope) else orelse, scope)
            case ast.Compare(left=left, ops=[comparison], comparators=[right]):
                return self._comparison(node, self._value(left, scope), comparison, self._value(right, scope))
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Call():
                return self._call(node, scope)
        self._unknown(node)

    def _dictionary(self, node: ast.Dict, scope: Scope) -> dict[str, Any]:
        result = {}
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            key = self._value(key_node, scope) if key_node is not None else None
            if not isinstance(key, str):
                self._unknown(node, "a key that is not a string in")
            result[key] = self._value(value_node, scope)
        return result

    def _text_part(self, node: ast.expr, scope: Scope) -> str:
        match node:
            case ast.Constant(value=str() as text):
                return text
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                text = self._value(inner, scope)
                if isinstance(text, str):
                    return text
        self._unknown(node, "a formatted value")

    def _operation(self, node: ast.BinOp, scope: Scope) -> Any:
        left, right = self._value(node.left, scope), self._value(node.right, scope)
        match node.op, left, right:
            case ast.Add(), str(), str():
                return self._bounded(node, left + right)
            case ast.Div(), PackagePath(), str():
                return left / right
        self._unknown(node)

    def _comparison(self, node: ast.Compare, left: Any, comparison: ast.cmpop, right: Any) -> bool:
        if isinstance(left, Version) and isinstance(right, Version):
            self.compared_versions |= {left, right} - {Version(self._transformers_version)}
        elif isinstance(left, Foreign | PackagePath) or isinstance(right, Foreign | PackagePath):
            self._unknown(node)
        try:
            return _COMPARISONS[type(comparison)](left, right)
        except TypeError:
            self._unknown(node)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        match self._value(node.value, scope), node.attr:
            case Foreign(name="transformers"), "__version__":
                return self._transformers_version
            case PackagePath(parts=("__file__",)), "parent":
                return PackagePath()
            case ProcessingClass(chat_template=chat_template), "chat_template":
                return chat_template
            case ProcessingClass() as processing_class, "tokenizer":
                return processing_class
        self._unknown(node)

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="read_text"), args=[]) if _reads_utf8(node):
                return self._read(node, self._value(owner, scope))
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name() as instance, ast.Name()], keywords=[]):
                if isinstance(self._value(instance, scope), ProcessingClass):
                    return False
            case ast.Call(func=ast.Name() as function, args=arguments):
                return self._constructed(node, self._value(function, scope), arguments, scope)
        self._unknown(node)

    def _constructed(self, node: ast.Call, function: Any, arguments: Sequence[ast.expr], scope: Scope) -> Any:
        values = [self._value(argument, scope) for argument in arguments]
        match function, values:
            case Foreign(name="packaging.version.Version"), [str() as text] if not node.keywords:
                try:
                    return Version(text)
                except InvalidVersion:
                    self._unknown(node)
            case Foreign(name="pathlib.Path"), [Foreign(name="__file__")] if not node.keywords:
                return PackagePath(("__file__",))
            case Foreign(name="typing.TypeVar"), [str() as name, *_]:
                return Foreign(name)
        self._unknown(node)

    def _read(self, node: ast.Call, path: Any) -> str:
        if not isinstance(path, PackagePath):
            self._unknown(node)
        relative = "/".join(path.parts)
        try:
            return self._read_text(relative)
        except KeyError:
            raise UpstreamError(f"{self._filename}:{node.lineno}: reads {relative!r}, which is not there") from None

    def _bounded(self, node: ast.expr, text: str) -> str:
        if len(text) > MAX_STRING_CHARACTERS:
            self._unknown(node, f"a string of more than {MAX_STRING_CHARACTERS} characters,")
        return text

    def _unknown(self, node: ast.stmt | ast.expr, description: str | None = None) -> NoReturn:
        what = description or type(node).__name__
        raise UpstreamError(
            f"{self._filename}:{node.lineno}: does not know how to read {what} `{_excerpt(node)}`",
            "pin an earlier TRL, or extend rgw.upstream.evaluator by this construct",
        )


def _excerpt(node: ast.AST) -> str:
    first_line = ast.unparse(node).strip().splitlines()[0]
    return first_line if len(first_line) <= 80 else first_line[:77] + "…"


def _reads_utf8(node: ast.Call) -> bool:
    match node.keywords:
        case [ast.keyword(arg="encoding", value=ast.Constant(value="utf-8"))]:
            return True
    return False


def _bound_name(name: ast.alias) -> str:
    return name.asname or name.name.partition(".")[0]


def _imported_name(name: ast.alias) -> str:
    return name.name if name.asname else name.name.partition(".")[0]
