"""Where TRL comes from: a git ref, a release on the package index, or something on this disk.

Every source ends as a `SourceTree` in memory: its files by path, and the pin that says exactly what they are. Nothing
is unpacked, built, imported or executed.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from rgw.errors import UpstreamError, UsageError
from rgw.upstream import git, pip

TRL_REPOSITORY = "https://github.com/huggingface/trl"
GIT, PYPI = "git", "pypi"
MAX_FILE_BYTES = 5_000_000

_WANTED = re.compile(
    r"trl/chat_template_utils\.py|trl/chat_templates/[^/]+\.jinja|(trl/)?VERSION|PKG-INFO|trl-[^/]+\.dist-info/METADATA"
)
_VERSION_FILES = ("VERSION", "trl/VERSION")
_METADATA_FILES = re.compile(r"PKG-INFO|.*METADATA")


@dataclass(frozen=True, slots=True)
class UpstreamSource:
    """What to read.

    Attributes:
        ref: A tag, branch or full commit for git, a version for the package index; for something on this disk it is
            optional, and checked where the disk can tell.
        location: `git`, `pypi`, or the path of a wheel, source archive, directory or git checkout.
        repository: The git repository that `git` means.

    Raises:
        UsageError: Only a ref can say which of the many is meant, and there is none.
    """

    ref: str | None = None
    location: str = GIT
    repository: str = TRL_REPOSITORY

    def __post_init__(self) -> None:
        if self.ref is None and self.location in {GIT, PYPI}:
            raise UsageError(f"{self.location} needs to know which TRL", "pass --trl-ref, for example v1.16.0")


@dataclass(frozen=True, slots=True)
class UpstreamRef:
    """The pin: what exactly was read. What a source cannot tell is `None`.

    Attributes:
        ref: The ref that was asked for.
        version: The version that TRL gives itself.
        commit: The full commit.
        archive: The name of the wheel or source archive.
        archive_sha256: The sha256 of that archive.
    """

    ref: str
    version: str | None = None
    commit: str | None = None
    archive: str | None = None
    archive_sha256: str | None = None

    @property
    def label(self) -> str:
        """A short name for people: the version of a release, else the ref and the commit."""
        if self.commit and self.ref.removeprefix("v") != self.version:
            return f"{self.ref} ({self.commit[:12]})" if self.ref != self.commit else self.commit[:12]
        return self.version or self.ref


@dataclass(frozen=True, slots=True)
class SourceTree:
    """The files of TRL that a re-sync reads."""

    ref: UpstreamRef
    files: Mapping[str, bytes]

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, if it is there."""
        return self.files.get(path)

    def paths_in(self, directory: str) -> list[str]:
        """The paths of the files below a directory."""
        return sorted(path for path in self.files if path.startswith(f"{directory}/"))


def fetch(source: UpstreamSource) -> SourceTree:
    """The files of `source`.

    Raises:
        UpstreamError: They cannot be had; the message says what to do.
    """
    if source.location == GIT:
        return _fetch_git(source)
    if source.location == PYPI:
        return _fetch_release(source)
    return _with_checked_ref(_read_local(Path(source.location), source.ref), source)


def _fetch_git(source: UpstreamSource) -> SourceTree:
    ref = str(source.ref)
    with TemporaryDirectory(prefix="rgw-trl-") as directory:
        checkout = Path(directory)
        commit = git.fetch(source.repository, ref, into=checkout)
        return _from_git(checkout, ref, commit)


def _fetch_release(source: UpstreamSource) -> SourceTree:
    version = str(source.ref).removeprefix("v")
    with TemporaryDirectory(prefix="rgw-trl-") as directory:
        return _read_archive(pip.download("trl", version, into=Path(directory)), ref=None)


def _read_local(path: Path, ref: str | None) -> SourceTree:
    if path.is_file():
        return _read_archive(path, ref)
    if git.is_repository(path):
        commit = git.resolve(path, ref or "HEAD")
        return _from_git(path, ref or commit, commit)
    if path.is_dir():
        return _from_directory(path, ref)
    raise UpstreamError(f"{path}: no such file or directory", "give a wheel, source archive, directory or git checkout")


def _from_git(repository: Path, ref: str, commit: str) -> SourceTree:
    paths = [path for path in git.list_files(repository, commit) if _WANTED.fullmatch(path)]
    files = {path: git.read_file(repository, commit, path) for path in paths}
    return SourceTree(UpstreamRef(ref, version=_version(files), commit=commit), files)


def _from_directory(directory: Path, ref: str | None) -> SourceTree:
    patterns = ("trl/*.py", "trl/VERSION", "trl/chat_templates/*", "VERSION", "PKG-INFO", "trl-*.dist-info/METADATA")
    paths = {path.relative_to(directory).as_posix(): path for pattern in patterns for path in directory.glob(pattern)}
    try:
        files = {name: _bounded(path.open("rb"), name) for name, path in paths.items() if _WANTED.fullmatch(name)}
    except OSError as error:
        raise UpstreamError(f"{error.filename}: {error.strerror}") from error
    version = _version(files)
    return SourceTree(UpstreamRef(ref or version or directory.resolve().name, version=version), files)


def _read_archive(path: Path, ref: str | None) -> SourceTree:
    try:
        content = path.read_bytes()
        files, commit = _read_wheel(content) if zipfile.is_zipfile(path) else _read_tar(content)
    except OSError as error:
        raise UpstreamError(f"{path}: {error.strerror or error}") from error
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise UpstreamError(f"{path}: not a readable wheel or source archive: {error}") from error
    version = _version(files)
    digest = hashlib.sha256(content).hexdigest()
    pin = UpstreamRef(ref or version or path.name, version, commit, archive=path.name, archive_sha256=digest)
    return SourceTree(pin, files)


def _read_wheel(content: bytes) -> tuple[dict[str, bytes], str | None]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [member for member in archive.infolist() if _WANTED.fullmatch(member.filename)]
        files = {member.filename: _bounded(archive.open(member), member.filename) for member in members}
    return files, None


def _read_tar(content: bytes) -> tuple[dict[str, bytes], str | None]:
    """The files below the archive's one top directory, and the commit that `git archive` notes in its header."""
    files = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            stream = archive.extractfile(member) if member.isfile() and _WANTED.fullmatch(name) else None
            if stream is not None:
                files[name] = _bounded(stream, name)
        commit = archive.pax_headers.get("comment", "")
    return files, commit if git.is_full_commit(commit) else None


def _bounded(stream: IO[bytes], name: str) -> bytes:
    content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise UpstreamError(f"{name}: larger than {MAX_FILE_BYTES} bytes")
    return content


def _version(files: Mapping[str, bytes]) -> str | None:
    for name, content in files.items():
        text = content.decode("utf-8", errors="replace")
        if name in _VERSION_FILES:
            return text.strip() or None
        if _METADATA_FILES.fullmatch(name):
            return HeaderParser().parsestr(text).get("Version")
    return None


def _with_checked_ref(tree: SourceTree, source: UpstreamSource) -> SourceTree:
    """Something on this disk must be the ref that was asked for, where it can tell."""
    asked, pin = source.ref, tree.ref
    if asked and not pin.commit and pin.version and asked.removeprefix("v") != pin.version:
        raise UpstreamError(f"{source.location} is TRL {pin.version}, not {asked}", "leave --trl-ref out or correct it")
    return tree
