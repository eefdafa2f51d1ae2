"""Each source gives the same files, with a pin that says exactly what they are."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rgw.errors import UpstreamError, UsageError
from rgw.upstream import git, pip, sources
from rgw.upstream.reading import read_upstream
from rgw.upstream.sources import UpstreamRef, UpstreamSource, fetch
from upstream.upstream_samples import FIRST_GENERATION, SECOND_GENERATION, TEXTS

MODULE = "trl/chat_template_utils.py"
FILES = {MODULE: SECOND_GENERATION, **{f"trl/{path}": text for path, text in TEXTS.items()}}
METADATA = "Metadata-Version: 2.4\nName: trl\nVersion: 1.6.0\n\nA description.\n"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return write_wheel(tmp_path / "trl-1.6.0-py3-none-any.whl")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git checkout whose first commit, tagged, is the first generation, and whose branch is the second."""
    directory = tmp_path / "checkout"
    run_git("init", "--quiet", "--initial-branch=main", str(directory))
    commit(directory, {MODULE: FIRST_GENERATION, "VERSION": "0.29.1\n"})
    run_git("-C", str(directory), "tag", "--annotate", "--message=release", "v0.29.1")
    commit(directory, {**FILES, "VERSION": "1.7.0.dev0\n"})
    return directory


