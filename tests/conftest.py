"""What every test gets: loopback as the only network, none of the machine's hub settings, the corpus if it is there."""

from __future__ import annotations

import ipaddress
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from loopback_hub import LoopbackHub

REPOSITORY = Path(__file__).parents[1]
CORPUS = REPOSITORY.parent / "shared" / "corpus"
INHERITED_SETTINGS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "RGW_REGISTRY", "NO_COLOR", "FORCE_COLOR")
# A port that nothing listens on: whatever forgets to name its own hub fails at once, in child processes too.
NO_HUB = "http://127.0.0.1:9"

# How fast the machine is at the moment says nothing about the code; in CI, Hypothesis has such a profile of its own.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if settings.get_current_profile_name() == "default":
    settings.load_profile("any machine")

settings.register_profile("nightly", max_examples=20 * settings().max_examples)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--live", action="store_true", help="let tests marked `live` ask the real hub")
    parser.addoption("--nightly", action="store_true", help="run the tests marked `nightly`, which take hours")


def pytest_configure(config: pytest.Config) -> None:
    """Isolate the run before any test module imports huggingface_hub, which reads its settings on import."""
    if config.getoption("--live"):
        return
    for name in INHERITED_SETTINGS:
        os.environ.pop(name, None)
    home = tempfile.TemporaryDirectory(prefix="rgw-tests-")
    config.add_cleanup(home.cleanup)
    os.environ["HF_HOME"] = f"{home.name}/huggingface"
    os.environ["XDG_CACHE_HOME"] = f"{home.name}/cache"
    os.environ["HF_ENDPOINT"] = NO_HUB
    _allow_loopback_only()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(REPOSITORY / "tests" / "derender"):
            item.add_marker("both_engines")
        if "corpus" in getattr(item, "fixturenames", ()):
            item.add_marker("corpus")
        if item.get_closest_marker("live") and not config.getoption("--live"):
            item.add_marker(pytest.mark.skip(reason="asks the real hub: run `make test-live`"))
        if item.get_closest_marker("nightly") and not config.getoption("--nightly"):
            item.add_marker(pytest.mark.skip(reason="takes hours: run `make test-nightly`"))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The directory with `index.tsv` and `templates/` of real chat templates; tests that use it are marked `corpus`."""
    if not (CORPUS / "index.tsv").is_file():
        pytest.skip(f"the corpus of real templates is not there ({os.path.relpath(CORPUS, REPOSITORY)}/index.tsv)")
    return CORPUS


@pytest.fixture(autouse=True)
def kept_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Render workers are shared by the tests of a process, save by those that are about them."""
    from kept_workers import keep_workers

    if request.path.parent.name != "templates":
        keep_workers(monkeypatch)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A hub on loopback that the client of this process talks to, with an empty cache, trying again without waiting."""
    from loopback_hub import LoopbackHub, point_client_at
    from rgw.templates import hub as hub_module
    from rgw.templates.concurrency import THREAD_NAME

    monkeypatch.setattr(hub_module, "RETRY_WAITS", (0.0, 0.0, 0.0))
    with LoopbackHub() as hub:
        point_client_at(hub, cache=tmp_path / "cache", monkeypatch=monkeypatch)
        yield hub
        # What a test has given up waiting for would come back to disturb the next one.
        hub.release()
        for thread in threading.enumerate():
            if thread.name == THREAD_NAME:
                thread.join(timeout=30)


def _allow_loopback_only() -> None:
    connect, connect_ex, resolve = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        _refuse_unless_loopback(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        _refuse_unless_loopback(address)
        return connect_ex(self, address)

    def guarded_resolve(host: Any, *args: Any, **options: Any) -> Any:
        _refuse_unless_loopback((host,))
        return resolve(host, *args, **options)

    socket.socket.connect = guarded_connect  # type: ignore[method-assign]
    socket.socket.connect_ex = guarded_connect_ex  # type: ignore[method-assign]
    socket.getaddrinfo = guarded_resolve


def _refuse_unless_loopback(address: Any) -> None:
    if not isinstance(address, tuple):  # a Unix socket
        return
    host = address[0].decode() if isinstance(address[0], bytes) else address[0]
    if host not in (None, "", "localhost") and not _is_loopback(host):
        raise OSError(f"tests may only use loopback, not {host!r}")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
