"""The action, the hooks and the workflows are what their readers expect, and what they run exists and does its work."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
EXAMPLES = REPOSITORY / "examples"
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
ACTION = REPOSITORY / "action.yml"
HOOKS = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))
PAGE = REPOSITORY / "docs" / "ci.md"
EXPRESSION = re.compile(r"\$\{\{")


def run(*command: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)


def validated(schema: str, *files: Path) -> None:
    result = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files)
    assert result.returncode == 0, result.stdout + result.stderr


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def shown_workflows() -> list[str]:
    """The workflows that the page on CI shows."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "jobs:" in block]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_valid(workflow: Path) -> None:
    validated("vendor.github-workflows", workflow)
    validated("custom.github-workflows-require-timeout", workflow)


def test_the_workflows_that_the_page_shows_are_valid(tmp_path: Path) -> None:
    shown = shown_workflows()
    assert shown
    for number, text in enumerate(shown):
        path = tmp_path / f"{number}.yml"
        path.write_text(text, "utf-8")
        validated("vendor.github-workflows", path)


def test_the_action_is_valid() -> None:
    validated("vendor.github-actions", ACTION)


def test_a_file_that_is_not_valid_would_be_noticed(tmp_path: Path) -> None:
    broken = tmp_path / "action.yml"
    broken.write_text(ACTION.read_text("utf-8").replace("using: composite", "using: nothing"), "utf-8")
    with pytest.raises(AssertionError):
        validated("vendor.github-actions", broken)


@pytest.mark.parametrize("path", [ACTION, *WORKFLOWS], ids=lambda path: path.name)
def test_nothing_that_a_stranger_writes_becomes_a_part_of_a_script(path: Path) -> None:
    """Expressions are put into scripts before a shell reads them; as variables they stay what they are."""
    for script in scripts(load(path)):
        assert not EXPRESSION.search(script), script


def scripts(document: Mapping[str, Any]) -> list[str]:
    jobs = [document["runs"]] if "runs" in document else document["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_do_no_more_than_they_say(path: Path) -> None:
    assert load(path)["permissions"]["contents"] == "read"


def test_the_targets_that_ci_makes_exist() -> None:
    targets = re.findall(r"make ([\w-]+)", "\n".join(scripts(load(REPOSITORY / ".github" / "workflows" / "ci.yml"))))
    assert targets
    known = set(re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(targets) <= known


def test_the_options_that_the_workflows_use_exist() -> None:
    for path in WORKFLOWS:
        for script in scripts(load(path)):
            if "rgw check" in script:
                assert_options_exist(shlex.split(script.partition("rgw check")[2]), "check")


def assert_options_exist(arguments: list[str], *command: str) -> None:
    told = run(PROGRAMS / "rgw", *command, "--help").stdout
    for option in (argument for argument in arguments if argument.startswith("--")):
        assert re.search(rf"{option}\b", told), option


@pytest.fixture
def runner(tmp_path: Path) -> dict[str, str]:
    """What a runner sets for a step, in a project that has locked the example model."""
    installed = tmp_path / "temp" / "rgw" / "bin"
    installed.mkdir(parents=True)
    (installed / "rgw").symlink_to(PROGRAMS / "rgw")
    (tmp_path / "model").mkdir()
    for name in ("chat_template.jinja", "tokenizer_config.json"):
        (tmp_path / "model" / name).write_bytes((EXAMPLES / "model" / name).read_bytes())
    locked = run(PROGRAMS / "rgw", "lock", "model", "--registry", EXAMPLES / "registry", cwd=tmp_path)
    assert locked.returncode == 0, locked.stderr
    inputs = {"LOCK": "rgw.lock", "BASELINE": "", "FAIL_ON": "cosmetic", "SARIF": "", "TOKEN": ""}
    return {
        **os.environ,
        **inputs,
        "REGISTRY": str(EXAMPLES / "registry"),
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }


def check_step(directory: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the step of the action as a runner does."""
    [step] = [step for step in load(ACTION)["runs"]["steps"] if step.get("id") == "check"]
    assert set(step["env"]) <= set(environment)
    return run("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"], cwd=directory, env=environment)


def test_the_action_is_clean_while_nothing_has_changed(tmp_path: Path, runner: dict[str, str]) -> None:
    result = check_step(tmp_path, runner)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "output").read_text("utf-8") == "exit-code=0\n"
    assert (tmp_path / "summary").read_text("utf-8")


def test_the_action_fails_with_the_findings_where_they_are_looked_for(tmp_path: Path, runner: dict[str, str]) -> None:
    template = tmp_path / "model" / "chat_template.jinja"
    template.write_text(template.read_text("utf-8") + "{# new #}", "utf-8")
    sarif = tmp_path / "a report.sarif"
    result = check_step(tmp_path, {**runner, "SARIF": str(sarif)})
    assert result.returncode == 1, result.stdout + result.stderr
    assert (tmp_path / "output").read_text("utf-8") == "exit-code=1\n"
    assert "::" in result.stdout
    assert "model" in (tmp_path / "summary").read_text("utf-8")
    assert '"template-changed"' in sarif.read_text("utf-8")


def test_the_action_says_when_nothing_could_be_checked(tmp_path: Path, runner: dict[str, str]) -> None:
    result = check_step(tmp_path, {**runner, "LOCK": "missing; echo owned.lock"})
    assert result.returncode == 3
    assert "owned" not in result.stdout
    assert (tmp_path / "output").read_text("utf-8") == "exit-code=3\n"


def test_the_hooks_are_valid(tmp_path: Path) -> None:
    environment = os.environ | {"PRE_COMMIT_HOME": str(tmp_path)}
    result = run(
        sys.executable, "-m", "pre_commit", "validate-manifest", REPOSITORY / ".pre-commit-hooks.yaml", env=environment
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_what_a_hook_runs_exists(hook: Mapping[str, Any]) -> None:
    program, *arguments = shlex.split(hook["entry"])
    command = [argument for argument in arguments if not argument.startswith("-")]
    assert program == "rgw"
    assert_options_exist(arguments, *command)


@pytest.mark.parametrize(
    ("hook", "taken", "left"),
    [
        (
            "rgw-detect",
            ["chat_template.jinja", "a/additional_chat_templates/rag.jinja"],
            ["x.jinja", "chat_template.json"],
        ),
        ("rgw-lint", ["a/b/chat_template.jinja"], ["chat_template.jinja.bak"]),
        ("rgw-registry-check", ["registry/schemas/a.yaml", "r/templates.yaml"], ["a.yaml", "schemas/a.json"]),
        ("rgw-check", ["rgw.lock", "train/rgw.lock"], ["my-rgw.lock", "rgw.lock.orig"]),
    ],
)
def test_a_hook_takes_its_files_and_no_others(hook: str, taken: list[str], left: list[str]) -> None:
    [files] = [each["files"] for each in HOOKS if each["id"] == hook]
    assert [path for path in taken + left if re.search(files, path)] == taken


def test_the_hook_passes_what_is_recognised_and_stops_what_is_not() -> None:
    [entry] = [hook["entry"] for hook in HOOKS if hook["id"] == "rgw-detect"]
    arguments = [*shlex.split(entry)[1:], "--registry", EXAMPLES / "registry"]
    assert run(PROGRAMS / "rgw", *arguments, EXAMPLES / "model" / "chat_template.jinja").returncode == 0
    assert run(PROGRAMS / "rgw", *arguments, EXAMPLES / "edited-model" / "chat_template.jinja").returncode == 1
