"""The JSON documents of the command line's contract: each carries `"version": 1` and says what its view shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rgw.checking import SchemaCheck
    from rgw.differences.model import Comparison
    from rgw.fitness.linting import Report
    from rgw.fitness.model import Rule
    from rgw.proof.batch import Attempt
    from rgw.proof.registration import Registration
    from rgw.registry.loader import Registry
    from rgw.registry.model import RegisteredTemplate, Schema
    from rgw.rollouts import NotRunnable, Reading
    from rgw.upstream.planning import Plan

Document = dict[str, Any]


def results_document(results: Sequence[Mapping[str, Any]]) -> Document:
    """What `detect` and `parse` print: one result for each thing that was asked about, in that order."""
    return {"version": 1, "results": list(results)}


def comparison_document(results: Iterable[Reading | NotRunnable]) -> Document:
    """What `parse` prints without a schema: what each made of the output, those that read most of it first."""
    return {"version": 1, "comparison": [_compared(result) for result in results]}


def registry_document(registry: Registry) -> Document:
    """What `registry list` prints."""
    return {
        "version": 1,
        "schemas": [
            {**_schema_summary(schema), "layer": registry.layer_of(schema.name).value}
            for schema in registry.schemas.values()
        ],
        "templates": [
            {**_template_summary(template), "layer": registry.layer_of_template(template.sha256).value}
            for template in registry.templates.values()
        ],
    }


def checks_document(checks: Sequence[SchemaCheck]) -> Document:
    """What `registry check` prints."""
    return {
        "version": 1,
        "valid": not any(check.problems for check in checks),
        "schemas": [
            {
                "name": check.name,
                "samples": check.samples,
                "problems": list(check.problems),
                "skipped": check.skipped or None,
            }
            for check in checks
        ],
    }


def schema_document(schema: Schema, templates: Iterable[RegisteredTemplate]) -> Document:
    """What `registry show` prints: all of a schema, and the templates that it is registered for."""
    return {
        "version": 1,
        "schema": asdict(schema),
        "templates": [
            {**_template_summary(template), "seen_in": list(template.seen_in), "prefill": template.prefill}
            for template in templates
        ],
    }


def plan_document(plan: Plan, *, written: bool) -> Document:
    """What `resync` prints."""
    return {
        "version": 1,
        "registry": str(plan.registry),
        "before": plan.before,
        "after": plan.after,
        "differs": plan.differs,
        "schemas": [{"change": change.kind.value, "name": change.name, "diff": change.diff} for change in plan.schemas],
        "templates": [
            {
                "change": change.kind.value,
                "sha256": change.sha256,
                "variant": change.variant,
                "before": change.before,
                "after": change.after,
            }
            for change in plan.templates
        ],
        "notes": [note.message for note in plan.notes],
        "files": sorted(plan.contents),
        "written": written,
    }


def proofs_document(attempts: Sequence[Attempt]) -> Document:
    """What `prove` prints: one result for each template, with its certificate or why there is none."""
    return {"version": 1, "results": [attempt.to_dict() for attempt in attempts]}


def comparison_of_templates_document(compared: Comparison) -> Document:
    """What `diff` prints."""
    return {"version": 1, **compared.to_dict()}


def registration_document(registration: Registration) -> Document:
    """What `register` prints: the certificate, and the entry that was written."""
    entry = registration.entry
    return {"version": 1, "registered": dict(entry) if entry else None, "attempt": registration.attempt.to_dict()}


def lint_document(reports: Sequence[Report]) -> Document:
    """What `lint` prints: one result for each template."""
    return results_document([report.to_dict() for report in reports])


def rules_document(rules: Iterable[Rule]) -> Document:
    """What `explain` prints."""
    return {"version": 1, "rules": [rule.to_dict() for rule in rules]}


def _compared(result: Reading | NotRunnable) -> Document:
    return {**result.to_dict(), "clean": result.clean}


def _schema_summary(schema: Schema) -> Document:
    return {
        "name": schema.name,
        "title": schema.title,
        "origin": schema.origin.source,
        "dialects": [dialect.value for dialect in schema.dialects],
        "patched": schema.patched,
    }


def _template_summary(template: RegisteredTemplate) -> Document:
    return {
        "sha256": template.sha256,
        "schema": template.schema,
        "variant": template.variant,
        "family": template.family,
        "repos": list(template.repos),
    }
