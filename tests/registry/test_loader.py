"""The registry as a whole: what loading gives, what it refuses, and how an overlay changes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from registry.conftest import Write
from registry.registry_files import HASH, SCHEMA, TEMPLATES
from rgw.errors import RegistryError, UsageError
from rgw.registry.journal import JOURNAL, STAGING
from rgw.registry.layer import Layer
from rgw.registry.loader import Registry, load_registry, packaged_registry_path, validate_registry

OTHER_HASH = "b" * 64
OTHER_TEMPLATE = f"  - {{sha256: {OTHER_HASH}, schema: tag, variant: other, family: tag}}\n"
OTHER_SCHEMA = SCHEMA.replace("name: tag", "name: other").replace("A format with tags", "Another format")
MARKERS = "call_markers:\n  - {family: Tags, literal: '[call]'}\n"


def message_of(error: pytest.ExceptionInfo[RegistryError] | pytest.ExceptionInfo[UsageError]) -> str:
    return str(error.value)


def test_what_is_registered_is_found(write: Write) -> None:
    registry = load_registry(packaged=write({"call_markers.yaml": MARKERS}))
    template = registry.find_template(HASH)
    assert template is not None
    assert template.schema == "tag"
    assert registry.schema("tag").title == "A format with tags"
    assert list(registry.schemas) == ["tag"]
    assert list(registry.templates) == [HASH]
    assert registry.call_markers == (r"\[call\]",)
    assert registry.markers[0].family == "Tags"
    assert registry.layer_of("tag") is Layer.PACKAGED
    assert registry.layer_of_template(HASH) is Layer.PACKAGED


def test_an_unknown_template_is_no_error(write: Write) -> None:
    assert load_registry(packaged=write()).find_template(OTHER_HASH) is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tags", "there is no schema 'tags' — did you mean tag?"),
        ("zzz", "there is no schema 'zzz' — `rgw registry list` shows all"),
    ],
)
def test_an_unknown_schema_is_an_error_that_helps(write: Write, name: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        load_registry(packaged=write()).schema(name)
    assert message_of(raised) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"templates.yaml": "templates:\n  - {}\n"},
            "registry/templates.yaml:2: 'sha256' is missing",
        ),
        ({"schemas/tag.yaml": SCHEMA + "foo: 1\n"}, "registry/schemas/tag.yaml:12: unknown key 'foo' — known keys: "),
        ({"call_markers.yaml": "[]"}, "registry/call_markers.yaml:1: the file must be a mapping, not a list"),
        (
            {"schemas/other.yaml": OTHER_SCHEMA},
            "registry/schemas/other.yaml:1: no template in templates.yaml has this schema — register one, or say in ",
        ),
        (
            {"schemas/tag.yaml": None},
            "registry/templates.yaml:3: there is no schema 'tag' — add schemas/tag.yaml or name another schema",
        ),
        (
            {"template.yaml": "templates: []"},
            "registry/template.yaml: not a file of a registry — those are templates.yaml, call_markers.yaml, ",
        ),
        (
            {"schemas/other.yml": OTHER_SCHEMA},
            "registry/schemas/other.yml: not a file of a registry — its name must end in .yaml",
        ),
        (
            {"schemas/tag.yaml": SCHEMA.replace("start_anchor: <bot>", "defaults: " + "[" * 950 + "]" * 950)},
            "registry/schemas/tag.yaml:7: 'response_template' is nested too deeply",
        ),
    ],
)
def test_what_is_wrong_is_pointed_at_on_loading(write: Write, changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(RegistryError) as raised:
        load_registry(packaged=write(changes))
    assert message_of(raised).startswith(message)


def test_a_schema_without_templates_may_say_why(write: Write) -> None:
    reason = "usable_by_name: its models ship an encoder script\n"
    registry = load_registry(packaged=write({"schemas/other.yaml": OTHER_SCHEMA + reason}))
    assert registry.schema("other").usable_by_name == "its models ship an encoder script"


def test_files_that_are_not_yaml_are_left_alone(write: Write) -> None:
    assert load_registry(packaged=write({"README.md": "words", "schemas/notes.txt": "words"})).schema("tag")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schemas/tag.yaml": SCHEMA.replace(r"</bot>\s*", "(</bot>")},
            "registry/schemas/tag.yaml:10: 'close_pattern' is not a regular expression: missing ) at position 7",
        ),
        (
            {"schemas/tag.yaml": SCHEMA + "layout:\n  between_regions: '('\n"},
            "registry/schemas/tag.yaml:13: 'between_regions' is not a regular expression: missing ) at position 1",
        ),
        (
            {"call_markers.yaml": "call_markers:\n  - family: a\n    pattern: (\n"},
            "registry/call_markers.yaml:3: 'pattern' is not a regular expression: missing ) at position 1",
        ),
        (
            {"fingerprints.yaml": f"fingerprints:\n  {OTHER_HASH}: abcd\n"},
            "registry/fingerprints.yaml:2: 'bbbbbbbbbbbb' is no template of this registry — remove its fingerprint",
        ),
    ],
)
def test_validation_finds_what_loading_leaves_out(write: Write, changes: dict[str, str | None], message: str) -> None:
    registry = load_registry(packaged=write(changes))
    with pytest.raises(RegistryError) as raised:
        validate_registry(registry)
    assert message_of(raised) == message


def test_a_bad_pattern_is_found_when_its_schema_is_asked_for(write: Write) -> None:
    registry = load_registry(packaged=write({"schemas/tag.yaml": SCHEMA.replace(r"</bot>\s*", "(</bot>")}))
    for _ in range(2):
        with pytest.raises(RegistryError, match=r"^registry/schemas/tag\.yaml:10: 'close_pattern' is not a regular"):
            registry.schema("tag")


def test_a_pattern_may_use_what_only_the_library_of_transformers_knows(write: Write) -> None:
    twice = "(?P<name>a)|(?P<name>b)"
    registry = load_registry(packaged=write({"schemas/tag.yaml": SCHEMA.replace(r"</bot>\s*", f"'{twice}'")}))
    validate_registry(registry)
    assert registry.schema("tag").name == "tag"


def test_a_valid_registry_passes(write: Write) -> None:
    files = {"call_markers.yaml": MARKERS, "fingerprints.yaml": f"fingerprints:\n  {HASH}: abcd\n"}
    registry = load_registry(packaged=write(files))
    validate_registry(registry)
    assert registry.fingerprints() == {HASH: "abcd"}


def test_an_overlay_adds(write: Write, write_overlay: Write) -> None:
    overlay = write_overlay(
        {
            "schemas/other.yaml": OTHER_SCHEMA,
            "templates.yaml": "templates:\n" + OTHER_TEMPLATE.replace("schema: tag", "schema: other"),
            "call_markers.yaml": MARKERS.replace("[call]", "{call}"),
            "fingerprints.yaml": f"fingerprints:\n  {OTHER_HASH}: ef01\n",
        }
    )
    packaged = write({"call_markers.yaml": MARKERS, "fingerprints.yaml": f"fingerprints:\n  {HASH}: abcd\n"})
    registry = load_registry(overlay, packaged=packaged)
    assert {name: registry.layer_of(name) for name in registry.schemas} == {
        "other": Layer.OVERLAY,
        "tag": Layer.PACKAGED,
    }
    assert registry.layer_of_template(OTHER_HASH) is Layer.OVERLAY
    assert registry.layer_of_template(HASH) is Layer.PACKAGED
    assert registry.call_markers == (r"\[call\]", r"\{call\}")
    assert registry.fingerprints() == {HASH: "abcd", OTHER_HASH: "ef01"}


def test_an_overlay_wins_over_what_is_packaged(write: Write, write_overlay: Write) -> None:
    overlay = write_overlay(
        {
            "schemas/tag.yaml": SCHEMA.replace("A format with tags", "Ours"),
            "templates.yaml": TEMPLATES.replace("variant: plain", "variant: ours"),
        }
    )
    registry = load_registry(overlay, packaged=write())
    assert registry.schema("tag").title == "Ours"
    assert registry.layer_of("tag") is Layer.OVERLAY
    template = registry.find_template(HASH)
    assert template is not None
    assert template.variant == "ours"
    assert registry.layer_of_template(HASH) is Layer.OVERLAY
    assert (len(registry.schemas), len(registry.templates)) == (1, 1)


def test_a_template_of_an_overlay_may_have_a_packaged_schema(write: Write, write_overlay: Write) -> None:
    overlay = write_overlay({"templates.yaml": "templates:\n" + OTHER_TEMPLATE})
    template = load_registry(overlay, packaged=write()).find_template(OTHER_HASH)
    assert template is not None
    assert template.schema == "tag"


def test_a_schema_of_an_overlay_needs_no_template(write: Write, write_overlay: Write) -> None:
    overlay = write_overlay({"schemas/other.yaml": OTHER_SCHEMA})
    assert load_registry(overlay, packaged=write()).schema("other").title == "Another format"


def test_an_empty_overlay_changes_nothing(write: Write, tmp_path: Path) -> None:
    packaged = write()
    assert load_registry(tmp_path / "packaged" / "schemas" / "..", packaged=packaged).templates.keys() == {HASH}
    (tmp_path / "empty").mkdir()
    empty = load_registry(tmp_path / "empty", packaged=packaged)
    assert empty.digest() == load_registry(packaged=packaged).digest()


def test_an_overlay_is_validated_whole_on_loading(write: Write, write_overlay: Write) -> None:
    overlay = write_overlay({"schemas/other.yaml": OTHER_SCHEMA.replace(r"</bot>\s*", "(</bot>")})
    with pytest.raises(RegistryError) as raised:
        load_registry(overlay, packaged=write())
    reason = "'close_pattern' is not a regular expression: missing ) at position 7"
    assert message_of(raised) == f"{overlay}/schemas/other.yaml:10: {reason}"


def test_a_hash_stands_once_in_an_overlay_too(write: Write, write_overlay: Write) -> None:
    overlay = write_overlay({"templates.yaml": "templates:\n" + OTHER_TEMPLATE * 2})
    with pytest.raises(RegistryError) as raised:
        load_registry(overlay, packaged=write())
    reason = "the template bbbbbbbbbbbb stands in line 2 already — remove one"
    assert message_of(raised) == f"{overlay}/templates.yaml:3: {reason}"


@pytest.mark.parametrize(("name", "reason"), [("missing", "No such file or directory"), ("file", "Not a directory")])
def test_an_overlay_that_is_no_directory_is_an_error(write: Write, tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegistryError) as raised:
        load_registry(tmp_path / name, packaged=write())
    assert message_of(raised) == f"{tmp_path / name}: cannot be read: {reason} — name the directory of a registry"


def test_an_interrupted_change_is_finished_on_loading(write: Write) -> None:
    root = write()
    (root / STAGING).mkdir()
    (root / STAGING / "0.new").write_text(TEMPLATES + OTHER_TEMPLATE)
    (root / STAGING / JOURNAL).write_text(json.dumps({"templates.yaml": "0.new"}))
    assert load_registry(packaged=root).templates.keys() == {HASH, OTHER_HASH}


def digest(root: Path) -> str:
    return load_registry(packaged=root).digest()


def test_the_digest_is_of_the_content_alone(write: Write) -> None:
    plain = digest(write())
    assert len(plain) == 64
    assert digest(write({"schemas/tag.yaml": "# a remark\n" + SCHEMA.replace("<bot>", "'<bot>'")}, "remark")) == plain


@pytest.mark.parametrize(
    "changes",
    [
        {"schemas/tag.yaml": SCHEMA.replace("<bot>", "<bot >")},
        {"templates.yaml": TEMPLATES.replace("variant: plain", "variant: other")},
        {"templates.yaml": TEMPLATES + OTHER_TEMPLATE},
        {"call_markers.yaml": MARKERS},
    ],
)
def test_the_digest_changes_with_the_content(write: Write, changes: dict[str, str | None]) -> None:
    assert digest(write(changes, "changed")) != digest(write())


def test_the_digest_does_not_depend_on_the_layer(write: Write, write_overlay: Write) -> None:
    overlay = write_overlay({"templates.yaml": "templates:\n" + OTHER_TEMPLATE})
    layered = load_registry(overlay, packaged=write())
    assert layered.digest() == digest(write({"templates.yaml": TEMPLATES + OTHER_TEMPLATE}, "together"))


def test_the_packaged_registry_is_found_beside_the_package() -> None:
    path = packaged_registry_path()
    assert (path / "schemas").is_dir()
    assert isinstance(load_registry(), Registry)


def test_loading_imports_nothing_heavy() -> None:
    heavy = ["transformers", "huggingface_hub", "numpy", "regex", "jinja2", "rich", "typer"]
    program = (
        "import sys; from rgw.registry.loader import load_registry; load_registry().schema('qwen3'); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
