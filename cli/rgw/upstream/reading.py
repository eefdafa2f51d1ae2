"""What TRL says at a ref: its response specs, and which chat template each is for.

Runs upstream's own mapping function through the evaluator, once per chat template and per transformers version at
which the file behaves differently. Knows nothing of the registry that the result may go into.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from packaging.version import Version

from rgw.errors import UpstreamError
from rgw.registry.model import Dialect
from rgw.templates.identity import sha256_of
from rgw.upstream.evaluator import Evaluator, Outcome, ProcessingClass, parse
from rgw.upstream.sources import UpstreamRef, UpstreamSource, fetch

MODULE_PATH = "trl/chat_template_utils.py"
TEMPLATES_PATH = "trl/chat_templates"
MAPPING_FUNCTION = "add_response_schema"
TEMPLATE_SUFFIX = "_chat_template"
TRAINING_SUFFIX = "_training"
MAX_SPEC_CHARACTERS = 1_000_000

_OLDEST, _NEWEST = Version("0"), Version("9999")


@dataclass(frozen=True, slots=True)
class Spec:
    """A response spec in one dialect.

    Attributes:
        name: The upstream variable.
        variants: The distinct bodies, from the oldest transformers capability to the newest.
    """

    name: str
    variants: tuple[Mapping[str, Any], ...]

    @property
    def body(self) -> Mapping[str, Any]:
        """What upstream says for the newest transformers."""
        return self.variants[-1]

    @property
    def digest(self) -> str:
        """sha256 over all variants as JSON; the order of keys counts, since an engine tries fields in their order."""
        return hashlib.sha256(_canonical_json(self.variants).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class UpstreamTemplate:
    """A chat template that upstream knows.

    Attributes:
        variant: The upstream variable without its suffix.
        text: The template as transformers would hold it.
        specs: The specs that upstream maps it to, by dialect; empty when there are none.
    """

    variant: str
    text: str
    specs: Mapping[Dialect, Spec] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """What identifies the template."""
        return sha256_of(self.text)

    @property
    def is_training_variant(self) -> bool:
        """Whether upstream wrote it for training, in place of the one that the model ships."""
        return self.variant.endswith(TRAINING_SUFFIX)


@dataclass(frozen=True, slots=True)
class Upstream:
    """Everything that a re-sync takes from TRL at one ref."""

    ref: UpstreamRef
    templates: tuple[UpstreamTemplate, ...]


def read_upstream(source: UpstreamSource) -> Upstream:
    """Read TRL at `source`.

    Raises:
        UpstreamError: The source cannot be had, or its file uses a construct that the evaluator does not know.
    """
    tree = fetch(source)
    module = _decode(tree.read(MODULE_PATH), MODULE_PATH)
    texts = {
        path.removeprefix("trl/"): _decode(tree.read(path), path)
        for path in tree.paths_in(TEMPLATES_PATH)
        if path.endswith(".jinja")
    }
    return Upstream(tree.ref, read_module(module, texts))


def read_module(source: str, texts: Mapping[str, str], filename: str = MODULE_PATH) -> tuple[UpstreamTemplate, ...]:
    """The chat templates of the module `source`, with their specs.

    Args:
        source: The text of upstream's module.
        texts: The template files next to it, by their path relative to it.
        filename: What messages call the module.
    """
    views = _views(parse(source, filename), texts, filename)
    newest = views[-1]
    candidates = {**_named_templates(newest.bindings), **_unnamed_files(newest.bindings, texts)}
    templates = [
        UpstreamTemplate(variant, text, _specs(text, variant, views, filename)) for variant, text in candidates.items()
    ]
    return _without_repetition(templates)


@dataclass(frozen=True, slots=True)
class _View:
    """The module as it is under one transformers version."""

    evaluator: Evaluator
    bindings: dict[str, Any]
    function: ast.FunctionDef

    def specs_of(self, text: str) -> dict[str, Any]:
        """What upstream's function sets on a tokenizer with this chat template; empty when it refuses it."""
        tokenizer = ProcessingClass(text)
        outcome = self.evaluator.run_function(self.function, tokenizer, self.bindings)
        return {} if outcome is Outcome.RAISED else tokenizer.attributes

    def name_of(self, value: object) -> str | None:
        return next((name for name, bound in self.bindings.items() if bound is value), None)


