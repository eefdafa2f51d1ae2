"""A template's identity looked up in the registry: which schema reads its model's turns, or what to do without one.

Only the sha256 decides. Similarity is help for a person, attached to an answer that stays "unrecognised".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from rgw.registry.model import RegisteredTemplate, Schema
from rgw.templates.base_model import BaseComparison
from rgw.templates.model import EMBEDDED_SOURCE, PROCESSOR_SOURCES, ChatTemplate, ResolvedTemplates, UnresolvedTemplates
from rgw.templates.similarity import layout_variants, line_fingerprint, similarities

NEAREST_SHOWN = 3
NEAREST_SIMILARITY = 0.3
_NEXT_STEP = (
    "`rgw detect --prove` names the schemas that prove to read it, `rgw register` puts it in an overlay with one"
)


class TemplateRegistry(Protocol):
    """What detection asks of a registry."""

    def find_template(self, sha256: str) -> RegisteredTemplate | None:
        """The registered template with this identity."""

    def schema(self, name: str) -> Schema:
        """The schema of this name."""

    def fingerprints(self) -> Mapping[str, str]:
        """The line fingerprints of the registered templates that have one, by sha256."""


class DetectionStatus(StrEnum):
    """The four answers. Only `recognised` is exit code 0; `error` means that there was nothing to look up."""

    RECOGNISED = "recognised"
    UNRECOGNISED = "unrecognised"
    NO_TEMPLATE = "no_template"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class NearestTemplate:
    """A registered template that resembles an unrecognised one.

    `difference` names what differs when it is known exactly (line ends, the final newline); otherwise it is empty.
    """

    template: RegisteredTemplate
    similarity: float
    difference: str = ""


@dataclass(frozen=True, slots=True)
class Detection:
    """What is known about a REF.

    Attributes:
        ref: What was asked for.
        status: The answer.
        message: One line: what was found and, unless it is recognised, what to do next.
        revision: The commit of a hub repository.
        templates: Every chat template that was found.
        schema: The schema of the effective template, when recognised.
        registered: The registry's entry for the effective template; it has no schema where the registry knows why.
        nearest: The most similar registered templates, best first, when unrecognised.
        native_response_template: The tokenizer's configuration carries a response template of its own.
        base: The template beside that of the base model, where there is one to compare with.
    """

    ref: str
    status: DetectionStatus
    message: str
    revision: str | None = None
    templates: tuple[ChatTemplate, ...] = ()
    schema: Schema | None = None
    registered: RegisteredTemplate | None = None
    nearest: tuple[NearestTemplate, ...] = ()
    native_response_template: bool = False
    base: BaseComparison | None = None

    @property
    def effective(self) -> ChatTemplate | None:
        """The template that the answer is about."""
        return next((template for template in self.templates if template.effective), None)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract.

        A template has `bytes_sha256` only where its file hashes differently from the string in memory, and there is a
        `base_model` only where there is one to compare with.
        """
        form = {
            "ref": self.ref,
            "status": self.status.value,
            "templates": [_template_to_dict(template, self.revision) for template in self.templates],
            "schema": _schema_to_dict(self.schema) if self.schema else None,
            "nearest": [
                {
                    "sha256": nearest.template.sha256,
                    "schema": nearest.template.schema,
                    "variant": nearest.template.variant,
                    "similarity": round(nearest.similarity, 3),
                }
                for nearest in self.nearest
            ],
            "native_response_template": self.native_response_template,
            "message": self.message,
        }
        return form if self.base is None else {**form, "base_model": self.base.to_dict()}


def detect(
    resolved: ResolvedTemplates | UnresolvedTemplates,
    registry: TemplateRegistry,
    *,
    base: BaseComparison | None = None,
) -> Detection:
    """Look up what a REF resolved to. Never raises for what the REF holds.

    Args:
        resolved: What the REF resolved to.
        registry: What is registered.
        base: How the template compares with that of the base model; it becomes a part of the answer.
    """
    return replace(_look_up(resolved, registry), base=base)