@pytest.fixture
def index(wheel: Path) -> Iterator[str]:
    """A package index on loopback that has one release of TRL."""
    project = wheel.parent / "simple" / "trl"
    project.mkdir(parents=True)
    wheel.replace(project / wheel.name)
    (project / "index.html").write_text(f'<!DOCTYPE html><a href="{wheel.name}">{wheel.name}</a>')
    handler = partial(QuietHandler, directory=str(wheel.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


def write_wheel(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
        archive.writestr("trl-1.6.0.dist-info/METADATA", METADATA)
        archive.writestr("trl-1.6.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("trl/trainer.py", "raise SystemExit('imported')")
    return path


def write_source_archive(path: Path, commit_id: str | None = None) -> Path:
    headers = {"comment": commit_id} if commit_id else {}
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT, pax_headers=headers) as archive:
        for name, text in {**FILES, "PKG-INFO": METADATA, "setup.py": "raise SystemExit('run')"}.items():
            member = tarfile.TarInfo(f"trl-1.6.0/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def write_directory(directory: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


def commit(directory: Path, files: dict[str, str]) -> None:
    write_directory(directory, files)
    run_git("-C", str(directory), "add", "--all")
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
    run_git("-C", str(directory), *identity, "commit", "--quiet", "--message=change")


def run_git(*arguments: str) -> str:
    identity = {f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    result = subprocess.run(["git", *arguments], env=os.environ | identity, check=True, capture_output=True, text=True)
    return result.stdout.strip()


def variants(source: UpstreamSource) -> set[str]:
    return {template.variant for template in read_upstream(source).templates if template.specs}


def test_a_wheel_is_pinned_by_its_version_and_hash(wheel: Path) -> None:
    tree = fetch(UpstreamSource(location=str(wheel)))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert tree.ref == UpstreamRef("1.6.0", version="1.6.0", archive=wheel.name, archive_sha256=digest)
    assert variants(UpstreamSource(location=str(wheel))) == {"alpha", "beta", "gamma"}


def test_only_the_files_that_are_read_are_taken_from_an_archive(wheel: Path) -> None:
    assert set(fetch(UpstreamSource(location=str(wheel))).files) == {*FILES, "trl-1.6.0.dist-info/METADATA"}


def test_a_source_archive_is_read_like_a_wheel(tmp_path: Path, wheel: Path) -> None:
    archive = write_source_archive(tmp_path / "trl-1.6.0.tar.gz")
    assert read_upstream(UpstreamSource(location=str(archive))).templates == (
        read_upstream(UpstreamSource(location=str(wheel))).templates
    )
    assert fetch(UpstreamSource(location=str(archive))).ref.version == "1.6.0"


def test_an_archive_that_git_made_tells_its_commit(tmp_path: Path) -> None:
    archive = write_source_archive(tmp_path / "trl.tar.gz", commit_id="c" * 40)
    assert fetch(UpstreamSource(location=str(archive))).ref.commit == "c" * 40


def test_a_directory_is_pinned_by_the_version_it_states(tmp_path: Path) -> None:
    directory = write_directory(tmp_path / "trl-main", {**FILES, "VERSION": "1.7.0.dev0\n"})
    assert fetch(UpstreamSource(location=str(directory))).ref == UpstreamRef("1.7.0.dev0", version="1.7.0.dev0")
    assert variants(UpstreamSource(location=str(directory))) == {"alpha", "beta", "gamma"}


def test_an_installed_package_is_a_directory_too(tmp_path: Path) -> None:
    directory = write_directory(tmp_path / "site-packages", {**FILES, "trl-1.6.0.dist-info/METADATA": METADATA})
    assert fetch(UpstreamSource(location=str(directory))).ref.version == "1.6.0"


@pytest.mark.parametrize("asked", ["1.6.0", "v1.6.0"])
def test_the_ref_that_a_wheel_must_be_may_be_stated(asked: str, wheel: Path) -> None:
    assert fetch(UpstreamSource(asked, location=str(wheel))).ref.ref == asked


def test_a_wheel_of_another_version_than_asked_for_is_refused(wheel: Path) -> None:
    with pytest.raises(UpstreamError, match=r"is TRL 1\.6\.0, not 1\.16\.0"):
        fetch(UpstreamSource("1.16.0", location=str(wheel)))


def test_a_checkout_is_read_at_a_ref_and_not_as_its_files_are_now(checkout: Path) -> None:
    write_directory(checkout, {MODULE: "not committed"})
    tagged = fetch(UpstreamSource("v0.29.1", location=str(checkout)))
    assert tagged.ref.commit == run_git("-C", str(checkout), "rev-parse", "v0.29.1^{commit}")
    assert (tagged.ref.ref, tagged.ref.version) == ("v0.29.1", "0.29.1")
    assert variants(UpstreamSource("v0.29.1", location=str(checkout))) == {"alpha"}
    assert variants(UpstreamSource(location=str(checkout))) == {"alpha", "beta", "gamma"}


@pytest.mark.parametrize(
    ("ref", "expected", "found"),
    [
        ("v0.29.1", "v0.29.1^{commit}", {"alpha"}),
        ("0.29.1", "v0.29.1^{commit}", {"alpha"}),
        ("main", "main", {"alpha", "beta", "gamma"}),
    ],
)
def test_a_tag_or_branch_of_a_repository_is_resolved_to_the_full_commit(
    ref: str, expected: str, found: set[str], checkout: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "trl.git"
    run_git("clone", "--quiet", "--bare", str(checkout), str(bare))
    source = UpstreamSource(ref, repository=bare.as_uri())
    assert fetch(source).ref.commit == run_git("-C", str(checkout), "rev-parse", expected)
    assert variants(source) == found


def test_a_commit_of_a_repository_is_fetched_by_its_id(checkout: Path) -> None:
    first = run_git("-C", str(checkout), "rev-parse", "v0.29.1^{commit}")
    run_git("-C", str(checkout), "config", "uploadpack.allowAnySHA1InWant", "true")
    source = UpstreamSource(first, repository=checkout.as_uri())
    assert fetch(source).ref.commit == first
    assert variants(source) == {"alpha"}


def test_a_tag_goes_before_a_branch_of_the_same_name(checkout: Path) -> None:
    run_git("-C", str(checkout), "branch", "v0.29.1", "main")
    assert fetch(UpstreamSource("v0.29.1", repository=checkout.as_uri())).ref.version == "0.29.1"


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("v9", "has no tag or branch 'v9'"),
        ("abcdef1", "give a commit with all its 40 digits"),
        ("--upload-pack=touch written", "has no tag or branch"),
    ],
)
def test_a_ref_that_is_not_there_is_named(ref: str, message: str, checkout: Path) -> None:
    with pytest.raises(UpstreamError) as caught:
        fetch(UpstreamSource(ref, repository=checkout.as_uri()))
    assert message in str(caught.value)


def test_a_repository_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError, match="git ls-remote failed: ") as caught:
        fetch(UpstreamSource("main", repository=(tmp_path / "absent").as_uri()))
    assert "\n" not in str(caught.value)


def test_without_git_the_other_sources_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git.shutil, "which", lambda _: None)
    with pytest.raises(UpstreamError, match="there is no git client — install git, or use --trl-source pypi"):
        fetch(UpstreamSource("main"))


@pytest.mark.parametrize("location", ["git", "pypi"])
def test_a_ref_is_needed_where_the_source_has_many(location: str) -> None:
    with pytest.raises(UsageError, match=f"{location} needs to know which TRL — pass --trl-ref"):
        UpstreamSource(location=location)


@pytest.mark.parametrize("ref", ["1.6.0", "v1.6.0"])
def test_a_release_comes_through_pip_with_the_users_index(
    ref: str, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    source = UpstreamSource(ref, location="pypi")
    assert fetch(source).ref.archive == "trl-1.6.0-py3-none-any.whl"
    assert variants(source) == {"alpha", "beta", "gamma"}


def test_a_release_that_the_index_does_not_have_is_named(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index)
    with pytest.raises(UpstreamError, match=r"pip download trl==9\.9 failed: No matching distribution"):
        fetch(UpstreamSource("9.9", location="pypi"))


def test_without_pip_a_path_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(pip.shutil, "which", lambda _: None)
    with pytest.raises(UpstreamError, match="there is no pip"):
        fetch(UpstreamSource("1.6.0", location="pypi"))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "not a readable wheel or source archive"), (b"PK\x03\x04 cut", "not a readable wheel or source archive")],
)
def test_a_file_that_is_no_archive_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "trl.whl").write_bytes(content)
    with pytest.raises(UpstreamError, match=message):
        fetch(UpstreamSource(location=str(tmp_path / "trl.whl")))


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError, match="absent: no such file or directory"):
        fetch(UpstreamSource(location=str(tmp_path / "absent")))


