"""Bounded rendering of chat templates, which are untrusted code: worker processes with limits, reused between renders.

The renderer is transformers' own, running in `render_worker`; this module starts, feeds, watches and replaces the
workers. It knows nothing of schemas, registries or what a rendered turn means, and does not import transformers.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

from rgw.errors import EngineError

PLACEHOLDER_TOKENS: Mapping[str, str] = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
}
"""The special tokens that a template sees when no tokenizer says otherwise."""

_PACKAGE_ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 120.0
_SMALLEST_PORTION = 40
_GRACE_SECONDS = 1.0
_INHERITED_VARIABLES = ("PATH", "HOME", "TZ", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")


class FailureKind(StrEnum):
    """Why a template gave no text."""

    SYNTAX_ERROR = "syntax_error"
    TEMPLATE_ERROR = "template_error"
    RECURSION = "recursion"
    TIME = "time"
    MEMORY = "memory"
    OUTPUT_SIZE = "output_size"
    WORKER_DIED = "worker_died"


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """What one render may use.

    Attributes:
        seconds: Wall-clock time, and processor time, of one render.
        memory: Bytes that rendering may allocate beyond what the idle worker holds.
        output: Characters of rendered text.
        call_seconds: Wall-clock time of all the renders of one `RenderPool.render` call.
    """

    seconds: float = 5.0
    memory: int = 512 * 1024 * 1024
    output: int = 16 * 1024 * 1024
    call_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """One conversation to render; messages, tools and variables are plain JSON data.

    Attributes:
        messages: The conversation.
        tools: The tools on offer; `None` and an empty list are different things to a template.
        add_generation_prompt: Whether the template shall open an assistant turn at the end.
        variables: Extra template variables, laid over the pool's own.
        now: The date that `strftime_now` sees; `None` is the current one.
        mark_generation: Whether to report the spans inside `{% generation %}`.
        observe: Whether to report which keys and variables the template reads.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] | None = None
    add_generation_prompt: bool = False
    variables: Mapping[str, Any] = field(default_factory=dict)
    now: datetime | None = None
    mark_generation: bool = False
    observe: bool = False


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered conversation.

    Attributes:
        text: What the template wrote.
        generation_spans: The `{% generation %}` spans of `text`, when asked for.
        reads: What the template read, as sorted paths such as `messages[].role`, when asked for.
    """

    text: str
    generation_spans: tuple[tuple[int, int], ...] = ()
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RenderFailure:
    """A conversation that the template did not render, and why, in one line of untrusted text."""

    kind: FailureKind
    message: str


class Renderer(Protocol):
    """What renders conversations with a template."""

    def render(self, template: str, requests: Sequence[RenderRequest], /) -> list[Rendered | RenderFailure]:
        """The answers, in the order of the requests."""


class RenderPool:
    """A set of workers that render chat templates within limits; safe to use from several threads.

    Args:
        workers: How many processes render at a time. A call of many requests is spread over them.
        limits: What one render may use.
        variables: What every template sees, such as the special tokens.
        remembered: How many answers to keep, of the last template, for calls that ask for the same again.

    A worker that hits a time or memory limit is replaced, and no other call notices. Use it as a context manager:
    leaving it ends the workers; if the whole program ends without that, they see their connection close and end by
    themselves.

    The limits on memory and processor time are the operating system's; Windows has neither and macOS does not enforce
    the first. There the wall clock, the output size and Python's recursion limit still hold.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        limits: RenderLimits | None = None,
        variables: Mapping[str, Any] = PLACEHOLDER_TOKENS,
        remembered: int = 0,
    ) -> None:
        self.limits = limits or RenderLimits()
        self.variables = dict(variables)
        self._remembered = remembered
        self._lock = threading.Lock()
        self._template = ""
        self._answers: _Answers = {}
        self._workers = [_Worker(self.limits) for _ in range(workers)]
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the workers without waiting for them; otherwise each starts with the first render that needs it."""
        for worker in self._workers:
            worker.start()

    def close(self) -> None:
        """End the workers; a later `render` would start them again."""
        for worker in self._workers:
            worker.stop()

    def render(self, template: str, requests: Sequence[RenderRequest]) -> list[Rendered | RenderFailure]:
        """Render every request with `template`; the answers are in the order of the requests.

        Equal requests are rendered once, or once by each worker where a call is spread over several.

        A template that does not compile or exceeds a limit has failed for good: the requests that follow the one that
        showed it get the same failure without being tried. Only a template that raises an error of its own gets to
        see the next request.

        Raises:
            EngineError: The worker cannot start, because transformers is missing or broken.
        """
        call = _Call(template, self._answers_of(template), time.monotonic() + self.limits.call_seconds)
        count = max(1, min(len(self._workers), len(requests) // _SMALLEST_PORTION))
        size = -(-len(requests) // count)

        def render(start: int) -> list[Rendered | RenderFailure]:
            worker = self._idle.get()
            try:
                return self._render_with(worker, call, requests[start : start + size])
            finally:
                self._idle.put(worker)

        if count == 1:
            return render(0)
        with ThreadPoolExecutor(count) as threads:
            return _up_to_failed(threads.map(render, range(0, len(requests), size)))

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The ids of the worker processes that are running."""
        return tuple(worker.process_id for worker in self._workers if worker.process_id is not None)

    def _answers_of(self, template: str) -> _Answers:
        """What this template has answered already, as far as it is to be remembered."""
        with self._lock:
            if template != self._template or len(self._answers) >= self._remembered:
                self._template, self._answers = template, {}
            return self._answers

    def _render_with(
        self, worker: _Worker, call: _Call, requests: Sequence[RenderRequest]
    ) -> list[Rendered | RenderFailure]:
        answers: list[Rendered | RenderFailure] = []
        for request in requests:
            encoded = _encode(request, self.variables)
            key = encoded if isinstance(encoded, RenderFailure) else hashlib.sha256(encoded).digest()
            answer = call.answers.get(key)
            if answer is None:
                answer = call.answers[key] = worker.render(call.template, encoded)
            answers.append(answer)
            if not _is_final(answer):
                if time.monotonic() < call.deadline:
                    continue
                answer = _out_of_time(self.limits.call_seconds)
            answers += [answer] * (len(requests) - len(answers))
            break
        return answers


