"""Linting: every rule tried on one template or on many REFs, the findings in the order of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from rgw.errors import SourceError
from rgw.fitness.model import Finding, Severity
from rgw.fitness.rendering import Examination, Tokenize
from rgw.fitness.rules import DOES_NOT_RENDER, EXCEEDS_LIMITS, RULES
from rgw.fitness.source import source_findings
from rgw.proof.shapes import ShapeError, discover
from rgw.proof.strict import PROOF_LIMITS, StrictRenderer
from rgw.templates.model import ResolvedTemplates, UnresolvedTemplates
from rgw.templates.rendering import FailureKind, RenderPool
from rgw.templates.resolve import resolve_many


class Status(StrEnum):
    """Whether a REF could be looked at."""

    LINTED = "linted"
    NO_TEMPLATE = "no_template"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Report:
    """What the rules found in the effective template of a REF. No finding is no promise of anything.

    Attributes:
        ref: What was asked for.
        status: Whether there was a template to look at.
        sha256: The template's identity.
        findings: What was found, in the order of the catalogue.
        message: Why nothing was looked at, in one line.
    """

    ref: str
    status: Status
    sha256: str | None = None
    findings: tuple[Finding, ...] = ()
    message: str = ""

    @property
    def fit(self) -> bool:
        """Nothing but notes was found."""
        return self.status is Status.LINTED and all(found.rule.severity is Severity.NOTE for found in self.findings)

    def to_dict(self) -> Mapping[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "ref": self.ref,
            "status": self.status.value,
            "sha256": self.sha256,
            "findings": [finding.to_dict() for finding in self.findings],
            "message": self.message or None,
        }


def lint_refs(
    refs: Sequence[str], *, revision: str | None = None, tokenize: Tokenize | None = None
) -> Iterator[Report]:
    """Lint the effective template of each REF, in order.

    Raises:
        UsageError: A local REF has no revisions.
        EngineError: Templates cannot be rendered here at all.
    """
    with RenderPool(limits=PROOF_LIMITS) as pool:
        for resolved in resolve_many(refs, revision=revision):
            yield _report(resolved, pool, tokenize)


def lint(template: str, pool: RenderPool, *, tokenize: Tokenize | None = None) -> tuple[Finding, ...]:
    """Try every rule on a template.

    Args:
        template: The template; it is rendered in bounded workers only.
        pool: The workers.
        tokenize: The model's tokenizer, to name tokens as well as characters.
    """
    findings = list(source_findings(template))
    renderer = StrictRenderer(pool)
    try:
        findings += Examination(renderer, template, discover(renderer, template), tokenize).findings()
    except ShapeError as error:
        refused = error.failure.kind in {FailureKind.SYNTAX_ERROR, FailureKind.TEMPLATE_ERROR}
        findings.append(Finding(DOES_NOT_RENDER if refused else EXCEEDS_LIMITS, error.failure.message))
    order = list(RULES)
    return tuple(sorted(findings, key=lambda finding: (order.index(finding.rule.id), finding.line or 0)))


def tokenizer_at(path: Path) -> Tokenize:
    """The tokenizer of a `tokenizer.json`, or of the directory that holds one.

    Raises:
        SourceError: It could not be read.
    """
    from tokenizers import Tokenizer

    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise SourceError(f"{file}: no such file", "name a tokenizer.json or the directory that holds it")
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:
        raise SourceError(f"{file} is no tokenizer: {error}", "name a tokenizer.json") from error
    return lambda text: tuple(tokenizer.encode(text, add_special_tokens=False).ids)


def _report(resolved: ResolvedTemplates | UnresolvedTemplates, pool: RenderPool, tokenize: Tokenize | None) -> Report:
    if isinstance(resolved, UnresolvedTemplates):
        message = f"{resolved.message} — {resolved.fix}" if resolved.fix else resolved.message
        return Report(resolved.ref, Status.ERROR, message=message)
    template = resolved.effective
    if template is None:
        return Report(resolved.ref, Status.NO_TEMPLATE, message="there is no chat template — name a template file")
    return Report(resolved.ref, Status.LINTED, template.sha256, lint(template.text, pool, tokenize=tokenize))