def _views(module: ast.Module, texts: Mapping[str, str], filename: str) -> list[_View]:
    """The module under every transformers version at which it may behave differently, oldest first."""
    views: dict[Version, _View] = {}
    pending = {_OLDEST, _NEWEST}
    while pending:
        version = pending.pop()
        views[version] = view = _view(module, texts, filename, version)
        pending |= view.evaluator.compared_versions - views.keys()
    return [views[version] for version in sorted(views)]


def _view(module: ast.Module, texts: Mapping[str, str], filename: str, version: Version) -> _View:
    evaluator = Evaluator(filename=filename, read_text=texts.__getitem__, transformers_version=str(version))
    bindings = evaluator.run_module(module)
    function = bindings.get(MAPPING_FUNCTION)
    if not isinstance(function, ast.FunctionDef):
        raise UpstreamError(f"{filename}: has no function {MAPPING_FUNCTION}", "choose a ref of TRL 0.29 or later")
    _require_named_templates(function, filename)
    return _View(evaluator, bindings, function)


def _require_named_templates(function: ast.FunctionDef, filename: str) -> None:
    """A template written out in the mapping itself would be missed, as templates are found by their names."""
    for comparison in (node for node in ast.walk(function) if isinstance(node, ast.Compare)):
        if any(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in ast.walk(comparison)):
            raise UpstreamError(f"{filename}:{comparison.lineno}: compares with a template that has no name")


def _named_templates(bindings: Mapping[str, Any]) -> dict[str, str]:
    return {
        name.removesuffix(TEMPLATE_SUFFIX): value
        for name, value in bindings.items()
        if name.endswith(TEMPLATE_SUFFIX) and isinstance(value, str)
    }


def _unnamed_files(bindings: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, str]:
    named = set(_named_templates(bindings).values())
    return {path.rpartition("/")[2].removesuffix(".jinja"): text for path, text in texts.items() if text not in named}


def _specs(text: str, variant: str, views: Iterable[_View], filename: str) -> dict[Dialect, Spec]:
    """The specs of one template, by dialect, with what they are under each transformers version."""
    found: dict[Dialect, Spec] = {}
    for view in views:
        for attribute, body in view.specs_of(text).items():
            if body is not None:
                dialect, spec = _spec(attribute, body, variant, view, filename)
                found[dialect] = _joined(found.get(dialect), spec)
    return found


def _spec(attribute: str, body: Any, variant: str, view: _View, filename: str) -> tuple[Dialect, Spec]:
    if attribute not in set(Dialect):
        raise UpstreamError(f"{filename}: {MAPPING_FUNCTION} sets an unknown attribute {attribute!r}")
    name = view.name_of(body)
    if name is None or not isinstance(body, dict):
        raise UpstreamError(f"{filename}: the {attribute} of {variant} is not a dict with a name in the module")
    return Dialect(attribute), Spec(name, (body,))


def _joined(older: Spec | None, newer: Spec) -> Spec:
    if older is None:
        return newer
    if _canonical_json(older.body) == _canonical_json(newer.body):
        return Spec(newer.name, older.variants)
    return Spec(newer.name, older.variants + newer.variants)


def _without_repetition(templates: Iterable[UpstreamTemplate]) -> tuple[UpstreamTemplate, ...]:
    """Upstream may give one text two names; the first that has a spec stands for both."""
    unique: dict[str, UpstreamTemplate] = {}
    for template in sorted(templates, key=lambda template: not template.specs):
        unique.setdefault(template.text, template)
    return tuple(unique.values())


def _canonical_json(value: object) -> str:
    chunks, length = [], 0
    for chunk in json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).iterencode(value):
        chunks.append(chunk)
        length += len(chunk)
        if length > MAX_SPEC_CHARACTERS:
            raise UpstreamError(f"a spec is longer than {MAX_SPEC_CHARACTERS} characters as JSON")
    return "".join(chunks)


def _decode(content: bytes | None, path: str) -> str:
    """The text as Python's `read_text` gives it: UTF-8, with every line end as a line feed."""
    if content is None:
        raise UpstreamError(f"{path} is not in this TRL", "choose a ref of TRL 0.29 or later")
    try:
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise UpstreamError(f"{path}: not UTF-8 at byte {error.start}") from error
