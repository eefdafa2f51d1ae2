"""The distributions are complete: what is built from the checkout installs and runs where nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import rgw

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist of the checkout and the wheel built from that sdist."""
    directory = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), str(REPOSITORY)])
    return directory


@pytest.fixture
def installed(distributions: Path, tmp_path: Path) -> Path:
    """The `rgw` of a new virtual environment that holds the wheel and what it depends on."""
    environment = tmp_path / "installed"
    venv.create(environment, with_pip=True)
    (wheel,) = distributions.glob("*.whl")
    run([str(environment / "bin" / "python"), "-m", "pip", "install", "-qq", "--no-compile", str(wheel)])
    return environment / "bin" / "rgw"


def run(command: Sequence[str], directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed, outside the checkout's own import path."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(command, cwd=directory, env=variables, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{' '.join(command)}\n{result.stdout}{result.stderr}"
    return result


def registry_files() -> set[str]:
    registry = REPOSITORY / "registry"
    return {path.relative_to(registry).as_posix() for path in registry.rglob("*.yaml")}


def test_the_wheel_carries_the_registry_as_package_data(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"rgw/registry_data/{name}" for name in registry_files()} <= names
    assert {"rgw/__init__.py", "rgw/py.typed"} <= names


def test_the_wheel_carries_the_licence_and_the_attribution(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    licences = f"rgw-{rgw.__version__}.dist-info/licenses"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"{licences}/LICENSE", f"{licences}/NOTICE"} <= names


@pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="what is tracked is known only in a git checkout")
def test_the_sdist_holds_every_tracked_file(distributions: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = set(run(["git", "ls-files"], REPOSITORY).stdout.splitlines())
    assert tracked - names == set()


def test_the_installed_command_works(installed: Path, tmp_path: Path) -> None:
    assert rgw.__version__ in run([str(installed), "--version"]).stdout
    assert "detect" in run([str(installed), "--help"]).stdout
    listing = json.loads(run([str(installed), "registry", "list", "--json"], tmp_path).stdout)
    schemas = {Path(name).stem for name in registry_files() if name.startswith("schemas/")}
    assert {schema["name"] for schema in listing["schemas"]} == schemas
    examples = REPOSITORY / "examples"
    command = [str(installed), "detect", str(examples / "model"), "--registry", str(examples / "registry"), "--json"]
    (result,) = json.loads(run(command, tmp_path).stdout)["results"]
    assert result["status"] == "recognised"
    assert result["schema"]["name"] == "kiosk"
