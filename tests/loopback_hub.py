"""A small hub on loopback that the real huggingface_hub client talks to: repositories, gates, faults, a request log.

    with LoopbackHub() as hub:
        commit = hub.commit("owner/model", {"chat_template.jinja": "{{ messages }}"})
        hub.inject(Fault(FaultKind.STATUS, where="chat_template.jinja", status=503, times=1))
        point_client_at(hub, cache=tmp_path, monkeypatch=monkeypatch)  # or HF_ENDPOINT=hub.endpoint in a child process
        ...
        assert hub.requests[0].path == "/api/models/owner/model"

It speaks the part of the hub's protocol that reading models needs: model information with file sizes, the file tree,
and HEAD/GET of files with commit, ETag, ranges and, for large files, a redirect to a store. Errors carry the hub's own
`X-Error-Code`. It knows nothing of chat templates.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

GOOD_TOKEN = "hf_good"
"""A token of a person who may read every repository; any other token is refused as invalid."""

ASKED_ONCE = "/api/agent-harnesses"
"""What newer clients ask once in a process, whichever test comes first: not recorded, and never faulty."""

OTHER_TOKEN = "hf_other"
"""A token of a person who has been granted nothing."""


class FaultKind(Enum):
    """What goes wrong with an answer."""

    STATUS = auto()
    """It is an error status."""
    HANG = auto()
    """It is held back until the hub is released."""
    CUT = auto()
    """Half of the body comes, then the connection is closed."""
    WRONG_LENGTH = auto()
    """It is said to be half as long as it is."""
    TRICKLE = auto()
    """One byte of the body comes at a time until the hub is released."""
    DROP = auto()
    """The connection is closed without an answer."""
    NOT_A_HUB = auto()
    """It is a page, as from a proxy that wants a log-in."""


@dataclass
class Fault:
    """A fault for the next `times` requests (`None`: for all) whose `"METHOD path"` contains `where`."""

    kind: FaultKind
    where: str = ""
    times: int | None = None
    status: int = 503
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """A request that the hub has received."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    token: str | None


@dataclass
class Repository:
    """A repository: its commits, what its branches point at, and who may see it."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    gated: bool = False
    private: bool = False
    stored: frozenset[str] = frozenset()
    renamed_to: str | None = None
    information: Mapping[str, Any] = field(default_factory=dict)


class LoopbackHub:
    """A hub that runs in threads of this process while the context lasts.

    Attributes:
        latency: Seconds that every answer is held back.
        requests: Every request so far, in the order of arrival.
        on_request: Called with each request before it is answered.
    """

    def __init__(self, *, latency: float = 0.0) -> None:
        self.latency = latency
        self.requests: list[Request] = []
        self.on_request: Callable[[Request], None] = lambda _: None
        self._released = threading.Event()
        self._repositories: dict[str, Repository] = {}
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        handler = type("_BoundHandler", (_Handler,), {"hub": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def endpoint(self) -> str:
        """What `HF_ENDPOINT` must say."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def store(self) -> str:
        """Where large files lie: by another host name, since the client follows redirects within a hub differently."""
        return f"http://localhost:{self._server.server_address[1]}"

    def commit(
        self,
        repo_id: str,
        files: Mapping[str, str | bytes],
        *,
        branch: str = "main",
        gated: bool = False,
        private: bool = False,
        stored: Sequence[str] = (),
    ) -> str:
        """Commit files as the whole content of a repository, move the branch there, and return the commit.

        Files named in `stored` are served through a redirect, as large files are.
        """
        content = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
        repository = self._repositories.setdefault(repo_id, Repository())
        digest = hashlib.sha1(f"{repo_id} {len(repository.commits)}".encode())
        for name, data in sorted(content.items()):
            digest.update(f"{name} {len(data)} ".encode() + data)
        commit = digest.hexdigest()
        repository.commits[commit] = content
        repository.branches[branch] = commit
        repository.gated, repository.private, repository.stored = gated, private, frozenset(stored)
        return commit

    def delete(self, repo_id: str) -> None:
        """Remove a repository."""
        del self._repositories[repo_id]

    def forget(self, repo_id: str, commit: str) -> None:
        """Remove a commit from a repository, as rewriting its history does."""
        del self._repositories[repo_id].commits[commit]

    def describe(self, repo_id: str, **information: Any) -> None:
        """Say more about a repository: `gguf`, what was read out of its GGUF files; `cardData`; `tags`."""
        self._repositories[repo_id].information = information

    def rename(self, old: str, new: str) -> None:
        """Move a repository and leave a redirect behind."""
        self._repositories[new] = self._repositories[old]
        self._repositories[old] = Repository(renamed_to=new)

    def inject(self, fault: Fault) -> None:
        """Let something go wrong from now on."""
        with self._lock:
            self._faults.append(fault)

    def release(self) -> None:
        """Let every answer that is held back come."""
        self._released.set()

    def wait_for_release(self, seconds: float | None = None) -> bool:
        """Whether the hub was released within the time."""
        return self._released.wait(seconds)

    def requests_for(self, what: str) -> list[Request]:
        """The requests so far whose path contains `what`."""
        return [request for request in self.requests if what in request.path]

    def repository(self, repo_id: str) -> Repository | None:
        """The repository of this id."""
        return self._repositories.get(repo_id)

    def stored_data(self, digest: str) -> bytes | None:
        """The data of a large file, by its sha256."""
        for repository in self._repositories.values():
            for files in repository.commits.values():
                for data in files.values():
                    if hashlib.sha256(data).hexdigest() == digest:
                        return data
        return None

    def take_fault(self, request: Request) -> Fault | None:
        """The fault that this request meets."""
        if request.path == ASKED_ONCE:
            return None
        with self._lock:
            self.requests.append(request)
            for fault in self._faults:
                if fault.where in f"{request.method} {request.path}" and fault.times != 0:
                    fault.times = None if fault.times is None else fault.times - 1
                    return fault
        return None


