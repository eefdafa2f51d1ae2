"""rgw.lock holds what is needed to tell what changed, reads back as it was written, and says where it is not valid."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from drift.conftest import Project
from drift.formats import COMPATIBLE, TEMPLATE, sha256
from loopback_hub import LoopbackHub
from rgw.drift.lockfile import Lock, lock_models, lock_to_dict, read_lock, schema_digest, write_lock
from rgw.errors import RegistryError, RgwError, SourceError, UsageError
from rgw.registry.model import UntypedValues
from rgw.templates.model import ResolvedTemplates, UnresolvedTemplates

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "lock.schema.json"
EXTRA = "additional_chat_templates/rag.jinja"


@pytest.fixture
def locked(hub: LoopbackHub, project: Project) -> Project:
    hub.commit("owner/model", {"chat_template.jinja": TEMPLATE, EXTRA: COMPATIBLE})
    project.lock("owner/model")
    return project


def test_every_named_template_is_written_down(hub: LoopbackHub, locked: Project) -> None:
    data = yaml.safe_load(locked.lockfile.read_text("utf-8"))
    repository = hub.repository("owner/model")
    assert repository is not None
    assert data["models"] == [
        {
            "ref": "owner/model",
            "commit": repository.branches["main"],
            "templates": [
                {
                    "name": "default",
                    "source": "chat_template.jinja",
                    "sha256": sha256(TEMPLATE),
                    "effective": True,
                    "schema": "bracketed",
                },
                {"name": "rag", "source": EXTRA, "sha256": sha256(COMPATIBLE), "effective": False, "schema": None},
            ],
        }
    ]
    assert data["registry"] == locked.registry.digest()
    assert list(data["schemas"]) == ["bracketed"]
    assert len(data["schemas"]["bracketed"]["results"]) == 1


def test_the_file_matches_its_published_schema(locked: Project) -> None:
    data = yaml.safe_load(locked.lockfile.read_text("utf-8"))
    assert list(Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).iter_errors(data)) == []


def test_what_is_written_reads_back_and_gives_the_same_bytes(locked: Project, tmp_path: Path) -> None:
    again = tmp_path / "again.lock"
    lock = read_lock(locked.lockfile)
    write_lock(again, lock)
    assert again.read_bytes() == locked.lockfile.read_bytes()
    assert lock_to_dict(read_lock(again)) == lock_to_dict(lock)
    assert sorted(path.name for path in tmp_path.glob("*.lock*")) == ["again.lock", "rgw.lock"]


def test_models_are_sorted_and_others_are_kept(hub: LoopbackHub, locked: Project) -> None:
    kept = read_lock(locked.lockfile).models
    found = [(None, ResolvedTemplates("a/new", "b" * 40, read_lock_templates(hub)))]
    lock = lock_models(found, locked.registry, kept=kept)
    assert [model.ref for model in lock.models] == ["a/new", "owner/model"]


def read_lock_templates(hub: LoopbackHub) -> tuple:  # type: ignore[type-arg]
    from rgw.templates.resolve import resolve

    return resolve("owner/model").templates


def test_a_model_that_cannot_be_read_is_not_locked(project: Project) -> None:
    with pytest.raises(SourceError, match="not locked: gone"):
        lock_models([(None, UnresolvedTemplates("owner/model", "gone", "find it"))], project.registry)
    with pytest.raises(SourceError, match="not locked: owner/model has no chat template"):
        lock_models([(None, ResolvedTemplates("owner/model"))], project.registry)


def test_a_lockfile_that_cannot_be_written_leaves_nothing(project: Project, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="could not be written"):
        write_lock(tmp_path / "missing" / "rgw.lock", Lock("a" * 64, "5", (), {}))


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("version: 1", "version: 2", UsageError, r"rgw\.lock:3: version 2 is not known"),
        ("ref: owner/model", "ref: ''", RegistryError, r"rgw\.lock:7: 'ref' must not be blank"),
        ("effective: true", "effective: maybe", RegistryError, r"rgw\.lock:13: 'effective' must be true or false"),
        (sha256(TEMPLATE), "abc", RegistryError, r"rgw\.lock:12: 'sha256' must be 64"),
        ("schema: bracketed", "schema: other", RegistryError, r"rgw\.lock:14: 'other' is not under 'schemas'"),
        ("models:", "model:", RegistryError, r"rgw\.lock:6: unknown key 'model' — did you mean 'models'\?"),
    ],
)
def test_what_is_not_valid_is_named_with_its_line(
    old: str, new: str, error: type[RgwError], message: str, locked: Project
) -> None:
    text = locked.lockfile.read_text("utf-8")
    assert old in text
    locked.lockfile.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(error, match=message):
        read_lock(locked.lockfile)


def test_a_model_that_is_locked_twice_is_refused(locked: Project) -> None:
    text = locked.lockfile.read_text("utf-8")
    entry = "- ref: owner/model\n  templates: []\n"
    locked.lockfile.write_text(text.replace("models:\n", f"models:\n{entry}"), "utf-8")
    with pytest.raises(RegistryError, match="owner/model is locked in line 7 already"):
        read_lock(locked.lockfile)


def test_there_is_no_lockfile(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no such file — write it with `rgw lock"):
        read_lock(tmp_path / "rgw.lock")


def test_the_digest_of_a_schema_is_of_what_reading_depends_on(locked: Project) -> None:
    schema = locked.registry.schema("bracketed")
    for_people = replace(schema, title="Otherwise", samples=(), patched="why")
    assert schema_digest(for_people) == schema_digest(schema)
    for change in (
        {"turn": replace(schema.turn, prefill="<think>")},
        {"untyped_values": UntypedValues.TEXT},
        {"dialects": {}},
    ):
        assert schema_digest(replace(schema, **change)) != schema_digest(schema)  # type: ignore[arg-type]
