"""What the registry becomes when a TRL is taken into it: TRL's part is replaced, everything else stays.

TRL's part is the origin and the dialects of every schema that came from it and is not `patched:`, and the schema of
each template that it maps. Titles, turn rules, samples, repositories, and whatever was registered beyond TRL are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rgw.errors import RegistryError, UpstreamError
from rgw.registry.model import Dialect
from rgw.templates.similarity import line_fingerprint
from rgw.upstream.reading import TRAINING_SUFFIX, Spec, Upstream, UpstreamTemplate
from rgw.upstream.registry_files import SCHEMAS, SOURCE, RegistryFiles
from rgw.upstream.sources import TRL_REPOSITORY

_REGISTRY_NAMES = {"glm4moe": "glm4_moe", "gptoss": "gpt_oss", "lfm2_2_5": "lfm2_5"}
"""The registry's spelling of upstream names, for schemas that are new; one that is there keeps its name."""

Specs = Mapping[Dialect, Spec]


def merge(current: RegistryFiles, upstream: Upstream) -> RegistryFiles:
    """The registry that `current` becomes.

    Raises:
        UpstreamError: Upstream pairs its specs in a way that one schema name cannot stand for.
        RegistryError: A schema written for this registry has the name of one that is new upstream.
    """
    names = schema_names(current, upstream)
    specs = specs_by_schema(names, upstream)
    templates = _templates(current, upstream, names)
    schemas = _schemas(current, specs, used={entry["schema"] for entry in templates.values()})
    fingerprints = {
        **{sha256: value for sha256, value in current.fingerprints.items() if sha256 in templates},
        **{template.sha256: line_fingerprint(template.text) for template in upstream.templates},
    }
    lock = _lock(upstream, names, specs)
    return RegistryFiles(schemas, templates, dict(sorted(fingerprints.items())), _better_pinned(current.lock, lock))


def schema_names(current: RegistryFiles, upstream: Upstream) -> dict[str, str]:
    """The registry schema of each template that upstream maps to specs, by sha256.

    A schema stands for a pairing of specs and is named after the newer one. A template for which upstream pairs that
    one differently (leaves the legacy dialect out, say) gets a schema of its own, named after both.
    """
    known = _known_names(current)
    pairings: dict[str, Specs] = {}
    names = {}
    for template in sorted(upstream.templates, key=lambda template: -len(template.specs)):
        if template.specs:
            upstream_name = _upstream_name({dialect: spec.name for dialect, spec in template.specs.items()})
            name = known.get(upstream_name) or _REGISTRY_NAMES.get(upstream_name, upstream_name)
            usual = pairings.setdefault(upstream_name, template.specs) == template.specs
            names[template.sha256] = name if usual else f"{name}_{template.variant}"
    return names


def specs_by_schema(names: Mapping[str, str], upstream: Upstream) -> dict[str, Specs]:
    """What upstream says of each registry schema."""
    specs: dict[str, Specs] = {}
    for template in upstream.templates:
        if template.specs and specs.setdefault(names[template.sha256], template.specs) != template.specs:
            raise UpstreamError(f"TRL has two different schemas that would both be called {names[template.sha256]}")
    return specs


def came_from_upstream(schema: Mapping[str, Any]) -> bool:
    """Whether a re-sync made the schema, patched since or not."""
    return bool(schema.get("origin", {}).get("source") == SOURCE)


def origin_of(specs: Specs) -> dict[str, Any]:
    """The `origin` of a schema that was taken from upstream."""
    ordered = [(dialect, specs[dialect]) for dialect in Dialect if dialect in specs]
    return {
        "source": SOURCE,
        "names": {dialect.value: spec.name for dialect, spec in ordered},
        "digests": {dialect.value: spec.digest for dialect, spec in ordered},
    }


def dialects_of(specs: Specs) -> dict[str, Any]:
    """The `dialects` of a schema that was taken from upstream."""
    return {dialect.value: specs[dialect].body for dialect in Dialect if dialect in specs}


def _known_names(current: RegistryFiles) -> dict[str, str]:
    """The registry's names for upstream's, shortest first: those of unusual pairings are longer."""
    known: dict[str, str] = {}
    for name in sorted(current.schemas, key=len):
        if came_from_upstream(current.schemas[name]):
            known.setdefault(_upstream_name(current.schemas[name]["origin"]["names"]), name)
    return known


