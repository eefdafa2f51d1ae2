"""Downloading a release through the user's own pip, with the index, proxy and certificates that it is set up for.

Only wheels are asked for: pip runs the build code of a source archive, and nothing upstream is ever run.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from rgw.errors import UpstreamError

TIMEOUT_SECONDS = 300


def download(project: str, version: str, *, into: Path) -> Path:
    """Download the wheel of a release into the directory `into`; its path is returned."""
    command = [*_pip(), "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(into), f"{project}=={version}"]
    try:
        subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_SECONDS, check=True, text=True
        )
    except subprocess.TimeoutExpired as error:
        raise UpstreamError(f"pip download {project}=={version} took more than {TIMEOUT_SECONDS} s") from error
    except subprocess.CalledProcessError as error:
        raise UpstreamError(f"pip download {project}=={version} failed: {_reason(error.stderr)}") from error
    return next(into.glob("*.whl"))


def _pip() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if command := shutil.which("pip"):
        return [command]
    raise UpstreamError("there is no pip to download TRL with", "install pip, or give --trl-source the path of a wheel")


def _reason(stderr: str) -> str:
    errors = [line for line in stderr.splitlines() if line.startswith("ERROR:")]
    return errors[-1].removeprefix("ERROR:").strip() if errors else "no message"
