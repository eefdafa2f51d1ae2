"""Rules that read the template's source: what it looks for, what it reaches for, what it hides.

The template is parsed, never run.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rgw.fitness.model import Finding
from rgw.fitness.rules import CODE_LIKE_CONSTRUCT, CONDITIONS_ON_CONTENT, INVISIBLE_CHARACTER

_SEARCHES = frozenset({"startswith", "endswith", "find", "rfind", "index", "rindex", "count"})
_TEXT_METHODS = frozenset(
    {"strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "lower", "upper", "title", "casefold", "replace"}
    | {"partition", "rpartition", "removeprefix", "removesuffix"}
)
_REACHING_NAMES = frozenset({"lipsum", "self", "request", "config", "get_flashed_messages"})
_REACHING_ATTRIBUTES = frozenset({"mro", "func_globals", "gi_frame", "gi_code", "f_globals", "popen", "import_module"})
_REACHING_FILTERS = frozenset({"attr"})
_TAG = re.compile(r"</?\w+>|(?:input_)?(?:text|image|video|audio)(?:_url)?|type|parts|blocks|content")
"""Texts that formats are made of: tags, and the keys and types of content in blocks."""

_SUSPECTS = (
    nodes.Getattr,
    nodes.Filter,
    nodes.Name,
    nodes.Const,
    nodes.Import,
    nodes.FromImport,
    nodes.Include,
    nodes.Extends,
)
_HIDDEN_NAME = re.compile(
    r"__(?:class|mro|subclasses|globals|builtins|init|import|bases?|dict|code|reduce\w*|getattribute|getitem|call)__"
)


class _Generation(Extension):
    """Reads transformers' `{% generation %}` as what it encloses."""

    tags = {"generation"}  # noqa: RUF012 - as the base class has it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def source_findings(template: str) -> Iterator[Finding]:
    """What the source of a template shows; nothing but its characters where it does not parse."""
    yield from _invisible(template)
    try:
        tree = _parse(template)
    except (TemplateSyntaxError, RecursionError):
        return
    yield from _escaped_invisible(tree, template)
    yield from _code_like(tree)
    yield from _conditions(tree)


def assigned_names(template: str) -> set[str]:
    """The variables that a template sets itself; none where it does not parse."""
    try:
        tree = _parse(template)
    except (TemplateSyntaxError, RecursionError):
        return set()
    return {name.name for name in tree.find_all(nodes.Name) if name.ctx in {"store", "param"}}


def _parse(template: str) -> nodes.Template:
    return ImmutableSandboxedEnvironment(extensions=[loopcontrols, _Generation]).parse(template)


def _invisible(template: str) -> Iterator[Finding]:
    seen = set()
    for position, character in enumerate(template):
        if _is_invisible(character) and character not in seen:
            seen.add(character)
            message = f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')} in the source"
            yield Finding(INVISIBLE_CHARACTER, message, template.count("\n", 0, position) + 1)


def _escaped_invisible(tree: nodes.Template, template: str) -> Iterator[Finding]:
    """Invisible characters that string escapes of the source make."""
    for constant in tree.find_all(nodes.Const):
        for character in constant.value if isinstance(constant.value, str) else "":
            if _is_invisible(character) and character not in template:
                message = f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')} in a string"
                yield Finding(INVISIBLE_CHARACTER, message, constant.lineno)


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) == "Cf" or character in "\u2028\u2029\u115f\u3164"


def _code_like(tree: nodes.Template) -> Iterator[Finding]:
    for node in tree.find_all(_SUSPECTS):
        if what := _reached(node):
            yield Finding(CODE_LIKE_CONSTRUCT, what, node.lineno)