def _look_up(resolved: ResolvedTemplates | UnresolvedTemplates, registry: TemplateRegistry) -> Detection:
    if isinstance(resolved, UnresolvedTemplates):
        message = f"{resolved.message} — {resolved.fix}" if resolved.fix else resolved.message
        return Detection(resolved.ref, DetectionStatus.ERROR, message)
    if not resolved.templates:
        return _detection(resolved, DetectionStatus.NO_TEMPLATE, _no_template_message(resolved))
    effective = resolved.effective
    if effective is None:
        names = ", ".join(repr(template.name) for template in resolved.templates)
        return _detection(
            resolved,
            DetectionStatus.UNRECOGNISED,
            f"none of the named templates ({names}) is 'default', so transformers renders none unless it is named"
            " — pass the file of the one in use",
        )
    registered = registry.find_template(effective.sha256)
    if registered is None:
        nearest = _nearest(effective.text, registry)
        message = _unrecognised_message(resolved, effective, nearest, registry)
        return _detection(resolved, DetectionStatus.UNRECOGNISED, message, nearest=nearest)
    if registered.schema is None:
        reason = registered.reason or "no schema is known to read it"
        message = f"{_short(effective)} is a known template ({registered.variant}) without a schema: {reason}"
        return _detection(resolved, DetectionStatus.UNRECOGNISED, message, registered=registered)
    schema = registry.schema(registered.schema)
    message = f"read with schema {schema.name}{_others_note(resolved, effective)}"
    return _detection(resolved, DetectionStatus.RECOGNISED, message, schema=schema, registered=registered)


def _detection(resolved: ResolvedTemplates, status: DetectionStatus, message: str, **found: Any) -> Detection:
    return Detection(
        resolved.ref,
        status,
        message,
        revision=resolved.revision,
        templates=resolved.templates,
        native_response_template=resolved.native_response_template is not None,
        **found,
    )


def _nearest(text: str, registry: TemplateRegistry) -> tuple[NearestTemplate, ...]:
    """The registered templates that differ in layout only, or else the most similar ones."""
    same = [
        NearestTemplate(registered, 1.0, difference)
        for sha256, difference in layout_variants(text).items()
        if (registered := registry.find_template(sha256))
    ]
    return tuple(same[:NEAREST_SHOWN]) or _most_similar(text, registry)


def _most_similar(text: str, registry: TemplateRegistry) -> tuple[NearestTemplate, ...]:
    scores = similarities(line_fingerprint(text), registry.fingerprints())
    alike = [sha256 for sha256, score in scores.items() if score >= NEAREST_SIMILARITY]
    best = sorted(alike, key=lambda sha256: (-scores[sha256], sha256))[:NEAREST_SHOWN]
    found = ((registry.find_template(sha256), scores[sha256]) for sha256 in best)
    return tuple(NearestTemplate(registered, score) for registered, score in found if registered)


def _unrecognised_message(
    resolved: ResolvedTemplates,
    effective: ChatTemplate,
    nearest: tuple[NearestTemplate, ...],
    registry: TemplateRegistry,
) -> str:
    if not effective.text.strip():
        return f"the chat template in {effective.source} is empty — name the one that the model is served with"
    return f"{_short(effective)} is not registered{_resemblance(nearest)}{_others(resolved, registry)} — {_NEXT_STEP}"


def _resemblance(nearest: tuple[NearestTemplate, ...]) -> str:
    if not nearest:
        return " and resembles no registered template"
    best = nearest[0]
    name = f"{best.template.variant} ({_short_hash(best.template.sha256)})"
    if best.difference:
        return f"; it differs from {name} only in {best.difference}"
    return f"; {best.similarity:.0%} of its lines are those of {name}"


def _others(resolved: ResolvedTemplates, registry: TemplateRegistry) -> str:
    """Says which of the other templates of the REF are registered, since one of them may be the one in use."""
    recognised = [
        f"{template.name!r} in {template.source}"
        for template in resolved.templates
        if not template.effective and registry.find_template(template.sha256)
    ]
    return f"; registered is {' and '.join(recognised)}" if recognised else ""


def _others_note(resolved: ResolvedTemplates, effective: ChatTemplate) -> str:
    """Says when what else reads the same place renders with another text than the tokenizer."""
    different = [template for template in resolved.templates if template.sha256 != effective.sha256]
    for who, sources in (("a processor", PROCESSOR_SOURCES), ("the GGUF file", (EMBEDDED_SOURCE,))):
        other = next((template for template in different if template.source in sources), None)
        if other is not None and effective.source not in sources:
            return f"; {who} renders with another template, {_short_hash(other.sha256)} in {other.source}"
    return ""


def _no_template_message(resolved: ResolvedTemplates) -> str:
    return f"{resolved.ref} has no chat template — name the template that it is served with, as a file"


def _short(template: ChatTemplate) -> str:
    return f"chat template {_short_hash(template.sha256)}"


def _short_hash(sha256: str) -> str:
    return sha256[:12]


def _template_to_dict(template: ChatTemplate, revision: str | None) -> dict[str, Any]:
    form = {
        "name": template.name,
        "sha256": template.sha256,
        "source": template.source,
        "revision": revision,
        "effective": template.effective,
    }
    return form if template.bytes_sha256 is None else {**form, "bytes_sha256": template.bytes_sha256}


def _schema_to_dict(schema: Schema) -> dict[str, Any]:
    return {
        "name": schema.name,
        "title": schema.title,
        "origin": schema.origin.source,
        "dialects": [dialect.value for dialect in schema.dialects],
    }