_Answers: TypeAlias = dict[bytes | RenderFailure, Rendered | RenderFailure]
"""Answers of one template, by the digest of what was asked."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What the workers of one call share."""

    template: str
    answers: _Answers
    deadline: float


def _is_final(answer: Rendered | RenderFailure) -> bool:
    """Whether a template that has answered so is not tried again."""
    return isinstance(answer, RenderFailure) and answer.kind is not FailureKind.TEMPLATE_ERROR


def _up_to_failed(portions: Iterable[Sequence[Rendered | RenderFailure]]) -> list[Rendered | RenderFailure]:
    """The answers of all portions; behind the first that is final, each is that one."""
    answers = [answer for portion in portions for answer in portion]
    final = next((number for number, answer in enumerate(answers) if _is_final(answer)), len(answers))
    return answers[:final] + answers[final : final + 1] * (len(answers) - final)


def generation_prompt(
    pool: RenderPool,
    template: str,
    *,
    messages: Sequence[Mapping[str, Any]] = ({"role": "user", "content": "Hello"},),
    tools: Sequence[Mapping[str, Any]] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> str | None:
    """The text that `add_generation_prompt` appends to `messages`: the assistant header and what is pre-written after.

    Returns:
        The text; `None` when the template does not render, appends nothing, or does more than append.
    """
    request = RenderRequest(messages, tools=tools, variables=variables or {})
    without, prompted = pool.render(template, [request, replace(request, add_generation_prompt=True)])
    if isinstance(without, RenderFailure) or isinstance(prompted, RenderFailure):
        return None
    if not prompted.text.startswith(without.text):
        return None
    return prompted.text.removeprefix(without.text) or None


class _Worker:
    """One worker process, started when first needed and again after it was lost."""

    def __init__(self, limits: RenderLimits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._template: str | None = None
        self._is_ready = False

    @property
    def process_id(self) -> int | None:
        return None if self._process is None else self._process.pid

    def render(self, template: str, request: bytes | RenderFailure) -> Rendered | RenderFailure:
        if isinstance(request, RenderFailure):
            return request
        connection = self._ready()
        try:
            if template != self._template:
                connection.send_bytes(b"T" + json.dumps(template).encode())
                self._template = template
            connection.send_bytes(b"R" + request)
            answer = self._receive(connection)
        except (EOFError, OSError):
            return self._lost()
        if isinstance(answer, RenderFailure) and answer.kind in {FailureKind.MEMORY, FailureKind.TIME}:
            self.stop()
        return answer

    def stop(self) -> None:
        """End the process, if there is one, and collect it."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._connection = self._template = None
        self._is_ready = False

    def start(self) -> None:
        """Start the process, if there is none."""
        if self._process is not None:
            return
        self._connection, remote = Pipe()
        command = [sys.executable, "-P", "-m", "rgw.templates.render_worker", str(remote.fileno())]
        command += [str(self._limits.seconds), str(self._limits.memory), str(self._limits.output)]
        inherit: dict[str, Any] = {"pass_fds": (remote.fileno(),)}
        if sys.platform == "win32":
            os.set_handle_inheritable(remote.fileno(), True)
            inherit = {"close_fds": False}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,  # Ctrl-C in a terminal is the parent's to answer, also while a worker still loads
            **inherit,
        )
        remote.close()

    def _ready(self) -> Connection:
        """The connection to a process that has loaded the renderer."""
        self.start()
        connection = self._connection
        assert connection is not None
        if self._is_ready:
            return connection
        try:
            self._is_ready = connection.poll(_START_SECONDS) and connection.recv_bytes(maxlength=16) == b"ready"
        except (EOFError, OSError):
            self._is_ready = False
        if not self._is_ready:
            self.stop()
            raise EngineError(
                "transformers could not be loaded to render chat templates",
                "check that `python -c 'import transformers.utils.chat_template_utils'` works",
            )
        return connection

    def _receive(self, connection: Connection) -> Rendered | RenderFailure:
        deadline = self._limits.seconds + _GRACE_SECONDS
        if not connection.poll(deadline):
            self.stop()
            return _out_of_time(self._limits.seconds)
        return _decode(connection.recv_bytes(maxlength=12 * self._limits.output + 1024 * 1024))

    def _lost(self) -> RenderFailure:
        assert self._process is not None
        code = _exit_code(self._process)
        self.stop()
        if code in _TIME_SIGNALS:
            return _out_of_time(self._limits.seconds)
        return RenderFailure(FailureKind.WORKER_DIED, f"the renderer died ({_describe_exit(code)})")


def _out_of_time(seconds: float) -> RenderFailure:
    return RenderFailure(FailureKind.TIME, f"rendering took more than {seconds:g} s")


_TIME_SIGNALS = frozenset(-int(getattr(signal, name)) for name in ("SIGALRM", "SIGXCPU") if hasattr(signal, name))


def _environment() -> dict[str, str]:
    """What a worker sees of the environment: no credentials, no hub, the same modules."""
    environment = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
    inherited_path = os.environ.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_PACKAGE_ROOT), inherited_path]))
    environment |= {"HF_HUB_OFFLINE": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    return environment


def _encode(request: RenderRequest, variables: Mapping[str, Any]) -> bytes | RenderFailure:
    plain = {
        "messages": request.messages,
        "tools": request.tools,
        "add_generation_prompt": request.add_generation_prompt,
        "variables": {**variables, **request.variables},
        "now": request.now.isoformat() if request.now else None,
        "mark_generation": request.mark_generation,
        "observe": request.observe,
    }
    try:
        return json.dumps(plain).encode()
    except RecursionError:
        return RenderFailure(FailureKind.RECURSION, "the conversation is nested too deeply to be rendered")


def _decode(answer: bytes) -> Rendered | RenderFailure:
    """The worker's answer; it ran hostile code, so nothing but JSON of the expected shape is believed."""
    try:
        plain = json.loads(answer)
        if "kind" in plain:
            return RenderFailure(FailureKind(plain["kind"]), str(plain["message"]))
        spans = tuple((int(start), int(end)) for start, end in plain["generation_spans"])
        return Rendered(str(plain["text"]), spans, frozenset(map(str, plain["reads"])))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise OSError("the renderer's answer is not what it should be") from error


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "no answer"
    if code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"
