"""The few git commands that reading TRL needs, through the user's own git client and its settings.

Only plumbing that runs no hooks, filters or pagers; a checkout's working tree is never touched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from rgw.errors import UpstreamError

TIMEOUT_SECONDS = 300

_FULL_COMMIT = re.compile(r"[0-9a-f]{40}")
_UNREACHABLE = "without access to it, use --trl-source pypi or a path"
_SHORT_COMMIT = re.compile(r"[0-9a-f]{7,39}")


def is_full_commit(text: str) -> bool:
    """Whether `text` is a full commit id."""
    return _FULL_COMMIT.fullmatch(text) is not None


def is_repository(path: Path) -> bool:
    """Whether `path` is a checkout or a bare repository."""
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


def fetch(repository: str, ref: str, *, into: Path) -> str:
    """Fetch a tag, branch or full commit into a new repository at `into`; the full commit is returned.

    A tag goes before a branch of the same name, as in git itself; a release may be written without its `v`.
    """
    _run(["init", "--quiet", "--bare", str(into)])
    name = ref if is_full_commit(ref) else _remote_name(repository, ref)
    _run(["-C", str(into), "fetch", "--quiet", "--depth=1", "--no-tags", repository, name], fix=_UNREACHABLE)
    return resolve(into, "FETCH_HEAD")


def resolve(repository: Path, ref: str) -> str:
    """The full commit of a ref of a local repository."""
    arguments = ["-C", str(repository), "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}"]
    return _run(arguments).decode().strip()


def list_files(repository: Path, commit: str) -> list[str]:
    """The paths of all files at `commit`."""
    listing = _run(["-C", str(repository), "ls-tree", "-r", "-z", "--name-only", commit])
    return listing.decode("utf-8", errors="replace").rstrip("\0").split("\0")


def read_file(repository: Path, commit: str, path: str) -> bytes:
    """The exact bytes of a file at `commit`."""
    return _run(["-C", str(repository), "cat-file", "blob", f"{commit}:{path}"])


def _remote_name(repository: str, ref: str) -> str:
    wanted = [f"refs/tags/{ref}", f"refs/tags/v{ref}", f"refs/heads/{ref}"]
    listing = _run(["ls-remote", "--", repository, *wanted], fix=_UNREACHABLE).decode("utf-8", errors="replace")
    known = {line.partition("\t")[2] for line in listing.splitlines()}
    for name in wanted:
        if name in known:
            return name
    if _SHORT_COMMIT.fullmatch(ref):
        raise UpstreamError(f"{repository} has no tag or branch {ref!r}", "give a commit with all its 40 digits")
    raise UpstreamError(f"{repository} has no tag or branch {ref!r}", "see its releases page for the tags it has")


def _run(arguments: list[str], *, fix: str = "") -> bytes:
    git = shutil.which("git")
    if git is None:
        raise UpstreamError("there is no git client", "install git, or use --trl-source pypi or a path")
    try:
        result = subprocess.run(
            [git, *arguments],
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise UpstreamError(f"git {_command(arguments)} took more than {TIMEOUT_SECONDS} s", fix) from error
    except subprocess.CalledProcessError as error:
        raise UpstreamError(f"git {_command(arguments)} failed: {_first_line(error.stderr)}", fix) from error
    return result.stdout


def _command(arguments: list[str]) -> str:
    return next(word for word in arguments if re.fullmatch(r"[a-z]+(-[a-z]+)*", word))


def _first_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", errors="replace").strip().splitlines() or ["no message"]
    return lines[0].removeprefix("fatal: ")
