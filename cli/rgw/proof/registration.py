"""Registering a template in a project's own registry: only with a proof, and with the proof's digest.

The overlay is created when it is first used. Whatever is written can be read back, or nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rgw.errors import RegistryError, SourceError, UsageError
from rgw.proof.batch import Attempt, Pair, certify
from rgw.proof.behaviour import behaviour_of
from rgw.proof.strict import PROOF_LIMITS
from rgw.registry.journal import update_files
from rgw.registry.layer import FINGERPRINTS, SCHEMAS, TEMPLATES, Layer
from rgw.registry.loader import Registry, load_registry
from rgw.registry.model import Schema
from rgw.registry.schema_file import read_schema
from rgw.registry.yaml_reading import read_yaml
from rgw.registry.yaml_writing import dump_yaml
from rgw.templates.model import ChatTemplate, ResolvedTemplates
from rgw.templates.rendering import RenderPool
from rgw.templates.resolve import is_local, name_of, resolve
from rgw.templates.similarity import line_fingerprint


@dataclass(frozen=True, slots=True)
class Registration:
    """What `register` did.

    Attributes:
        attempt: The pair with its certificate.
        entry: What was written to `templates.yaml`; `None` when nothing was.
    """

    attempt: Attempt
    entry: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A template that is to be registered, and how it is to be called.

    Attributes:
        ref: What names the template.
        schema: The schema's name.
        schema_file: The file of a schema that no registry has yet.
        revision: The branch, tag or commit of a hub repository.
        variant: Which of its family's templates it is; by default what the REF is called.
        family: The model family; by default the schema's name.
        resolved: What the REF names, where it has been read already: standard input is read only once.
    """

    ref: str
    schema: str
    schema_file: Path | None = None
    revision: str | None = None
    variant: str | None = None
    family: str | None = None
    resolved: ResolvedTemplates | None = None


def register(candidate: Candidate, overlay: Path, *, count: int, seed: int = 0) -> Registration:
    """Prove a pair and, if it proves, write it to an overlay.

    Args:
        candidate: What is to be registered.
        overlay: The directory of the project's own registry; created when it is first used.
        count: Conversations of each kind.
        seed: What they are made from.

    Raises:
        UsageError: There is no such schema, or a new one has a name that is taken.
        SourceError: The template or the schema's file could not be read.
        RegistryError: Something is not valid, or the overlay cannot be written to.
        EngineError: The installed transformers cannot run the schema.
    """
    registry = load_registry(overlay if overlay.exists() else None)
    resolved = candidate.resolved or resolve(candidate.ref, revision=candidate.revision)
    template = resolved.effective
    if template is None:
        raise SourceError(f"{candidate.ref} has no chat template", "name the template that it is served with")
    schema, vetted = _schema(candidate, registry)
    pair = Pair(candidate.ref, template.sha256, template.text, schema, vetted, registry.digest())
    with RenderPool(limits=PROOF_LIMITS) as pool:
        attempt = certify(pair, count=count, seed=seed, pool=pool)
        if attempt.proof is None or not attempt.proof.proved:
            return Registration(attempt)
        behaviour = behaviour_of(pool, template.text)
    entry = _entry(candidate, resolved, template)
    if behaviour is not None:
        entry["behaviour"] = str(behaviour)
    entry["certificate"] = attempt.proof.digest
    _write(overlay, entry, line_fingerprint(template.text), candidate.schema_file)
    return Registration(attempt, entry)


def _schema(candidate: Candidate, registry: Registry) -> tuple[Schema, bool]:
    """The schema, and whether it came with the package."""
    if candidate.schema_file is None:
        schema = registry.schema(candidate.schema)
        return schema, registry.layer_of(schema.name) is Layer.PACKAGED
    path = candidate.schema_file
    if not path.is_file():
        raise SourceError(f"{path}: no such file", "name the YAML file of the schema")
    schema = read_schema(read_yaml(path, str(path)), candidate.schema)
    known = registry.schemas.get(schema.name)
    if known is not None and known != schema:
        raise UsageError(f"there is another schema {schema.name!r} already", "give yours a name of its own")
    return schema, False


def _entry(candidate: Candidate, resolved: ResolvedTemplates, template: ChatTemplate) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "sha256": template.sha256,
        "schema": candidate.schema,
        "variant": candidate.variant or name_of(candidate.ref),
        "family": candidate.family or candidate.schema,
    }
    if is_local(candidate.ref):
        entry["seen_in"] = [candidate.ref if candidate.ref != "-" else "standard input"]
    else:
        entry["repos"] = [f"{candidate.ref}@{resolved.revision}" if resolved.revision else candidate.ref]
    return entry


def _write(overlay: Path, entry: Mapping[str, Any], fingerprint: str, schema_file: Path | None) -> None:
    """Add the entry, or put it in the place of the one with the same hash, and see that the registry is still valid."""
    try:
        overlay.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RegistryError(f"{overlay} cannot be created: {error.strerror}", "name another directory") from error
    schema = {} if schema_file is None else {f"{SCHEMAS}/{entry['schema']}.yaml": schema_file.read_text("utf-8")}

    def files() -> Mapping[str, str]:
        templates = _load(overlay / TEMPLATES).get("templates") or []
        others = [known for known in templates if known["sha256"] != entry["sha256"]]
        fingerprints = _load(overlay / FINGERPRINTS).get("fingerprints") or {}
        return schema | {
            TEMPLATES: dump_yaml({"templates": [*others, dict(entry)]}),
            FINGERPRINTS: dump_yaml({"fingerprints": {**fingerprints, entry["sha256"]: fingerprint}}),
        }

    update_files(overlay, files)
    load_registry(overlay)


def _load(path: Path) -> dict[str, Any]:
    """The data of a registry file that has been found valid; nothing where there is no such file."""
    with suppress(FileNotFoundError):
        return dict(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    return {}
