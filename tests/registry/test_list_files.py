"""`templates.yaml`, `call_markers.yaml` and `fingerprints.yaml`: what they give, and what can be wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry.registry_files import HASH
from rgw.errors import RegistryError
from rgw.registry.list_files import call_marker_patterns, read_call_markers, read_fingerprints, read_templates
from rgw.registry.model import CallMarker, RegisteredTemplate
from rgw.registry.yaml_reading import Located, read_yaml

OTHER_HASH = "b" * 64


def read(tmp_path: Path, text: str) -> Located:
    path = tmp_path / "list.yaml"
    path.write_text(text, "utf-8")
    return read_yaml(path, "x.yaml")


def test_templates_with_and_without_a_schema(tmp_path: Path) -> None:
    text = f"""\
templates:
  - sha256: {HASH}
    schema: tag
    variant: thinking
    family: tags
    repos: [owner/model-1.5, owner/model_2@4742fe8, gpt2]
    seen_in: [trl 1.16.0]
    prefill: "<think>\\n"
    behaviour: 1-0123abcd01234567
    certificate: {OTHER_HASH}
  - sha256: {OTHER_HASH}
    schema: null
    variant: plain
    family: other
    reason: it writes no calls
"""
    assert read_templates(read(tmp_path, text), {"tag"}) == {
        HASH: RegisteredTemplate(
            sha256=HASH,
            schema="tag",
            variant="thinking",
            family="tags",
            repos=("owner/model-1.5", "owner/model_2@4742fe8", "gpt2"),
            seen_in=("trl 1.16.0",),
            prefill="<think>\n",
            behaviour="1-0123abcd01234567",
            certificate=OTHER_HASH,
        ),
        OTHER_HASH: RegisteredTemplate(OTHER_HASH, None, "plain", "other", reason="it writes no calls"),
    }


def template(**changes: str | None) -> str:
    """A list of one template, one key a line from line 2 on; a key that is changed to `None` is left out."""
    entry = {"sha256": HASH, "schema": "tag", "variant": "plain", "family": "tag", **changes}
    lines = [f"    {key}: {value}\n" for key, value in entry.items() if value is not None]
    return "templates:\n  - " + "".join(lines).lstrip()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- sha256: a\n", "x.yaml:1: the file must be a mapping, not a list"),
        ("template: []\n", "x.yaml:1: unknown key 'template' — did you mean 'templates'?"),
        ("templates: {}\n", "x.yaml:1: 'templates' must be a list, not a mapping"),
        ("templates:\n  - tag\n", "x.yaml:2: an item of 'templates' must be a mapping, not 'tag'"),
        (template(repo="[]"), "x.yaml:6: unknown key 'repo' — did you mean 'repos'?"),
        (template(variant=None), "x.yaml:2: 'variant' is missing"),
        (template(family="''"), "x.yaml:5: 'family' must not be blank"),
        (template(sha256="abc"), "x.yaml:2: 'sha256' must be 64 lower-case hexadecimal digits, not 'abc'"),
        (
            template(sha256="A" * 64),
            f"x.yaml:2: 'sha256' must be 64 lower-case hexadecimal digits, not '{'A' * 64}'",
        ),
        (template(schema="tags"), "x.yaml:3: there is no schema 'tags' — add schemas/tags.yaml or name another schema"),
        (template(schema="null"), "x.yaml:3: a template without a schema needs a 'reason' — say why it has none"),
        (template(reason="none"), "x.yaml:6: 'reason' is for a template without a schema — remove it"),
        (
            template(repos="[https://hub/owner/name]"),
            "x.yaml:6: an item of 'repos' must be a hub repository (owner/name), not 'https://hub/owner/name'",
        ),
        (template(seen_in="trl"), "x.yaml:6: 'seen_in' must be a list, not 'trl'"),
        (template(behaviour="1-0123"), "x.yaml:6: 'behaviour' must be a behaviour fingerprint, not '1-0123'"),
        (template(certificate="abc"), "x.yaml:6: 'certificate' must be 64 lower-case hexadecimal digits, not 'abc'"),
        (template(prefill="[]"), "x.yaml:6: 'prefill' must be text, not a list"),
        (
            template() + template().removeprefix("templates:\n"),
            "x.yaml:6: the template aaaaaaaaaaaa stands in line 2 already — remove one",
        ),
    ],
)
def test_what_is_wrong_with_templates_is_pointed_at(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RegistryError) as raised:
        read_templates(read(tmp_path, text), {"tag"})
    assert str(raised.value) == message


MARKERS = r"""
call_markers:
  - {family: Tags, literal: '<call>(1.5)'}
  - family: Brackets
    pattern: \[call\]
"""


def test_call_markers_are_literals_or_patterns(tmp_path: Path) -> None:
    markers = read_call_markers(read(tmp_path, MARKERS))
    assert markers == (CallMarker("Tags", literal="<call>(1.5)"), CallMarker("Brackets", pattern=r"\[call\]"))
    assert [marker.regex for marker in markers] == [r"<call>\(1\.5\)", r"\[call\]"]


def test_only_patterns_are_patterns(tmp_path: Path) -> None:
    assert [(pattern.line, pattern.text()) for pattern in call_marker_patterns(read(tmp_path, MARKERS))] == [
        (5, r"\[call\]")
    ]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("literal: a", "x.yaml:2: 'family' is missing"),
        ("family: a", "x.yaml:2: a call marker has either a 'literal' or a 'pattern'"),
        ("{family: a, literal: b, pattern: c}", "x.yaml:2: a call marker has either a 'literal' or a 'pattern'"),
        ("{family: a, marker: b}", "x.yaml:2: unknown key 'marker' — known keys: family, literal, pattern"),
        ("{family: a, literal: ''}", "x.yaml:2: 'literal' must not be blank"),
    ],
)
def test_what_is_wrong_with_call_markers_is_pointed_at(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(RegistryError) as raised:
        read_call_markers(read(tmp_path, f"call_markers:\n  - {entry}\n"))
    assert str(raised.value) == message


def test_fingerprints(tmp_path: Path) -> None:
    assert read_fingerprints(read(tmp_path, f"fingerprints:\n  {HASH}: abcd\n"), {HASH}) == {HASH: "abcd"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (f"{OTHER_HASH}: abcd", "x.yaml:2: 'bbbbbbbbbbbb' is no template of this registry — remove its fingerprint"),
        (f"{HASH}: 1234", f"x.yaml:2: '{HASH}' must be text, not 1234 — quote it"),
    ],
)
def test_what_is_wrong_with_fingerprints_is_pointed_at(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(RegistryError) as raised:
        read_fingerprints(read(tmp_path, f"fingerprints:\n  {entry}\n"), {HASH})
    assert str(raised.value) == message