def _reached(node: nodes.Node) -> str:
    """What a node reaches for, in words; empty when it is harmless."""
    match node:
        case nodes.Getattr() if node.attr.startswith("_") or node.attr in _REACHING_ATTRIBUTES:
            return f"the attribute {node.attr!r}"
        case nodes.Filter() if node.name in _REACHING_FILTERS:
            return f"the filter {node.name!r}"
        case nodes.Name() if node.name in _REACHING_NAMES or _HIDDEN_NAME.fullmatch(node.name):
            return f"the name {node.name!r}"
        case nodes.Const() if isinstance(node.value, str) and (hidden := _HIDDEN_NAME.search(node.value)):
            return f"the text {hidden[0]!r}"
        case nodes.Import() | nodes.FromImport() | nodes.Include() | nodes.Extends():
            return f"{type(node).__name__.lower()} of another template"
        case _:
            return ""


def _conditions(tree: nodes.Template) -> Iterator[Finding]:
    """Comparisons of content with texts that the template does not write itself."""
    contents = _content_names(tree)
    written = _written(tree)
    for text, line in _comparisons(tree, contents):
        if re.search(r"\w", text) and not _TAG.fullmatch(text.strip()) and text.strip() not in written:
            yield Finding(CONDITIONS_ON_CONTENT, f"content is compared with {text!r}", line)


def _comparisons(tree: nodes.Template, contents: set[str]) -> Iterator[tuple[str, int]]:
    for comparison in tree.find_all(nodes.Compare):
        operands = [comparison.expr, *(operand.expr for operand in comparison.ops)]
        if any(_is_content(operand, contents) for operand in operands):
            yield from ((text, comparison.lineno) for operand in operands for text in _texts(operand))
    for call in tree.find_all(nodes.Call):
        function = call.node
        if isinstance(function, nodes.Getattr) and function.attr in _SEARCHES and _is_content(function.node, contents):
            yield from ((text, call.lineno) for argument in call.args for text in _texts(argument))


def _texts(node: nodes.Node) -> Iterator[str]:
    constants = [node] if isinstance(node, nodes.Const) else node.find_all(nodes.Const)
    if isinstance(node, nodes.Const | nodes.List | nodes.Tuple):
        yield from (constant.value for constant in constants if isinstance(constant.value, str))


def _is_content(node: nodes.Node, contents: set[str]) -> bool:
    """Whether a value is made of the content of a message: an operand, however filtered, sliced or split."""
    match node:
        case nodes.Name():
            return node.name in contents
        case nodes.Getattr():
            return node.attr == "content" or (node.attr in _TEXT_METHODS and _is_content(node.node, contents))
        case nodes.Getitem():
            key = node.arg.value if isinstance(node.arg, nodes.Const) else None
            return key in {"content", "text"} or (not isinstance(key, str) and _is_content(node.node, contents))
        case nodes.Call() | nodes.Filter():
            return node.node is not None and _is_content(node.node, contents)
        case nodes.Concat() | nodes.BinExpr():
            return any(_is_content(child, contents) for child in node.iter_child_nodes())
        case _:
            return False


def _content_names(tree: nodes.Template) -> set[str]:
    """The variables that hold content, through any number of assignments."""
    names = {"content"}
    while True:
        found = {
            assignment.target.name
            for assignment in tree.find_all(nodes.Assign)
            if isinstance(assignment.target, nodes.Name) and _is_content(assignment.node, names)
        }
        if found <= names:
            return names
        names |= found


def _written(tree: nodes.Template) -> str:
    """Everything that the template may write of its own, joined."""
    outputs: list[nodes.Node] = [node for output in tree.find_all(nodes.Output) for node in output.nodes]
    outputs += [assignment.node for assignment in tree.find_all(nodes.Assign)]
    return "\0".join(text for node in outputs for text in _own_texts(node))


def _own_texts(node: nodes.Node) -> Iterator[str]:
    """The texts of an expression that may become output, not those that it only compares with or passes on."""
    if isinstance(node, nodes.TemplateData):
        yield node.data
    elif isinstance(node, nodes.Const) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, nodes.Compare | nodes.Call | nodes.Test):
        for child in node.iter_child_nodes():
            yield from _own_texts(child)
