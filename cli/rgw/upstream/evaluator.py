"""A small evaluator for the Python that TRL's `chat_template_utils.py` is written in; nothing upstream is ever run.

It walks the syntax tree and knows only the constructs of that file. Any other construct ends the reading with its
file, line and text: an unknown construct could change a spec, and a guessed spec is worse than none.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeAlias

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
        read_text: Reads a file next to it, by its path relative to it; raises `KeyError` when there is none.
        transformers_version: What `transformers.__version__` is taken to be.

    Attributes:
        compared_versions: The versions that the file has asked about.
    """

    def __init__(self, *, filename: str, read_text: Callable[[str], str], transformers_version: str) -> None:
        self.filename = filename
        self.read_text = read_text
        self.transformers_version = transformers_version
        self.compared_versions: set[Version] = set()

    def run_module(self, module: ast.Module) -> dict[str, Any]:
        """The names that the module binds.

        Raises:
            UpstreamError: The module uses a construct that the evaluator does not know.
        """
        bindings: dict[str, Any] = {"__file__": Foreign("__file__")}
        try:
            _Statements(self, bindings).execute(module.body)
        except RecursionError as error:
            raise UpstreamError(f"{self.filename}: nested too deeply to be read") from error
        return bindings

    def run_function(self, function: ast.FunctionDef, argument: ProcessingClass, bindings: Scope) -> Outcome:
        """Run a function of one argument; what it sets on the argument is found in `argument.attributes`.

        Raises:
            UpstreamError: The function uses a construct that the evaluator does not know.
        """
        parameters = function.args.args
        if len(parameters) != 1:
            raise self.unknown(function, f"{len(parameters)} parameters in")
        return _Statements(self, {**bindings, parameters[0].arg: argument}).execute(function.body)

    def unknown(self, node: ast.stmt | ast.expr, description: str | None = None) -> UpstreamError:
        """The error that ends the reading at `node`."""
        what = description or type(node).__name__
        return UpstreamError(
            f"{self.filename}:{node.lineno}: does not know how to read {what} `{_excerpt(node)}`",
            "pin an earlier TRL, or extend rgw.upstream.evaluator by this construct",
        )


class _Expressions(ast.NodeVisitor):
    """The values of expressions; one method for each construct that is known."""

    def __init__(self, evaluator: Evaluator, scope: Scope) -> None:
        self.evaluator = evaluator
        self.scope = scope

    def generic_visit(self, node: Any) -> Any:
        raise self.evaluator.unknown(node)

    def visit_Constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, str | bool | int | float):
            return node.value
        raise self.evaluator.unknown(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id not in self.scope:
            raise self.evaluator.unknown(node)
        return self.scope[node.id]

    def visit_List(self, node: ast.List) -> list[Any]:
        return [self.visit(element) for element in node.elts]

    def visit_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.visit(element) for element in node.elts)

    def visit_Dict(self, node: ast.Dict) -> dict[str, Any]:
        result = {}
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            key = self.visit(key_node) if key_node else None
            if not isinstance(key, str):
                raise self.evaluator.unknown(node, "a key that is not a string in")
            result[key] = self.visit(value_node)
        return result

    def visit_JoinedStr(self, node: ast.JoinedStr) -> str:
        return self._bounded(node, "".join(self.visit(part) for part in node.values))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> str:
        value = self.visit(node.value)
        if isinstance(value, str) and node.conversion == -1 and node.format_spec is None:
            return value
        raise self.evaluator.unknown(node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        match node.op, self.visit(node.left), self.visit(node.right):
            case ast.Add(), str() as left, str() as right:
                return self._bounded(node, left + right)
            case ast.Div(), PackagePath() as directory, str() as name:
                return directory / name
        raise self.evaluator.unknown(node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return self.visit(node.body if self.condition(node.test) else node.orelse)

    def visit_Compare(self, node: ast.Compare) -> bool:
        if len(node.ops) > 1:
            raise self.evaluator.unknown(node)
        left, right = self.visit(node.left), self.visit(node.comparators[0])
        if isinstance(left, Version) and isinstance(right, Version):
            self.evaluator.compared_versions |= {left, right} - {Version(self.evaluator.transformers_version)}
        elif isinstance(left, Foreign | Version) or isinstance(right, Foreign | Version):
            raise self.evaluator.unknown(node)
        try:
            return _COMPARISONS[type(node.ops[0])](left, right)
        except TypeError:
            raise self.evaluator.unknown(node) from None

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        match self.visit(node.value), node.attr:
            case Foreign(name="transformers"), "__version__":
                return self.evaluator.transformers_version
            case PackagePath(parts=("__file__",)), "parent":
                return PackagePath()
            case ProcessingClass(chat_template=chat_template), "chat_template":
                return chat_template
            case ProcessingClass() as processing_class, "tokenizer":
                return processing_class
        raise self.evaluator.unknown(node)

    def visit_Call(self, node: ast.Call) -> Any:
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name() as instance, ast.Name()], keywords=[]):
                if isinstance(self.visit(instance), ProcessingClass):
                    return False
            case ast.Call(
                func=ast.Attribute(value=path, attr="read_text"),
                args=[],
                keywords=[ast.keyword(arg="encoding", value=ast.Constant(value="utf-8"))],
            ):
                return self._read_text(node, self.visit(path))
            case ast.Call(func=ast.Name() as function):
                return self._construct(node, self.visit(function))
        raise self.evaluator.unknown(node)

    def condition(self, node: ast.expr) -> bool:
        value = self.visit(node)
        if not isinstance(value, bool):
            raise self.evaluator.unknown(node, "a condition that is neither true nor false,")
        return value

    def _construct(self, node: ast.Call, function: Any) -> Any:
        match function, [self.visit(argument) for argument in node.args], node.keywords:
            case Foreign(name="packaging.version.Version"), [str() as version], []:
                return self._version(node, version)
            case Foreign(name="pathlib.Path"), [Foreign(name="__file__")], []:
                return PackagePath(("__file__",))
            case Foreign(name="typing.TypeVar"), [str() as name, *_], []:
                return Foreign(name)
        raise self.evaluator.unknown(node)

    def _version(self, node: ast.Call, text: str) -> Version:
        try:
            return Version(text)
        except InvalidVersion:
            raise self.evaluator.unknown(node) from None

    def _read_text(self, node: ast.Call, path: Any) -> str:
        if not isinstance(path, PackagePath):
            raise self.evaluator.unknown(node)
        relative = "/".join(path.parts)
        try:
            return self.evaluator.read_text(relative)
        except KeyError:
            message = f"{self.evaluator.filename}:{node.lineno}: reads {relative!r}, which is not there"
            raise UpstreamError(message) from None

    def _bounded(self, node: ast.expr, text: str) -> str:
        if len(text) > MAX_STRING_CHARACTERS:
            raise self.evaluator.unknown(node, f"a string of more than {MAX_STRING_CHARACTERS} characters,")
        return text