def point_client_at(hub: LoopbackHub, *, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the huggingface_hub of this process use a hub and a cache directory, and retry without waiting.

    The client reads its settings when it is first imported, so setting the environment would come too late.
    """
    from huggingface_hub import constants, file_download
    from huggingface_hub.utils import _http

    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    instantly = SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None})
    for module in (_http, file_download):
        monkeypatch.setattr(module, "time", instantly)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class _Refusal(Exception):
    """An answer that is an error of the hub."""

    def __init__(
        self, status: int, code: str = "", message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers = {"X-Error-Code": code, "X-Error-Message": message, **(headers or {})}


class _Handler(BaseHTTPRequestHandler):
    hub: LoopbackHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        """The hub keeps its own log."""

    def _serve(self) -> None:
        url = urlsplit(self.path)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        request = Request(self.command, unquote(url.path), parse_qs(url.query), token)
        fault = self.hub.take_fault(request)
        self.hub.on_request(request)
        if self.hub.latency:
            time.sleep(self.hub.latency)
        try:
            self._answer(request, fault)
        except _Refusal as refusal:
            body = json.dumps({"error": refusal.message}).encode()
            self._send(refusal.status, body, {"Content-Type": "application/json", **refusal.headers})

    def _answer(self, request: Request, fault: Fault | None) -> None:
        match fault:
            case Fault(FaultKind.STATUS):
                raise _Refusal(fault.status, message="injected", headers=fault.headers)
            case Fault(FaultKind.HANG):
                self.hub.wait_for_release()
            case Fault(FaultKind.DROP):
                self.close_connection = True
                return
            case Fault(FaultKind.NOT_A_HUB):
                self._send(HTTPStatus.OK, b"<html>Please log in to the network</html>", {"Content-Type": "text/html"})
                return
        if request.token not in (None, GOOD_TOKEN, OTHER_TOKEN):
            raise _Refusal(401, message="Invalid credentials in Authorization header")
        self._find(request, fault)

    def _find(self, request: Request, fault: Fault | None) -> None:
        if found := re.fullmatch(r"/api/models/([^/]+(?:/[^/]+)?)(?:/revision/(.+))?", self._encoded_path()):
            self._model_information(request, unquote(found[1]), unquote(found[2] or "main"))
        elif found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/commits/([^/]+)", self._encoded_path()):
            self._commits(request, unquote(found[1]))
        elif found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)(?:/(.+))?", self._encoded_path()):
            self._tree(request, unquote(found[1]), unquote(found[2]), unquote(found[3] or ""))
        elif found := re.fullmatch(r"/([^/]+(?:/[^/]+)?)/resolve/([^/]+)/(.+)", self._encoded_path()):
            self._file(request, unquote(found[1]), unquote(found[2]), unquote(found[3]), fault)
        elif found := re.fullmatch(r"/store/([0-9a-f]{64})", request.path):
            self._send_data(self.hub.stored_data(found[1]) or b"", {}, fault)
        else:
            raise _Refusal(404, message="no such address")

    def _encoded_path(self) -> str:
        return urlsplit(self.path).path

    def _model_information(self, request: Request, repo_id: str, revision: str) -> None:
        repository = self._repository(request, repo_id)
        commit, files = self._files(repository, revision)
        sizes = "blobs" in request.query
        siblings = [
            {"rfilename": name, **({"size": len(data), "blobId": _blob_id(data)} if sizes else {})}
            for name, data in sorted(files.items())
        ]
        basics = {"id": repo_id, "sha": commit, "private": repository.private, "siblings": siblings}
        if wanted := request.query.get("expand"):
            told = {name: value for name, value in repository.information.items() if name in wanted}
            self._send_json({"id": repo_id, "sha": commit, **told})
        else:
            self._send_json({**basics, **repository.information})

    def _commits(self, request: Request, repo_id: str) -> None:
        commits = reversed(self._repository(request, repo_id).commits)
        facts = {"title": "A commit", "message": "", "authors": [], "date": "2026-01-01T00:00:00.000Z"}
        self._send_json([{"id": commit, **facts} for commit in commits])

    def _tree(self, request: Request, repo_id: str, revision: str, directory: str) -> None:
        _, files = self._files(self._repository(request, repo_id), revision)
        prefix = f"{directory}/" if directory else ""
        recursive = request.query.get("recursive", ["false"])[0].lower() in ("true", "1")
        entries = [
            {"type": "file", "path": name, "size": len(data), "oid": _blob_id(data)}
            for name, data in sorted(files.items())
            if name.startswith(prefix) and (recursive or "/" not in name.removeprefix(prefix))
        ]
        if directory and not entries:
            raise _Refusal(404, "EntryNotFound", f"{directory} does not exist")
        self._send_json(entries)

    def _file(self, request: Request, repo_id: str, revision: str, name: str, fault: Fault | None) -> None:
        repository = self._repository(request, repo_id)
        self._check_gate(request, repository, repo_id)
        commit, files = self._files(repository, revision)
        if name not in files:
            raise _Refusal(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
        data = files[name]
        headers = {"X-Repo-Commit": commit, "ETag": f'"{_blob_id(data)}"', "Accept-Ranges": "bytes"}
        if name in repository.stored:
            digest = hashlib.sha256(data).hexdigest()
            linked = {"X-Linked-Size": str(len(data)), "X-Linked-ETag": f'"{digest}"'}
            location = f"{self.hub.store}/store/{digest}"
            self._send(HTTPStatus.FOUND, b"", {**headers, **linked, "Location": location})
        else:
            self._send_data(data, headers, fault)

    def _repository(self, request: Request, repo_id: str) -> Repository:
        repository = self.hub.repository(repo_id)
        if repository is None or (repository.private and request.token != GOOD_TOKEN):
            # The real hub does not say whether a repository exists: who is not logged in may be missing a right.
            raise _Refusal(404 if request.token else 401, "RepoNotFound", "Repository not found")
        if repository.renamed_to:
            raise _Refusal(307, headers={"Location": self.path.replace(repo_id, repository.renamed_to)})
        return repository

    @staticmethod
    def _check_gate(request: Request, repository: Repository, repo_id: str) -> None:
        if repository.gated and request.token != GOOD_TOKEN:
            message = f"Access to model {repo_id} is restricted."
            raise _Refusal(403 if request.token else 401, "GatedRepo", message)

    @staticmethod
    def _files(repository: Repository, revision: str) -> tuple[str, dict[str, bytes]]:
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            raise _Refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit, repository.commits[commit]

    def _send_json(self, document: Any) -> None:
        self._send(HTTPStatus.OK, json.dumps(document).encode(), {"Content-Type": "application/json"})

    def _send_data(self, data: bytes, headers: Mapping[str, str], fault: Fault | None) -> None:
        status = HTTPStatus.OK
        if found := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(found[1])
            headers = {**headers, "Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}
            data, status = data[start:], HTTPStatus.PARTIAL_CONTENT
        kind = fault.kind if fault and self.command == "GET" else None
        self._send(status, data, headers, body_fault=kind)

    def _send(
        self, status: int, body: bytes, headers: Mapping[str, str], *, body_fault: FaultKind | None = None
    ) -> None:
        self.send_response(status)
        length = len(body) // 2 if body_fault is FaultKind.WRONG_LENGTH else len(body)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        match body_fault:
            case FaultKind.CUT:
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
            case FaultKind.WRONG_LENGTH:
                self.wfile.write(body)
                self.close_connection = True
            case FaultKind.TRICKLE:
                self._trickle(body)
            case _:
                self.wfile.write(body)

    def _trickle(self, body: bytes) -> None:
        """Send one byte at a time, each well within any time-out."""
        for byte in body:
            self.wfile.write(bytes([byte]))
            if not self.hub.wait_for_release(0):
                self.wfile.flush()
                self.hub.wait_for_release(0.05)


def _blob_id(data: bytes) -> str:
    """The id that git gives to a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
