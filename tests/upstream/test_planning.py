"""What a re-sync replaces, what it leaves alone, and what it tells of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from rgw.errors import RegistryError, UpstreamError
from rgw.templates.similarity import line_fingerprint
from rgw.upstream import Change, Plan, Upstream, UpstreamRef, apply_plan, plan_resync
from rgw.upstream.reading import read_module
from upstream.upstream_samples import FIRST_GENERATION, SECOND_GENERATION, TEXTS, THIRD_GENERATION, texts

FIRST = Upstream(UpstreamRef("0.29.1", version="0.29.1"), read_module(FIRST_GENERATION, {}))
SECOND = Upstream(
    UpstreamRef("1.6.0", version="1.6.0", archive="trl-1.6.0-py3-none-any.whl", archive_sha256="5" * 64),
    read_module(SECOND_GENERATION, texts("alpha", "beta", "gamma", "plain")),
)
THIRD = Upstream(UpstreamRef("v1.16.0", version="1.16.0", commit="c" * 40), read_module(THIRD_GENERATION, TEXTS))
HASHES = {template.variant: template.sha256 for template in (*FIRST.templates, *THIRD.templates)}


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """An empty registry beside a NOTICE."""
    (tmp_path / "NOTICE").write_text("Attribution.\nTRL pin: none yet\nMore.\n")
    directory = tmp_path / "registry"
    directory.mkdir()
    return directory


def sync(registry: Path, upstream: Upstream) -> Plan:
    plan = plan_resync(registry, upstream)
    apply_plan(plan)
    return plan


def schema_changes(plan: Plan) -> dict[str, Change]:
    return {change.name: change.kind for change in plan.schemas}


def mapping(registry: Path) -> dict[str, str | None]:
    return {entry["variant"]: entry["schema"] for entry in read(registry, "templates.yaml")["templates"]}


def read(registry: Path, path: str) -> Any:
    return yaml.safe_load((registry / path).read_text())


def edit(registry: Path, path: str, change: Callable[[Any], object]) -> None:
    data = read(registry, path)
    change(data)
    (registry / path).write_text("# edited\n" + yaml.safe_dump(data, sort_keys=False))


def edit_template(registry: Path, sha256: str, **values: object) -> None:
    def change(data: Any) -> None:
        next(entry for entry in data["templates"] if entry["sha256"] == sha256).update(values)

    edit(registry, "templates.yaml", change)


def snapshot(registry: Path) -> dict[str, bytes]:
    return {
        path.relative_to(registry.parent).as_posix(): path.read_bytes()
        for path in registry.parent.rglob("*")
        if path.is_file()
    }


def test_the_first_sync_adds_everything(registry: Path) -> None:
    plan = sync(registry, SECOND)
    assert (plan.before, plan.after) == (None, "1.6.0")
    assert schema_changes(plan) == {"alpha": Change.ADDED, "beta": Change.ADDED}
    assert {change.variant: (change.kind, change.after) for change in plan.templates} == {
        "alpha": (Change.ADDED, "alpha"),
        "beta": (Change.ADDED, "beta"),
        "gamma": (Change.ADDED, "beta"),
        "plain": (Change.ADDED, None),
    }


def test_a_schema_file_says_where_it_is_from(registry: Path) -> None:
    sync(registry, THIRD)
    schema = read(registry, "schemas/beta.yaml")
    specs = {template.variant: template.specs for template in THIRD.templates}["beta"]
    assert schema["name"] == "beta"
    assert schema["origin"] == {
        "source": "trl",
        "names": {"response_template": "beta_template", "response_schema": "beta_schema"},
        "digests": {dialect.value: spec.digest for dialect, spec in specs.items()},
    }
    assert schema["dialects"]["response_schema"] == {"x-regex": "^b(?P<content>.*)$", "type": "object"}
    parser = schema["dialects"]["response_template"]["fields"]["tool_calls"]["content_args"]["value_parser"]
    assert parser == {"name": "text"}


def test_templates_are_registered_with_where_they_were_first_seen(registry: Path) -> None:
    sync(registry, SECOND)
    sync(registry, THIRD)
    entries = {entry["variant"]: entry for entry in read(registry, "templates.yaml")["templates"]}
    assert entries["alpha"] == {
        "sha256": HASHES["alpha"],
        "schema": "alpha",
        "variant": "alpha",
        "family": "alpha",
        "repos": [],
        "seen_in": ["trl 1.6.0"],
    }
    assert entries["delta"]["seen_in"] == ["trl 1.16.0"]


@pytest.mark.parametrize(
    ("upstream", "variant", "reason"),
    [
        (THIRD, "plain", "TRL knows this template but maps it to no response spec"),
        (FIRST, "alpha_training", "TRL's training variant of alpha; TRL maps it to no response spec"),
    ],
)
def test_a_template_without_a_spec_is_known_with_the_reason(
    upstream: Upstream, variant: str, reason: str, registry: Path
) -> None:
    sync(registry, upstream)
    entry = next(e for e in read(registry, "templates.yaml")["templates"] if e["variant"] == variant)
    assert (entry["schema"], entry["reason"]) == (None, reason)


def test_the_fingerprint_of_every_template_is_kept(registry: Path) -> None:
    sync(registry, THIRD)
    assert read(registry, "fingerprints.yaml")["fingerprints"] == {
        template.sha256: line_fingerprint(template.text) for template in THIRD.templates
    }


def test_no_template_text_is_kept(registry: Path) -> None:
    sync(registry, FIRST)
    assert not [path for path, content in snapshot(registry).items() if b"{{" in content]


def test_the_lock_pins_what_was_read(registry: Path) -> None:
    sync(registry, THIRD)
    lock = read(registry, "upstream.lock.yaml")
    assert {key: lock[key] for key in lock if key not in ("schemas", "templates")} == {
        "repository": "https://github.com/huggingface/trl",
        "ref": "v1.16.0",
        "version": "1.16.0",
        "commit": "c" * 40,
    }
    assert lock["templates"][HASHES["plain"]] is None
    assert lock["templates"][HASHES["gamma"]] == "gamma"
    assert lock["schemas"]["gamma"]["names"] == {
        "response_template": "gamma_template",
        "response_schema": "beta_schema",
    }


@pytest.mark.parametrize(
    ("upstream", "line"),
    [
        (SECOND, f"TRL pin: 1.6.0, trl-1.6.0-py3-none-any.whl, sha256 {'5' * 64}"),
        (THIRD, f"TRL pin: v1.16.0, commit {'c' * 40}"),
    ],
)
def test_the_notice_names_the_pin(upstream: Upstream, line: str, registry: Path) -> None:
    sync(registry, upstream)
    assert (registry.parent / "NOTICE").read_text() == f"Attribution.\n{line}\nMore.\n"


def test_a_registry_without_a_notice_beside_it_can_be_synced(registry: Path) -> None:
    (registry.parent / "NOTICE").unlink()
    sync(registry, THIRD)
    assert not (registry.parent / "NOTICE").exists()


@pytest.mark.parametrize("upstream", [FIRST, SECOND, THIRD])
def test_a_second_sync_with_the_same_ref_does_nothing(upstream: Upstream, registry: Path) -> None:
    sync(registry, upstream)
    before = snapshot(registry)
    plan = sync(registry, upstream)
    assert plan.empty
    assert not plan.differs
    assert (plan.schemas, plan.templates, plan.notes) == ((), (), ())
    assert snapshot(registry) == before


def test_planning_writes_nothing(registry: Path) -> None:
    sync(registry, SECOND)
    before = snapshot(registry)
    assert not plan_resync(registry, THIRD).empty
    assert snapshot(registry) == before


def test_a_newer_ref_changes_what_upstream_changed(registry: Path) -> None:
    sync(registry, SECOND)
    plan = sync(registry, THIRD)
    assert (plan.before, plan.after) == ("1.6.0", "1.16.0")
    assert schema_changes(plan) == {
        "alpha": Change.CHANGED,
        "alpha_delta": Change.ADDED,
        "beta": Change.CHANGED,
        "gamma": Change.ADDED,
    }
    assert [(change.variant, change.kind, change.before, change.after) for change in plan.templates] == [
        ("delta", Change.ADDED, None, "alpha_delta"),
        ("gamma", Change.CHANGED, "beta", "gamma"),
    ]


def test_an_older_ref_removes_what_it_does_not_have(registry: Path) -> None:
    sync(registry, THIRD)
    plan = sync(registry, SECOND)
    assert schema_changes(plan) == {
        "alpha": Change.CHANGED,
        "alpha_delta": Change.REMOVED,
        "beta": Change.CHANGED,
        "gamma": Change.REMOVED,
    }
    assert [(change.variant, change.kind, change.before, change.after) for change in plan.templates] == [
        ("delta", Change.REMOVED, "alpha_delta", None),
        ("gamma", Change.CHANGED, "gamma", "beta"),
    ]
    assert not (registry / "schemas/gamma.yaml").exists()
    assert HASHES["delta"] not in read(registry, "fingerprints.yaml")["fingerprints"]


def test_the_way_to_a_ref_does_not_matter(registry: Path, tmp_path: Path) -> None:
    for upstream in (FIRST, SECOND, THIRD, FIRST, THIRD):
        sync(registry, upstream)
    direct = tmp_path / "direct"
    direct.mkdir()
    sync(direct, THIRD)
    assert mapping(registry) == mapping(direct)
    assert {path.name for path in registry.glob("schemas/*")} == {path.name for path in direct.glob("schemas/*")}
    for path in ("schemas/alpha.yaml", "schemas/beta.yaml", "fingerprints.yaml", "upstream.lock.yaml"):
        assert (registry / path).read_bytes() == (direct / path).read_bytes()


def test_a_schema_change_shows_as_a_readable_diff(registry: Path) -> None:
    sync(registry, SECOND)
    diff = next(change.diff for change in plan_resync(registry, THIRD).schemas if change.name == "alpha")
    assert diff.splitlines()[:2] == ["--- alpha (registry)", "+++ alpha (TRL)"]
    assert {"+  response_template: alpha_template", "+    start_anchor: <a>"} <= set(diff.splitlines())
    assert not [line for line in diff.splitlines()[2:] if line.startswith("-")]


def test_what_a_resync_does_not_own_in_a_schema_is_kept(registry: Path) -> None:
    sync(registry, SECOND)
    own = {"title": "Alpha", "turn": {"end": ["</a>"]}, "samples": [{"title": "s", "output": "o", "expected": {}}]}
    edit(registry, "schemas/alpha.yaml", lambda schema: schema.update(own))
    assert plan_resync(registry, SECOND).empty
    sync(registry, THIRD)
    schema = read(registry, "schemas/alpha.yaml")
    assert {key: schema[key] for key in own} == own
    assert set(schema["dialects"]) == {"response_template", "response_schema"}
    assert (registry / "schemas/alpha.yaml").read_text().startswith("# edited\n")


def test_comments_and_layout_are_kept_around_what_changes(registry: Path) -> None:
    sync(registry, SECOND)
    path = registry / "schemas/alpha.yaml"
    taken = path.read_text().partition("origin:")[2]
    path.write_text(
        "# About alpha.\nname: alpha\ntitle: Alpha  # the first\n\norigin:"
        + taken
        + "\n# How a turn ends.\nturn: {end: [</a>]}\n"
    )
    sync(registry, THIRD)
    text = path.read_text()
    assert text.startswith("# About alpha.\nname: alpha\ntitle: Alpha  # the first\n\norigin:\n")
    assert text.endswith("\n# How a turn ends.\nturn: {end: [</a>]}\n")
    assert set(yaml.safe_load(text)["dialects"]) == {"response_template", "response_schema"}


def test_what_is_known_of_a_template_is_kept(registry: Path) -> None:
    sync(registry, SECOND)
    edit_template(registry, HASHES["gamma"], repos=["org/gamma"], family="greek", variant="third")
    assert plan_resync(registry, SECOND).empty
    sync(registry, THIRD)
    entry = next(e for e in read(registry, "templates.yaml")["templates"] if e["sha256"] == HASHES["gamma"])
    assert (entry["schema"], entry["family"], entry["variant"], entry["repos"]) == (
        "gamma",
        "greek",
        "third",
        ["org/gamma"],
    )


def test_files_of_the_registry_that_are_not_trls_are_kept(registry: Path) -> None:
    (registry / "call_markers.yaml").write_text("call_markers: []\n")
    sync(registry, SECOND)
    sync(registry, THIRD)
    assert (registry / "call_markers.yaml").read_text() == "call_markers: []\n"


def add_own_schema(registry: Path, name: str, *hashes: str) -> None:
    own = {"name": name, "title": name, "origin": {"source": "rgw"}, "dialects": {"response_template": {"fields": {}}}}
    (registry / f"schemas/{name}.yaml").write_text(yaml.safe_dump(own))
    entries = [{"sha256": sha256, "schema": name, "variant": name, "family": name} for sha256 in hashes]
    edit(registry, "templates.yaml", lambda data: data["templates"].extend(entries))


def test_a_schema_of_the_registrys_own_stays_with_its_templates(registry: Path) -> None:
    sync(registry, SECOND)
    add_own_schema(registry, "omega", "f" * 64)
    assert plan_resync(registry, SECOND).empty
    sync(registry, THIRD)
    sync(registry, FIRST)
    assert mapping(registry)["omega"] == "omega"
    assert (registry / "schemas/omega.yaml").exists()


def test_a_template_that_the_registry_reads_by_more_than_trl_knows_stays(registry: Path) -> None:
    sync(registry, SECOND)
    edit_template(registry, HASHES["plain"], schema="alpha")
    edit(registry, "templates.yaml", lambda data: [entry.pop("reason", None) for entry in data["templates"]])
    assert plan_resync(registry, SECOND).empty
    sync(registry, THIRD)
    assert mapping(registry)["plain"] == "alpha"


def test_a_template_that_the_registry_reads_by_a_schema_of_its_own_stays_with_a_note(registry: Path) -> None:
    sync(registry, SECOND)
    add_own_schema(registry, "omega", "f" * 64)
    edit_template(registry, HASHES["gamma"], schema="omega")
    plan = sync(registry, THIRD)
    assert mapping(registry)["gamma"] == "omega"
    assert not (registry / "schemas/gamma.yaml").exists(), "no template would use it"
    assert [note.message for note in plan.notes] == [
        f"template {HASHES['gamma'][:12]}: TRL now maps it to gamma; the registry keeps its own omega"
    ]


def test_a_new_upstream_schema_never_takes_the_file_of_the_registrys_own(registry: Path) -> None:
    sync(registry, SECOND)
    add_own_schema(registry, "gamma", "f" * 64)
    before = snapshot(registry)
    with pytest.raises(RegistryError, match=r"schemas/gamma\.yaml was written for this registry"):
        plan_resync(registry, THIRD)
    assert snapshot(registry) == before


def test_a_schema_that_was_renamed_keeps_its_name(registry: Path) -> None:
    sync(registry, SECOND)
    schema = read(registry, "schemas/beta.yaml") | {"name": "second"}
    (registry / "schemas/second.yaml").write_text(yaml.safe_dump(schema, sort_keys=False))
    (registry / "schemas/beta.yaml").unlink()
    for variant in ("beta", "gamma"):
        edit_template(registry, HASHES[variant], schema="second")
    assert plan_resync(registry, SECOND).schemas == ()
    sync(registry, THIRD)
    assert mapping(registry)["beta"] == "second"
    assert not (registry / "schemas/beta.yaml").exists()


@pytest.mark.parametrize(
    "tamper",
    [
        pytest.param(
            lambda registry: edit(
                registry, "schemas/alpha.yaml", lambda s: s["dialects"]["response_schema"].update({"x-regex": "."})
            ),
            id="a spec",
        ),
        pytest.param(
            lambda registry: edit(registry, "schemas/alpha.yaml", lambda s: s["origin"]["digests"].clear()),
            id="a digest",
        ),
        pytest.param(lambda registry: (registry / "schemas/alpha.yaml").unlink(), id="a schema that is gone"),
        pytest.param(lambda registry: edit_template(registry, HASHES["alpha"], schema="beta"), id="a mapping"),
        pytest.param(
            lambda registry: edit(registry, "templates.yaml", lambda data: data["templates"].pop()),
            id="a template that is gone",
        ),
        pytest.param(
            lambda registry: edit(registry, "fingerprints.yaml", lambda d: d["fingerprints"].clear()),
            id="the fingerprints",
        ),
        pytest.param(
            lambda registry: edit(registry, "upstream.lock.yaml", lambda d: d["schemas"].clear()), id="the lock"
        ),
    ],
)
def test_what_was_changed_without_saying_so_differs_and_is_put_back(
    tamper: Callable[[Path], object], registry: Path
) -> None:
    sync(registry, SECOND)
    before = {path: yaml.safe_load(content) for path, content in snapshot(registry).items() if path != "NOTICE"}
    tamper(registry)
    plan = sync(registry, SECOND)
    assert plan.differs
    assert before == {path: yaml.safe_load(content) for path, content in snapshot(registry).items() if path != "NOTICE"}


def patch(registry: Path, name: str) -> None:
    def change(schema: Any) -> None:
        schema["dialects"]["response_schema"]["x-regex"] = "^patched$"
        schema["patched"] = "takes no empty answer"

    edit(registry, f"schemas/{name}.yaml", change)


def test_a_patched_schema_is_not_touched_while_upstream_stays(registry: Path) -> None:
    sync(registry, SECOND)
    patch(registry, "alpha")
    plan = plan_resync(registry, SECOND)
    assert plan.empty
    assert plan.notes == ()


def test_a_patched_schema_is_kept_and_reported_when_upstream_moves(registry: Path) -> None:
    sync(registry, SECOND)
    patch(registry, "alpha")
    before = (registry / "schemas/alpha.yaml").read_bytes()
    plan = sync(registry, THIRD)
    assert (registry / "schemas/alpha.yaml").read_bytes() == before
    assert "alpha" not in schema_changes(plan)
    (note,) = plan.notes
    assert note.message.startswith("schema alpha: TRL changed it; kept, as it is patched (takes no empty answer).")
    assert "-  x-regex: ^patched$" in note.diff.splitlines()
    assert "+  start_anchor: <a>" in note.diff.splitlines()
    again = plan_resync(registry, THIRD)
    assert again.empty
    assert again.notes == plan.notes


def test_a_patched_schema_that_was_reviewed_is_reported_no_more(registry: Path) -> None:
    sync(registry, SECOND)
    patch(registry, "alpha")
    sync(registry, THIRD)
    lock = read(registry, "upstream.lock.yaml")
    edit(registry, "schemas/alpha.yaml", lambda schema: schema["origin"].update(lock["schemas"]["alpha"]))
    assert plan_resync(registry, THIRD).notes == ()


def test_a_patched_schema_that_upstream_drops_is_kept_with_its_templates(registry: Path) -> None:
    sync(registry, SECOND)
    patch(registry, "beta")
    plan = sync(registry, FIRST)
    assert mapping(registry)["gamma"] == "beta"
    assert [note.message for note in plan.notes] == [
        "schema beta: TRL no longer has it; kept, as it is patched or templates of the registry use it"
    ]


def test_a_schema_that_upstream_drops_is_kept_for_a_template_of_the_registrys_own(registry: Path) -> None:
    sync(registry, SECOND)
    entry = {"sha256": "f" * 64, "schema": "beta", "variant": "omega", "family": "omega"}
    edit(registry, "templates.yaml", lambda data: data["templates"].append(entry))
    plan = sync(registry, FIRST)
    assert mapping(registry) == {"alpha": "alpha", "omega": "beta", "alpha_training": None}
    assert (registry / "schemas/beta.yaml").exists()
    assert len(plan.notes) == 1


def test_where_only_the_pin_would_move_the_registry_does_not_differ(registry: Path) -> None:
    sync(registry, SECOND)
    plan = plan_resync(registry, replace(SECOND, ref=UpstreamRef("v1.6.0", version="1.6.0", commit="d" * 40)))
    assert not plan.empty
    assert not plan.differs
    assert set(plan.contents) == {"upstream.lock.yaml", "../NOTICE"}


def test_a_pin_that_knows_the_commit_is_not_given_up_for_one_that_does_not(registry: Path) -> None:
    sync(registry, THIRD)
    wheel = UpstreamRef("1.16.0", version="1.16.0", archive="trl-1.16.0-py3-none-any.whl", archive_sha256="1" * 64)
    assert plan_resync(registry, replace(THIRD, ref=wheel)).empty


def test_a_sync_that_would_leave_an_invalid_registry_writes_nothing(registry: Path) -> None:
    sync(registry, SECOND)
    before = snapshot(registry)
    source = THIRD_GENERATION.replace('"close": "</a>"', '"closed_by": "</a>"')
    with pytest.raises(RegistryError, match="the re-synced registry would not be valid: .*unknown key 'closed_by'"):
        sync(registry, replace(THIRD, templates=read_module(source, TEXTS)))
    assert snapshot(registry) == before


def test_an_interrupted_sync_is_finished_before_the_next_is_planned(registry: Path) -> None:
    sync(registry, SECOND)
    staging = registry / ".resync"
    staging.mkdir()
    (staging / "0.new").write_text("call_markers: []\n")
    (staging / "journal.json").write_text('{"call_markers.yaml": "0.new"}')
    assert plan_resync(registry, SECOND).empty
    assert (registry / "call_markers.yaml").read_text() == "call_markers: []\n"
    assert not staging.exists()


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("templates.yaml", "templates: [", "templates.yaml:2: not valid YAML"),
        ("templates.yaml", "- a\n", "templates.yaml: not a mapping"),
        ("templates.yaml", "templates: [{schema: a}]", "templates.yaml: 'sha256' is missing"),
        ("templates.yaml", "templates: [a]", "templates.yaml: 'sha256' is missing"),
        ("schemas/alpha.yaml", "name: alpha", "alpha.yaml: 'origin' is missing"),
        ("schemas/alpha.yaml", "{origin: {source: trl}, dialects: {}}", "alpha.yaml: 'names' is missing"),
        ("schemas/alpha.yaml", "{origin: trl, dialects: {}}", "alpha.yaml: 'source' is missing"),
        ("schemas/alpha.yaml", "\ttab", "alpha.yaml:1: not valid YAML"),
    ],
)
def test_a_registry_file_that_cannot_be_merged_with_is_named(
    path: str, content: str, message: str, registry: Path
) -> None:
    sync(registry, SECOND)
    (registry / path).write_text(content)
    with pytest.raises(RegistryError) as caught:
        plan_resync(registry, SECOND)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_upstream_schemas_that_would_share_a_name_are_refused(registry: Path) -> None:
    source = THIRD_GENERATION.replace("gamma_template", "alpha_delta_template")
    with pytest.raises(UpstreamError, match="two different schemas that would both be called alpha_delta"):
        plan_resync(registry, replace(THIRD, templates=read_module(source, TEXTS)))