class _Statements(_Expressions):
    """The effect of statements; one method for each construct that is known."""

    def execute(self, statements: Iterable[ast.stmt]) -> Outcome:
        for statement in statements:
            outcome: Outcome = self.visit(statement)
            if outcome is not Outcome.COMPLETED:
                return outcome
        return Outcome.COMPLETED

    def visit_Expr(self, node: ast.Expr) -> Outcome:
        if not isinstance(node.value, ast.Constant):
            raise self.evaluator.unknown(node)
        return Outcome.COMPLETED

    def visit_Import(self, node: ast.Import) -> Outcome:
        for name in node.names:
            package = name.name.partition(".")[0]
            self.scope[name.asname or package] = Foreign(name.name if name.asname else package)
        return Outcome.COMPLETED

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Outcome:
        for name in node.names:
            if name.name == "*":
                raise self.evaluator.unknown(node)
            self.scope[name.asname or name.name] = Foreign(f"{node.module}.{name.name}")
        return Outcome.COMPLETED

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Outcome:
        self.scope[node.name] = node
        return Outcome.COMPLETED

    def visit_Assign(self, node: ast.Assign) -> Outcome:
        value = self.visit(node.value)
        for target in node.targets:
            self._assign(target, value)
        return Outcome.COMPLETED

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Outcome:
        if node.value is not None:
            self._assign(node.target, self.visit(node.value))
        return Outcome.COMPLETED

    def visit_If(self, node: ast.If) -> Outcome:
        return self.execute(node.body if self.condition(node.test) else node.orelse)

    def visit_For(self, node: ast.For) -> Outcome:
        for number in self._iterations(node):
            self._assign(node.target, number)
            outcome = self.execute(node.body)
            if outcome is not Outcome.COMPLETED:
                return outcome
        return Outcome.COMPLETED

    def visit_Return(self, _: ast.Return) -> Outcome:
        return Outcome.RETURNED

    def visit_Raise(self, _: ast.Raise) -> Outcome:
        return Outcome.RAISED

    def _iterations(self, node: ast.For) -> range:
        match node:
            case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]), orelse=[]):
                number = self.visit(count)
                if isinstance(number, int) and number <= MAX_ITERATIONS:
                    return range(number)
        raise self.evaluator.unknown(node)

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self.scope[name] = value
            case ast.Tuple(elts=targets) if isinstance(value, tuple) and len(value) == len(targets):
                for part, part_value in zip(targets, value, strict=True):
                    self._assign(part, part_value)
            case ast.Attribute(value=owner) if isinstance(receiver := self.visit(owner), ProcessingClass):
                receiver.attributes[target.attr] = value
            case _:
                raise self.evaluator.unknown(target, "an assignment to")


def _excerpt(node: ast.AST) -> str:
    first_line = ast.unparse(node).strip().partition("\n")[0]
    return first_line if len(first_line) <= 80 else f"{first_line[:79]}…"
