"""Vetting a schema that did not come with the package: refused when its time grows faster than linearly.

The verdict is remembered by the schema's content and the version of this package, so that a gateway pays for it once.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from rgw.derender.growth import Growth, check_growth, schema_to_dict
from rgw.derender.policy import Policy
from rgw.registry.layer import Layer
from rgw.registry.loader import Registry
from rgw.registry.model import Schema


def vet(schema: Schema, policy: Policy | None = None) -> None:
    """Refuse a schema that could take minutes on a turn; say nothing about one that has passed before.

    Raises:
        RegistryError: Reading grows faster than linearly; the message names the shape and the pattern.
        EngineError: The schema could not be run at all.
    """
    known_growth(schema, policy).require_linear(schema.name)


def vet_foreign(registry: Registry, name: str, policy: Policy | None = None) -> None:
    """Vet the schema of this name unless it came with the package, whose schemas are measured before each release.

    Raises:
        RegistryError: Reading grows faster than linearly; the message names the shape and the pattern.
        EngineError: The schema could not be run at all.
    """
    if registry.layer_of(name) is not Layer.PACKAGED:
        vet(registry.schema(name), policy)


def known_growth(schema: Schema, policy: Policy | None = None) -> Growth:
    """How reading with a schema and a policy grows: measured, unless it has been found linear before.

    Raises:
        EngineError: The schema could not be run at all.
    """
    lenient = policy is not None and policy.is_lenient
    remembered = _cache_directory() / (schema_digest(schema) + ("-lenient" if lenient else ""))
    if remembered.exists():
        return Growth(linear=True)
    growth = check_growth(schema, lenient=lenient)
    if growth.linear:
        with suppress(OSError):
            remembered.parent.mkdir(parents=True, exist_ok=True)
            remembered.touch()
    return growth


def schema_digest(schema: Schema) -> str:
    """sha256 over everything of a schema that reading depends on, and over the versions that do the reading."""
    import regex
    import transformers

    versions = [transformers.__version__, regex.__version__]
    content = json.dumps([schema_to_dict(schema), versions], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "rgw" / "linear"