def test_a_file_beyond_the_limit_is_refused(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_FILE_BYTES", 100)
    with pytest.raises(UpstreamError, match="larger than 100 bytes"):
        fetch(UpstreamSource(location=str(wheel)))


def test_a_source_without_the_module_is_no_trl(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError, match="trl/chat_template_utils.py is not in this TRL"):
        read_upstream(UpstreamSource(location=str(tmp_path)))


def test_text_is_read_as_python_reads_text(tmp_path: Path) -> None:
    directory = write_directory(tmp_path, FILES)
    (directory / "trl/chat_templates/alpha.jinja").write_bytes(b"one\r\ntwo\rthree\n")
    texts = {
        template.variant: template.text for template in read_upstream(UpstreamSource(location=str(tmp_path))).templates
    }
    assert texts["alpha"] == "one\ntwo\nthree\n"


def test_a_template_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    directory = write_directory(tmp_path, FILES)
    (directory / "trl/chat_templates/alpha.jinja").write_bytes(b"ab\xff")
    with pytest.raises(UpstreamError, match="trl/chat_templates/alpha.jinja: not UTF-8 at byte 2"):
        read_upstream(UpstreamSource(location=str(tmp_path)))


def test_reading_imports_nothing_of_upstream(wheel: Path) -> None:
    read_upstream(UpstreamSource(location=str(wheel)))
    assert not {"trl", "torch"} & sys.modules.keys()


@pytest.mark.parametrize(
    ("pin", "label"),
    [
        (UpstreamRef("1.6.0", version="1.6.0"), "1.6.0"),
        (UpstreamRef("v1.6.0", version="1.6.0", commit="a" * 40), "1.6.0"),
        (UpstreamRef("main", version="1.7.0.dev0", commit="a" * 40), "main (aaaaaaaaaaaa)"),
        (UpstreamRef("a" * 40, version="1.7.0.dev0", commit="a" * 40), "aaaaaaaaaaaa"),
        (UpstreamRef("trl-main"), "trl-main"),
    ],
)
def test_a_pin_has_a_short_name(pin: UpstreamRef, label: str) -> None:
    assert pin.label == label