def _upstream_name(variables: Mapping[Any, str]) -> str:
    """One name for a pair of upstream variables: that of the newer dialect, without its suffix."""
    variable = variables.get(Dialect.RESPONSE_TEMPLATE) or variables[Dialect.RESPONSE_SCHEMA]
    return variable.removesuffix("_template").removesuffix("_schema")


def _schemas(current: RegistryFiles, specs: Mapping[str, Specs], used: set[str | None]) -> dict[str, Mapping[str, Any]]:
    kept = {
        name: schema
        for name, schema in current.schemas.items()
        if name in used or not came_from_upstream(schema) or "patched" in schema
    }
    taken = {name: _schema(name, current.schemas.get(name), spec) for name, spec in specs.items() if name in used}
    return dict(sorted({**kept, **taken}.items()))


def _schema(name: str, existing: Mapping[str, Any] | None, specs: Specs) -> Mapping[str, Any]:
    if existing is None:
        return {"name": name, "title": name, "origin": origin_of(specs), "dialects": dialects_of(specs)}
    if not came_from_upstream(existing):
        raise RegistryError(
            f"{SCHEMAS}/{name}.yaml was written for this registry, and TRL now has a schema of that name",
            "rename it, in the file and in templates.yaml",
        )
    if "patched" in existing:
        return existing
    return {**existing, "origin": origin_of(specs), "dialects": dialects_of(specs)}


def _templates(current: RegistryFiles, upstream: Upstream, names: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
    known = {template.sha256 for template in upstream.templates}
    kept = {
        sha256: entry
        for sha256, entry in current.templates.items()
        if sha256 in known or not _is_abandoned(sha256, entry, current)
    }
    taken = {template.sha256: _template(template, names, current, upstream) for template in upstream.templates}
    return {**kept, **taken}


def _is_abandoned(sha256: str, entry: Mapping[str, Any], current: RegistryFiles) -> bool:
    """Whether the template is here only because an earlier TRL had it."""
    if sha256 not in current.lock.get("templates", {}):
        return False
    schema = current.schemas.get(entry["schema"] or "")
    return schema is None or (came_from_upstream(schema) and "patched" not in schema)


def _template(
    template: UpstreamTemplate, names: Mapping[str, str], current: RegistryFiles, upstream: Upstream
) -> Mapping[str, Any]:
    existing = current.templates.get(template.sha256)
    schema = _schema_of(template.sha256, names, current)
    base = template.variant.removesuffix(TRAINING_SUFFIX)
    entry = {
        "schema": schema,
        "variant": template.variant,
        "family": schema or base,
        "repos": [],
        "seen_in": [f"{SOURCE} {upstream.ref.label}"],
        **(existing or {}),
    }
    entry |= {"schema": schema}
    if schema is None:
        return {**entry, "reason": entry.get("reason") or _reason(template, base)}
    return {key: value for key, value in entry.items() if key != "reason"}


def _schema_of(sha256: str, names: Mapping[str, str], current: RegistryFiles) -> str | None:
    """The schema of a template that upstream knows: upstream's, unless the registry says more than upstream does."""
    ours = current.templates.get(sha256, {}).get("schema")
    theirs = names.get(sha256)
    if ours is None or ours == theirs:
        return theirs
    if theirs is None:
        was_theirs = current.lock.get("templates", {}).get(sha256)
        return None if was_theirs else str(ours)
    written_here = ours in current.schemas and not came_from_upstream(current.schemas[ours])
    return str(ours) if written_here else theirs


def _reason(template: UpstreamTemplate, base: str) -> str:
    if template.is_training_variant:
        return f"TRL's training variant of {base}; TRL maps it to no response spec"
    return "TRL knows this template but maps it to no response spec"


def _lock(upstream: Upstream, names: Mapping[str, str], specs: Mapping[str, Specs]) -> dict[str, Any]:
    taken = {name: origin_of(specs[name]) for name in sorted(specs)}
    return {
        "repository": TRL_REPOSITORY,
        **{key: value for key, value in asdict(upstream.ref).items() if value is not None},
        "schemas": {name: {key: origin[key] for key in ("names", "digests")} for name, origin in taken.items()},
        "templates": dict(sorted((template.sha256, names.get(template.sha256)) for template in upstream.templates)),
    }


def _better_pinned(current: Mapping[str, Any], new: dict[str, Any]) -> Mapping[str, Any]:
    """The current lock where it says the same of the same version, and knows the commit while the new one does not."""
    same = all(current.get(key) == new.get(key) for key in ("version", "schemas", "templates"))
    return current if same and "commit" in current and "commit" not in new else new
