"""The files of a registry that are lists: `templates.yaml`, `call_markers.yaml` and `fingerprints.yaml`.

Each function turns the content of one of them into records, or points at the line that is not valid.
"""

from __future__ import annotations

from collections.abc import Collection

from rgw.registry.model import CallMarker, RegisteredTemplate
from rgw.registry.schema_file import SHA256
from rgw.registry.yaml_reading import Located

REPOSITORY = r"[\w.-]+(?:/[\w.-]+)?(?:@[\w.-]+)?"
BEHAVIOUR = r"[0-9]+-(?:[0-9a-f]{8})+"


def read_templates(document: Located, schemas: Collection[str]) -> dict[str, RegisteredTemplate]:
    """The templates of `templates.yaml` by sha256; each is registered for one of `schemas`, or for none.

    Raises:
        RegistryError: Something in the file is not valid.
    """
    templates: dict[str, RegisteredTemplate] = {}
    lines: dict[str, int] = {}
    for entry in document.record(required=("templates",))["templates"].items():
        template = _template(entry, schemas)
        if template.sha256 in templates:
            first = lines[template.sha256]
            raise entry.error(f"the template {template.sha256[:12]} stands in line {first} already", "remove one")
        templates[template.sha256] = template
        lines[template.sha256] = entry.line
    return templates


def read_call_markers(document: Located) -> tuple[CallMarker, ...]:
    """The markers of `call_markers.yaml`; their regular expressions are not compiled.

    Raises:
        RegistryError: Something in the file is not valid.
    """
    return tuple(_call_marker(entry) for entry in document.record(required=("call_markers",))["call_markers"].items())


def call_marker_patterns(document: Located) -> list[Located]:
    """The regular expressions of `call_markers.yaml`."""
    entries = [entry.entries() for entry in document.entries()["call_markers"].items()]
    return [keys["pattern"] for keys in entries if "pattern" in keys]


def read_fingerprints(document: Located, templates: Collection[str]) -> dict[str, str]:
    """The fingerprint of each template in `fingerprints.yaml`, by sha256; each must be one of `templates`.

    Raises:
        RegistryError: Something in the file is not valid.
    """
    fingerprints = document.record(required=("fingerprints",))["fingerprints"].entries()
    for sha256, fingerprint in fingerprints.items():
        if sha256 not in templates:
            raise fingerprint.error(f"{sha256[:12]!r} is no template of this registry", "remove its fingerprint")
    return {sha256: fingerprint.text() for sha256, fingerprint in fingerprints.items()}


def _template(entry: Located, schemas: Collection[str]) -> RegisteredTemplate:
    keys = entry.record(
        required=("sha256", "schema", "variant", "family"),
        optional=("repos", "seen_in", "prefill", "reason", "behaviour", "certificate"),
    )
    schema = None if keys["schema"].is_null() else keys["schema"].text()
    if schema is not None and schema not in schemas:
        raise keys["schema"].error(
            f"there is no schema {schema!r}", f"add schemas/{schema}.yaml or name another schema"
        )
    if schema is None and "reason" not in keys:
        raise keys["schema"].error("a template without a schema needs a 'reason'", "say why it has none")
    if schema is not None and "reason" in keys:
        raise keys["reason"].error("'reason' is for a template without a schema", "remove it")
    return RegisteredTemplate(
        sha256=keys["sha256"].matching(SHA256, "64 lower-case hexadecimal digits"),
        schema=schema,
        variant=keys["variant"].nonempty_text(),
        family=keys["family"].nonempty_text(),
        repos=_repositories(keys["repos"]) if "repos" in keys else (),
        seen_in=keys["seen_in"].texts() if "seen_in" in keys else (),
        prefill=keys["prefill"].text() if "prefill" in keys else None,
        reason=keys["reason"].nonempty_text() if "reason" in keys else None,
        behaviour=keys["behaviour"].matching(BEHAVIOUR, "a behaviour fingerprint") if "behaviour" in keys else None,
        certificate=(
            keys["certificate"].matching(SHA256, "64 lower-case hexadecimal digits") if "certificate" in keys else None
        ),
    )


def _repositories(value: Located) -> tuple[str, ...]:
    return tuple(item.matching(REPOSITORY, "a hub repository (owner/name)") for item in value.items())


def _call_marker(entry: Located) -> CallMarker:
    keys = entry.record(required=("family",), optional=("literal", "pattern"))
    if ("literal" in keys) == ("pattern" in keys):
        raise entry.error("a call marker has either a 'literal' or a 'pattern'")
    return CallMarker(
        family=keys["family"].nonempty_text(),
        literal=keys["literal"].nonempty_text() if "literal" in keys else None,
        pattern=keys["pattern"].nonempty_text() if "pattern" in keys else None,
    )
