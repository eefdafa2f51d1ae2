"""The fixtures let a project assert in one line, say why when it fails, and cost nothing when they are not used."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

EXAMPLES = Path(__file__).parents[1] / "examples"
HEAVY = ("transformers", "huggingface_hub", "numpy", "jinja2", "rich", "typer", "yaml", "hypothesis")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with the example models and a registry of its own."""
    for name in ("model", "edited-model", "registry"):
        shutil.copytree(EXAMPLES / name, pytester.path / name)
    pytester.makeini("[pytest]\nrgw_registry = registry")
    return pytester


def test_it_is_installed_as_a_plugin() -> None:
    [found] = entry_points(group="pytest11", name="rgw")
    assert found.value == "rgw.pytest_plugin"


def test_loading_it_imports_nothing_heavy() -> None:
    script = f"import sys, rgw.pytest_plugin; print([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_registry_that_is_broken_disturbs_no_test_that_does_not_use_it(project: pytest.Pytester) -> None:
    (project.path / "registry" / "templates.yaml").write_text("?", "utf-8")
    project.makepyfile("def test_nothing(): pass")
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_recognised_model_passes(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_any(rgw_detects):
            assert rgw_detects("model").schema.name == "kiosk"

        def test_this(rgw_detects):
            rgw_detects("model", schema="kiosk")
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=2)


def test_whatever_is_not_recognised_fails_in_one_line(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_another(rgw_detects):
            rgw_detects("model", schema="qwen3")

        def test_unrecognised(rgw_detects):
            rgw_detects("edited-model")

        def test_missing(rgw_detects):
            rgw_detects("./missing")
        """
    )
    result = project.runpytest_subprocess()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "model: its chat template is read with schema kiosk, not qwen3",
            "edited-model: unrecognised: chat template 4a7575614a55 is not registered;*",
            "./missing: error: ./missing: no such file or directory*",
        ]
    )
    result.stdout.no_fnmatch_line("*def detects*")


def test_what_cannot_be_tried_at_all_fails_in_a_few_lines(project: pytest.Pytester) -> None:
    project.makepyfile("def test_proof(rgw_proves): rgw_proves('model', schema='nope')")
    result = project.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["model: *nope*"])
    result.stdout.no_fnmatch_line("*loader.py*")


def test_a_registry_that_is_not_there_fails_in_a_few_lines(project: pytest.Pytester) -> None:
    project.makepyfile("def test_model(rgw_detects): rgw_detects('model')")
    result = project.runpytest_subprocess("-o", "rgw_registry=nowhere")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*nowhere*"])
    result.stdout.no_fnmatch_line("*loader.py*")


def test_a_hub_that_is_not_there_is_a_failure(project: pytest.Pytester) -> None:
    project.makepyfile("def test_hub(rgw_detects): rgw_detects('owner/model')")
    project.runpytest_subprocess().assert_outcomes(failed=1)


def test_the_registry_can_be_named_by_the_environment(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RGW_REGISTRY", str(EXAMPLES / "registry"))
    pytester.makepyfile(f"def test_model(rgw_detects): rgw_detects({str(EXAMPLES / 'model')!r}, 'kiosk')")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_pair_that_is_proved_passes(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_proof(rgw_proves):
            certificate = rgw_proves("model", conversations=20)
            assert certificate.proved and certificate.conversations == 20
            assert rgw_proves("model", "kiosk", conversations=20).digest == certificate.digest
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_pair_that_is_not_proved_fails_with_the_turn(project: pytest.Pytester) -> None:
    project.makepyfile("def test_proof(rgw_proves): rgw_proves('model', schema='llama3', conversations=20)")
    result = project.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["model: schema llama3 is not proved to read what its chat template writes", "  the turn: *"]
    )


def test_what_cannot_be_tried_fails(project: pytest.Pytester) -> None:
    project.makepyfile("def test_proof(rgw_proves): rgw_proves('edited-model', conversations=20)")
    result = project.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["edited-model: unrecognised: *"])


def test_what_a_template_says_cannot_reach_the_terminal_raw(project: pytest.Pytester) -> None:
    hostile = project.path / "hostile.json"
    hostile.write_text(json.dumps({"chat_template": {"\x1b[2J": "x"}}), "utf-8")
    project.makepyfile("def test_hostile(rgw_detects): rgw_detects('hostile.json')")
    result = project.runpytest_subprocess("--color=no")
    result.assert_outcomes(failed=1)
    assert "\x1b" not in result.stdout.str()
