"""Reading hub repositories with the real client against a hub on loopback: what goes well and all that goes wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from loopback_hub import GOOD_TOKEN, OTHER_TOKEN, Fault, FaultKind, LoopbackHub, Request
from rgw.errors import SourceError
from rgw.templates import hub as hub_module
from rgw.templates.model import ResolvedTemplates, UnresolvedTemplates
from rgw.templates.resolve import resolve, resolve_many, resolve_places

pytestmark = pytest.mark.both_engines

CACHED_COPY = "HF_HUB_OFFLINE=1 reads the cached copy"
FILES = {
    "chat_template.jinja": "{{ messages }}\n",
    "tokenizer_config.json": '{"response_template": {"fields": {}}}',
    "tokenizer.json": "{}",
    "model.safetensors": "weights",
}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def go_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def texts(resolved: ResolvedTemplates) -> dict[str, str]:
    return {template.name: template.text for template in resolved.templates}


def failure(ref: str, *, revision: str | None = None) -> SourceError:
    with pytest.raises(SourceError) as caught:
        resolve(ref, revision=revision)
    assert "\n" not in str(caught.value)
    assert caught.value.fix
    return caught.value


def file_requests(hub: LoopbackHub) -> list[tuple[str, str]]:
    return [(request.method, request.path.rpartition("/")[2]) for request in hub.requests_for("/resolve/")]


def test_a_repository_is_read_with_its_commit(hub: LoopbackHub) -> None:
    commit = hub.commit("owner/model", FILES)
    resolved = resolve("owner/model")
    assert resolved.revision == commit
    assert texts(resolved) == {"default": "{{ messages }}\n"}
    assert resolved.native_response_template == {"fields": {}}
    assert [template.source for template in resolved.templates] == ["chat_template.jinja"]


def test_only_the_small_files_that_can_hold_a_template_are_fetched(hub: LoopbackHub) -> None:
    hub.commit("owner/model", FILES)
    resolve("owner/model")
    assert [request.path for request in hub.requests_for("/api/")] == ["/api/models/owner/model"]
    assert sorted(file_requests(hub)) == [
        ("GET", "chat_template.jinja"),
        ("GET", "tokenizer_config.json"),
        ("HEAD", "chat_template.jinja"),
        ("HEAD", "tokenizer_config.json"),
    ]


def test_what_is_cached_is_not_fetched_again(hub: LoopbackHub) -> None:
    hub.commit("owner/model", FILES)
    first = resolve("owner/model")
    hub.requests.clear()
    assert resolve("owner/model") == first
    assert [request.path for request in hub.requests] == ["/api/models/owner/model"]


def test_every_place_of_a_template_is_read(hub: LoopbackHub) -> None:
    hub.commit(
        "owner/model",
        {
            "chat_template.jinja": "plain",
            "additional_chat_templates/tool_use.jinja": "tools",
            "additional_chat_templates/notes.txt": "notes",
            "processor_config.json": '{"chat_template": "processor"}',
            "sub/chat_template.jinja": "elsewhere",
        },
    )
    assert [(found.name, found.text, found.effective) for found in resolve("owner/model").templates] == [
        ("default", "plain", False),
        ("tool_use", "tools", True),
        ("default", "processor", False),
    ]


def test_a_repository_without_a_template_is_one_request(hub: LoopbackHub) -> None:
    commit = hub.commit("owner/model", {"tokenizer.json": "{}"})
    assert resolve("owner/model") == ResolvedTemplates("owner/model", commit)
    assert len(hub.requests) == 1


def test_a_repository_without_a_tokenizer_is_refused(hub: LoopbackHub) -> None:
    hub.commit("owner/model", {"README.md": "a data set"})
    assert failure("owner/model").message == "owner/model holds no tokenizer files"


def test_a_malformed_file_is_named_with_its_repository(hub: LoopbackHub) -> None:
    hub.commit("owner/model", {"tokenizer_config.json": "{"})
    assert failure("owner/model").message.startswith("owner/model/tokenizer_config.json is not valid JSON: ")


def test_a_file_in_the_store_of_large_files_is_followed(hub: LoopbackHub) -> None:
    hub.commit("owner/model", FILES, stored=["chat_template.jinja"])
    assert texts(resolve("owner/model")) == {"default": "{{ messages }}\n"}
    assert hub.requests_for("/store/")


def test_a_renamed_repository_is_followed(hub: LoopbackHub) -> None:
    commit = hub.commit("owner/old", FILES)
    hub.rename("owner/old", "owner/new")
    resolved = resolve("owner/old")
    assert (resolved.revision, resolved.renamed_to) == (commit, "owner/new")
    assert resolve("owner/new").renamed_to is None


def test_a_template_over_the_limit_is_not_fetched(hub: LoopbackHub) -> None:
    hub.commit("owner/model", {**FILES, "chat_template.jinja": bytes(4 * 1024 * 1024 + 1)})
    assert failure("owner/model").message == "owner/model/chat_template.jinja is larger than the limit of 4 MB"
    assert file_requests(hub) == []


@pytest.mark.parametrize("token", [None, GOOD_TOKEN])
def test_a_missing_repository(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch, token: str | None) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    error = failure("owner/missing")
    assert error.message == f"owner/missing is neither a path here nor a repository that {hub.endpoint} shows"
    assert error.fix == "check the spelling; if it is private, log in with `hf auth login` or set HF_TOKEN"
    assert len(hub.requests) == 1


def test_a_private_repository_needs_its_token(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.commit("owner/model", FILES, private=True)
    assert "shows" in failure("owner/model").message
    monkeypatch.setenv("HF_TOKEN", GOOD_TOKEN)
    assert texts(resolve("owner/model")) == {"default": "{{ messages }}\n"}


@pytest.mark.parametrize("token", [None, OTHER_TOKEN])
def test_a_gated_repository(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch, token: str | None) -> None:
    hub.commit("owner/model", FILES, gated=True)
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    error = failure("owner/model")
    assert error.message == "owner/model is gated"
    assert (
        error.fix == f"accept its terms at {hub.endpoint}/owner/model, then log in with `hf auth login` or set HF_TOKEN"
    )
    monkeypatch.setenv("HF_TOKEN", GOOD_TOKEN)
    assert texts(resolve("owner/model")) == {"default": "{{ messages }}\n"}


def test_a_token_that_the_hub_refuses(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.commit("owner/model", FILES)
    monkeypatch.setenv("HF_TOKEN", "hf_revoked")
    assert failure("owner/model").message == f"{hub.endpoint} refuses the token for owner/model (401)"


def test_an_unknown_revision(hub: LoopbackHub) -> None:
    hub.commit("owner/model", FILES)
    assert failure("owner/model", revision="v9").message == "owner/model has no revision 'v9'"


@pytest.mark.parametrize("ref", ["owner--model", "owner/model..x", "owner/model.git"])
def test_a_name_that_no_repository_can_have(hub: LoopbackHub, ref: str) -> None:
    assert failure(ref).message == f"{ref!r} is neither a path here nor a hub id"
    assert hub.requests == []


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.parametrize(
    "where", ["GET /api/models", "HEAD /owner/model/resolve", "GET /owner/model/resolve"], ids=["list", "head", "get"]
)
def test_an_error_that_passes_is_survived(hub: LoopbackHub, where: str, status: int) -> None:
    hub.commit("owner/model", FILES)
    hub.inject(Fault(FaultKind.STATUS, where=where, status=status, times=2))
    assert texts(resolve("owner/model")) == {"default": "{{ messages }}\n"}


@pytest.mark.parametrize("kind", [FaultKind.DROP, FaultKind.CUT])
@pytest.mark.parametrize("where", ["GET /api/models", "GET /owner/model/resolve"], ids=["list", "get"])
def test_a_connection_that_breaks_is_taken_up_again(hub: LoopbackHub, where: str, kind: FaultKind) -> None:
    hub.commit("owner/model", FILES)
    hub.inject(Fault(kind, where=where, times=2))
    assert texts(resolve("owner/model")) == {"default": "{{ messages }}\n"}


def test_the_wait_that_the_hub_asks_for_is_kept_within_reason(
    hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(hub_module.time, "sleep", waits.append)
    hub.commit("owner/model", FILES)
    for seconds in ("3", "3600", "soon"):
        hub.inject(Fault(FaultKind.STATUS, "/api/", status=429, headers={"Retry-After": seconds}, times=1))
    resolve("owner/model")
    assert waits == [3.0, 8.0, 0.0]


@pytest.mark.parametrize(
    ("status", "message", "fix"),
    [
        (500, "{hub} answers 500 for owner/model", f"try again later; {CACHED_COPY}"),
        (503, "{hub} answers 503 for owner/model", f"try again later; {CACHED_COPY}"),
        (403, "{hub} forbids access to owner/model (403)", "use a token that may read it"),
        (
            429,
            "{hub} limits the rate of requests (429)",
            f"log in with `hf auth login` or set HF_TOKEN, or try again later; {CACHED_COPY}",
        ),
    ],
)
def test_an_error_that_stays_is_reported(hub: LoopbackHub, status: int, message: str, fix: str) -> None:
    hub.commit("owner/model", FILES)
    hub.inject(Fault(FaultKind.STATUS, "/api/", status=status))
    error = failure("owner/model")
    assert (error.message, error.fix) == (message.format(hub=hub.endpoint), fix)
    assert len(hub.requests) <= 4


@pytest.mark.parametrize("where", ["HEAD /owner/model/resolve", "GET /owner/model/resolve"])
def test_an_error_that_stays_on_a_file_is_reported(hub: LoopbackHub, where: str) -> None:
    hub.commit("owner/model", FILES)
    hub.inject(Fault(FaultKind.STATUS, where, status=503))
    assert failure("owner/model").message == f"{hub.endpoint} answers 503 for owner/model"


def test_a_hub_that_does_not_answer_is_asked_twice(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT", 0.2)
    hub.inject(Fault(FaultKind.HANG))
    error = failure("owner/model")
    assert error.message == f"{hub.endpoint} is too slow to answer for owner/model"
    assert error.fix == f"try again later; {CACHED_COPY}"
    assert len(hub.requests) == 2


@pytest.mark.parametrize(
    "fault", [Fault(FaultKind.HANG, "HEAD /owner"), Fault(FaultKind.TRICKLE, "GET /owner")], ids=["hang", "trickle"]
)
def test_a_hub_that_never_finishes_a_file_has_a_deadline(
    hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setattr(hub_module, "DEADLINE_SECONDS", 0.5)
    hub.commit("owner/model", {"chat_template.jinja": "a" * 10_000})
    hub.inject(fault)
    assert failure("owner/model").message == f"{hub.endpoint} is too slow to answer for owner/model"


def test_a_connection_that_always_breaks(hub: LoopbackHub) -> None:
    hub.inject(Fault(FaultKind.DROP))
    assert failure("owner/model").message == f"{hub.endpoint} cannot be reached for owner/model"


def test_no_hub_at_all(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        endpoint = f"http://127.0.0.1:{reserved.getsockname()[1]}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", endpoint)
    error = failure("owner/model")
    assert error.message == f"{endpoint} cannot be reached for owner/model"
    assert error.fix == f"check the network and HF_ENDPOINT; {CACHED_COPY}"


@pytest.mark.parametrize("where", ["GET /api/models", "HEAD /owner/model/resolve"], ids=["list", "head"])
def test_a_page_in_place_of_a_hub(hub: LoopbackHub, where: str) -> None:
    hub.commit("owner/model", FILES)
    hub.inject(Fault(FaultKind.NOT_A_HUB, where))
    assert failure("owner/model").message == f"{hub.endpoint} does not answer like a hub"


def test_what_the_hub_says_stays_off_the_terminal(hub: LoopbackHub, capfd: pytest.CaptureFixture[str]) -> None:
    hub.commit("owner/model", FILES)
    hub.inject(Fault(FaultKind.STATUS, times=1, headers={"X-HF-Warning": "topic; \x1b[31mred"}))
    hub.inject(Fault(FaultKind.STATUS, "HEAD", times=1, headers={"X-HF-Warning": "topic; \x1b[31mred"}))
    resolve("owner/model")
    assert capfd.readouterr() == ("", "")


def test_a_revision_is_pinned_to_its_commit(hub: LoopbackHub) -> None:
    old = hub.commit("owner/model", {"chat_template.jinja": "old"})
    hub.commit("owner/model", {"chat_template.jinja": "tagged"}, branch="v1")
    new = hub.commit("owner/model", {"chat_template.jinja": "new"})
    assert [texts(resolve("owner/model", revision=revision))["default"] for revision in (old, "v1", new, None)] == [
        "old",
        "tagged",
        "new",
        "new",
    ]
    assert resolve("owner/model", revision=old).revision == old


def test_a_branch_that_moves_between_two_calls_is_seen(hub: LoopbackHub) -> None:
    first = hub.commit("owner/model", {"chat_template.jinja": "first"})
    before = resolve("owner/model")
    second = hub.commit("owner/model", {"chat_template.jinja": "second"})
    after = resolve("owner/model")
    assert (before.revision, texts(before)["default"]) == (first, "first")
    assert (after.revision, texts(after)["default"]) == (second, "second")


def test_a_branch_that_moves_during_a_call_does_not_mix_two_states(
    hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = hub.commit("owner/model", {"chat_template.jinja": "first", "tokenizer_config.json": "{}"})

    def move(request: Request) -> None:
        if request.method == "HEAD":
            hub.commit("owner/model", {"chat_template.jinja": "second"})

    hub.on_request = move
    resolved = resolve("owner/model")
    go_offline(monkeypatch)
    assert (resolved.revision, texts(resolved)["default"]) == (first, "first")
    assert resolve("owner/model") == resolved


@pytest.mark.parametrize("revision", [None, "main", "v1", "pr/1"])
def test_offline_reads_what_was_read_online(
    hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch, revision: str | None
) -> None:
    hub.commit("owner/model", FILES, branch=revision or "main")
    online = resolve("owner/model", revision=revision)
    hub.requests.clear()
    go_offline(monkeypatch)
    assert resolve("owner/model", revision=revision) == online
    assert resolve("owner/model", revision=online.revision) == online
    assert hub.requests == []


def test_offline_without_a_cached_copy(hub: LoopbackHub, offline: None) -> None:
    error = failure("owner/model")
    assert error.message == "owner/model is not in the cache, and HF_HUB_OFFLINE forbids asking the hub"
    assert error.fix == "run once without HF_HUB_OFFLINE"
    assert hub.requests == []


def test_offline_with_a_cached_copy_of_another_revision(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.commit("owner/model", FILES)
    resolve("owner/model")
    go_offline(monkeypatch)
    assert failure("owner/model", revision="v1").message.startswith("owner/model at 'v1' is not in the cache")


def test_offline_with_a_cached_copy_of_other_files(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import hf_hub_download

    hub.commit("owner/model", FILES)
    hf_hub_download("owner/model", "model.safetensors")
    go_offline(monkeypatch)
    assert failure("owner/model").message.startswith("owner/model is not in the cache")


def test_many_repositories_are_read_at_once(hub: LoopbackHub) -> None:
    refs = [f"owner/model-{number}" for number in range(100)]
    for ref in refs:
        hub.commit(ref, {**FILES, "chat_template.jinja": ref})
    hub.commit("owner/gated", FILES, gated=True)
    hub.latency = 0.05
    start = time.monotonic()
    results = resolve_many([*refs[:50], "owner/gated", *refs[50:]])
    elapsed = time.monotonic() - start
    assert elapsed < 5.0
    assert isinstance(results.pop(50), UnresolvedTemplates)
    assert [texts(result)["default"] for result in results if isinstance(result, ResolvedTemplates)] == refs


def test_paths_and_repositories_go_together(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.commit("owner/model", FILES)
    path = tmp_path / "a.jinja"
    path.write_text("a")
    results = resolve_many(["owner/missing", str(path), "owner/model", "owner/model"])
    assert [result.ref for result in results] == ["owner/missing", str(path), "owner/model", "owner/model"]
    assert [type(result) for result in results] == [UnresolvedTemplates, *[ResolvedTemplates] * 3]
    assert len(hub.requests_for("/api/models/owner/model")) == 1


PRINT_TEXTS = (
    "import json, sys; from rgw.templates.resolve import resolve_many;"
    "print(json.dumps([[template.text for template in result.templates] for result in resolve_many(sys.argv[1:])]))"
)


def in_a_process_of_its_own(hub: LoopbackHub, home: Path, *refs: str, **settings: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "HF_ENDPOINT": hub.endpoint, "HF_HOME": str(home), **settings}
    command = [sys.executable, "-c", PRINT_TEXTS, *refs]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_settings_of_the_client_are_its_own(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.commit("owner/model", FILES, gated=True)
    with in_a_process_of_its_own(hub, tmp_path, "owner/model", HF_TOKEN=GOOD_TOKEN) as online:
        output, errors = online.communicate(timeout=60)
        assert (json.loads(output), errors) == ([["{{ messages }}\n"]], "")
    hub.requests.clear()
    with in_a_process_of_its_own(hub, tmp_path, "owner/model", HF_HUB_OFFLINE="1") as offline:
        output, errors = offline.communicate(timeout=60)
        assert (json.loads(output), errors) == ([["{{ messages }}\n"]], "")
    assert hub.requests == []


def test_an_interrupt_does_not_wait_for_the_hub(hub: LoopbackHub, tmp_path: Path) -> None:
    asked = threading.Event()
    hub.on_request = lambda request: asked.set()
    hub.inject(Fault(FaultKind.HANG))
    with in_a_process_of_its_own(hub, tmp_path, "owner/one", "owner/two", HF_HUB_ETAG_TIMEOUT="600") as process:
        assert asked.wait(timeout=60)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert errors.strip().endswith("KeyboardInterrupt")


def test_many_repositories_are_read_each_at_its_own_revision(hub: LoopbackHub) -> None:
    old = hub.commit("owner/model", {"chat_template.jinja": "old"})
    hub.commit("owner/model", {"chat_template.jinja": "new"})
    hub.commit("owner/other", {"chat_template.jinja": "other"})
    places = [("owner/model", None), ("owner/model", old), ("owner/other", None), ("owner/model", None)]
    results = resolve_places(places)
    assert list(results) == places[:3]
    assert [texts(result)["default"] for result in results.values() if isinstance(result, ResolvedTemplates)] == [
        "new",
        "old",
        "other",
    ]


def test_what_keeps_a_repository_from_being_read_is_told_apart(hub: LoopbackHub) -> None:
    hub.commit("owner/gated", FILES, gated=True)
    hub.commit("owner/model", FILES)
    hub.commit("owner/other", {"README.md": "a data set"})
    hub.commit("owner/slow", FILES)
    hub.inject(Fault(FaultKind.STATUS, "owner/slow", status=429))
    places = [("owner/gated", None), ("owner/missing", None), ("owner/model", "v9"), ("owner/slow", None)]
    results = resolve_places([*places, ("owner/other", None)])
    assert [result.obstacle.value for result in results.values() if isinstance(result, UnresolvedTemplates)] == [
        "gated",
        "missing",
        "missing",
        "unreachable",
        "unusable",
    ]


def test_a_commit_may_be_named_by_its_beginning(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    old = hub.commit("owner/model", {"chat_template.jinja": "old"})
    hub.commit("owner/model", {"chat_template.jinja": "new"})
    resolved = resolve("owner/model", revision=old[:7])
    assert (resolved.revision, texts(resolved)) == (old, {"default": "old"})
    assert failure("owner/model", revision="0" * 7).message == "owner/model has no revision '0000000'"
    assert failure("owner/model", revision=old[:6]).message == f"owner/model has no revision {old[:6]!r}"
    go_offline(monkeypatch)
    assert resolve("owner/model", revision=old[:7]) == resolved
