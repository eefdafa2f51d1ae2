"""Real TRL releases: what each has, and the way from one to the next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rgw.registry.loader import load_registry, packaged_registry_path
from rgw.upstream import Change, Upstream, UpstreamSource, apply_plan, plan_resync, read_upstream

Wheel = Callable[[str], Path]

QWEN3_5 = ("qwen3_5_nothink", "qwen3_5_think", "qwen3_6")
NEMOTRON_3 = ("nemotron_3_nano", "nemotron_3_super", "nemotron_3_ultra")
IN_1_6 = {
    "glm4moe": "glm4_moe",
    "gptoss": "gpt_oss",
    "llama3_1": "llama3",
    "llama3_2": "llama3",
    "qwen2_5": "qwen3",
    "qwen3": "qwen3",
    "qwen3_instruct_2507": "qwen3",
    "qwen3_vl": "qwen3",
    **dict.fromkeys((*QWEN3_5, *NEMOTRON_3), "qwen3_5"),
}
IN_1_16 = {
    **IN_1_6,
    **dict.fromkeys((*NEMOTRON_3, "nemotron_3_5_lightning"), "nemotron_3"),
    "qwen3_8": "qwen3_5",
    **dict.fromkeys(("gemma4", "gemma4_v2", "gemma4_v3", "gemma4_v4", "gemma4_v5"), "gemma4"),
    **dict.fromkeys(("lfm2_v2", "lfm2_2_5", "lfm2_2_5_v2", "lfm2_2_5_vl"), "lfm2_5"),
    "deepseek_r1_distill": "deepseek_r1_distill",
}
BOTH = frozenset({"response_template", "response_schema"})
DIALECTS_IN_1_16 = {
    **dict.fromkeys(("glm4_moe", "gpt_oss", "llama3", "qwen3", "qwen3_5", "nemotron_3"), BOTH),
    **dict.fromkeys(("gemma4", "lfm2_5", "deepseek_r1_distill"), frozenset({"response_template"})),
}


@pytest.fixture
def release(trl_wheel: Wheel) -> Callable[[str], Upstream]:
    return lambda version: read_upstream(UpstreamSource(version, location=str(trl_wheel(version))))


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    directory = tmp_path / "registry"
    directory.mkdir()
    return directory


def mapped(registry: Path) -> dict[str, str]:
    templates = load_registry(packaged=registry).templates.values()
    return {template.variant: template.schema for template in templates if template.schema}


@pytest.mark.parametrize(
    ("version", "mapping"), [("0.29.1", {"qwen3": "qwen3"}), ("1.6.0", IN_1_6), ("1.16.0", IN_1_16)]
)
def test_a_release_gives_its_templates_and_schemas(
    version: str, mapping: dict[str, str], release: Callable[[str], Upstream], registry: Path
) -> None:
    apply_plan(plan_resync(registry, release(version)))
    assert mapped(registry) == mapping
    assert plan_resync(registry, release(version)).empty


def test_1_16_maps_26_templates_in_the_dialects_that_it_has(release: Callable[[str], Upstream], registry: Path) -> None:
    apply_plan(plan_resync(registry, release("1.16.0")))
    assert len(mapped(registry)) == 26
    schemas = load_registry(packaged=registry).schemas
    assert {name: {dialect.value for dialect in schema.dialects} for name, schema in schemas.items()} == (
        DIALECTS_IN_1_16
    )


def test_the_specs_are_those_that_upstream_would_set(release: Callable[[str], Upstream], trl_wheel: Wheel) -> None:
    """Read by hand from the 1.16.0 source: one fact of each kind of spec."""
    bodies = {spec.name: spec.body for template in release("1.16.0").templates for spec in template.specs.values()}
    assert bodies["qwen3_template"]["fields"]["tool_calls"]["transform"] == {
        "type": "function",
        "function": "{content}",
    }
    assert list(bodies["gptoss_template"]["fields"]) == ["thinking", "content", "tool_calls"]
    tag = bodies["lfm2_2_5_template"]["fields"]["tool_calls"]["content_args"]["tag_pattern"]
    assert tag.startswith(r"(?P<key>\w+)=(?P<value>'[^']*'|[\[{](?:[^\[\]{}'")
    assert tag.endswith(r"*[\]}]|[^,)]*)")
    assert tag.count(r"[\[{]") == 4
    parsers = [
        bodies[name]["fields"]["tool_calls"]["content_args"]["value_parser"]
        for name in ("qwen3_5_template", "glm4moe_template", "nemotron_3_template")
    ]
    assert parsers == [{"name": "text"}] * 3


def test_from_0_29_1_to_1_6_0(release: Callable[[str], Upstream], registry: Path) -> None:
    apply_plan(plan_resync(registry, release("0.29.1")))
    plan = plan_resync(registry, release("1.6.0"))
    assert {change.name: change.kind for change in plan.schemas} == {
        "qwen3": Change.CHANGED,
        **dict.fromkeys(("glm4_moe", "gpt_oss", "llama3", "qwen3_5"), Change.ADDED),
    }
    assert {change.variant: change.after for change in plan.templates if change.after} == {
        variant: schema for variant, schema in IN_1_6.items() if variant != "qwen3"
    }
    removed = [change for change in plan.templates if change.kind is Change.REMOVED]
    assert [(change.variant, change.sha256[:12]) for change in removed] == [("qwen3_training", "ec1e36647b12")]
    diff = next(change.diff for change in plan.schemas if change.name == "qwen3").splitlines()
    assert [line[:13] for line in diff if line.startswith(("-", "+"))][2:] == ["-    x-regex:", "+    x-regex:"]


def test_from_1_6_0_to_1_16_0(release: Callable[[str], Upstream], registry: Path) -> None:
    apply_plan(plan_resync(registry, release("1.6.0")))
    plan = plan_resync(registry, release("1.16.0"))
    assert {change.name: change.kind for change in plan.schemas} == {
        **dict.fromkeys(("glm4_moe", "gpt_oss", "llama3", "qwen3", "qwen3_5"), Change.CHANGED),
        **dict.fromkeys(("deepseek_r1_distill", "gemma4", "lfm2_5", "nemotron_3"), Change.ADDED),
    }
    moved = {change.variant: (change.before, change.after) for change in plan.templates if change.before}
    assert moved == dict.fromkeys(NEMOTRON_3, ("qwen3_5", "nemotron_3"))
    added = {change.variant: change.after for change in plan.templates if change.after and not change.before}
    assert added == {variant: schema for variant, schema in IN_1_16.items() if variant not in IN_1_6}


def test_the_way_to_1_16_0_does_not_matter(release: Callable[[str], Upstream], registry: Path, tmp_path: Path) -> None:
    for version in ("0.29.1", "1.6.0", "1.16.0"):
        apply_plan(plan_resync(registry, release(version)))
    direct = tmp_path / "direct"
    direct.mkdir()
    apply_plan(plan_resync(direct, release("1.16.0")))
    for path in (*direct.glob("schemas/*.yaml"), direct / "fingerprints.yaml", direct / "upstream.lock.yaml"):
        assert (registry / path.relative_to(direct)).read_bytes() == path.read_bytes()
    assert mapped(registry) == mapped(direct)


def test_the_packaged_registry_is_that_of_its_pin(release: Callable[[str], Upstream]) -> None:
    plan = plan_resync(packaged_registry_path(), release("1.16.0"))
    assert plan.before == "1.16.0"
    assert not plan.differs
