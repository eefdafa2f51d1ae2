"""The worker process of `rendering`: renders chat templates with transformers' own renderer, within limits.

Started as a module with a connection handle and the limits as arguments. It reads JSON from its parent and answers in
JSON; it ends when the parent does, and by a signal of its own when a render takes too long.
"""

from __future__ import annotations

import gc
import json
import math
import signal
import sys
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import jinja2
from transformers.utils import chat_template_utils

from rgw.templates.observation import observed_render

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_MESSAGE_LENGTH = 500


def main(arguments: list[str]) -> None:
    """Serve the parent until it closes the connection."""
    handle, seconds, memory, output = int(arguments[0]), float(arguments[1]), int(arguments[2]), int(arguments[3])
    connection = _open(handle)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory(memory)
    gc.freeze()
    connection.send_bytes(b"ready")
    template = ""
    while True:
        try:
            frame = connection.recv_bytes()
        except EOFError:
            return
        if frame[:1] == b"T":
            template = json.loads(frame[1:])
            continue
        _start_clock(seconds)
        connection.send_bytes(_answer(template, json.loads(frame[1:]), output))
        _stop_clock()


def _open(handle: int) -> Connection:
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        return PipeConnection(handle)
    return Connection(handle)


def _limit_memory(memory: int) -> None:
    """Limit the address space to what is mapped now plus `memory`, and let nothing be written or dumped to disk."""
    if resource is None:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    statistics = Path("/proc/self/statm")
    if statistics.exists():
        mapped = int(statistics.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, mapped + memory))


def _start_clock(seconds: float) -> None:
    """Have the operating system end this process when a render outlasts its limit, whether or not the parent lives."""
    if resource is None:
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _stop_clock() -> None:
    if resource is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _answer(template: str, request: dict[str, Any], output_limit: int) -> bytes:
    try:
        answer = _compile_and_render(template, request, output_limit)
        return json.dumps(answer).encode()
    except MemoryError:
        answer = _failure("memory", "rendering needs more memory than it may have")
    except RecursionError:
        answer = _failure("recursion", "rendering recurses too deeply")
    except Exception as error:  # noqa: BLE001 - a template can raise anything
        answer = _failure("template_error", _where(_template_line(error)) + _describe(error))
    return json.dumps(answer).encode()


def _compile_and_render(template: str, request: dict[str, Any], output_limit: int) -> dict[str, Any]:
    try:
        compiled = chat_template_utils._compile_jinja_template(template)
    except (jinja2.TemplateSyntaxError, SyntaxError) as error:
        return _failure("syntax_error", _where(error.lineno) + _describe(error))
    _clock.moment = datetime.fromisoformat(request["now"]) if request["now"] else None
    answer = _observe(compiled, request) if request["observe"] else _render(template, request)
    if len(answer["text"]) > output_limit:
        return _failure("output_size", f"rendered {len(answer['text'])} characters, more than {output_limit}")
    return answer


def _render(template: str, request: dict[str, Any]) -> dict[str, Any]:
    texts, spans = chat_template_utils.render_jinja_template(
        [request["messages"]],
        tools=request["tools"],
        chat_template=template,
        return_assistant_tokens_mask=request["mark_generation"],
        add_generation_prompt=request["add_generation_prompt"],
        **request["variables"],
    )
    return {"text": texts[0], "generation_spans": spans[0] if spans else [], "reads": []}


def _observe(compiled: jinja2.Template, request: dict[str, Any]) -> dict[str, Any]:
    context = {name: request[name] for name in ("messages", "tools", "add_generation_prompt")}
    text, reads = observed_render(compiled, context | {"documents": None} | request["variables"])
    return {"text": text, "generation_spans": [], "reads": sorted(reads)}


class _Clock:
    """What transformers' `strftime_now` asks for the date, in the place of `datetime`."""

    moment: datetime | None = None

    def now(self) -> datetime:
        return self.moment or datetime.now()  # noqa: DTZ005 - as transformers does


_clock = _Clock()


def _failure(kind: str, message: str) -> dict[str, Any]:
    return {"kind": kind, "message": message[:_MESSAGE_LENGTH]}


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error)[:_MESSAGE_LENGTH].split())}"


def _where(line: int | None) -> str:
    return f"line {line}: " if line else ""


def _template_line(error: Exception) -> int | None:
    """The line of the template that raised; Jinja gives template frames the file name `<template>`."""
    line = None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


if __name__ == "__main__":
    chat_template_utils.datetime = _clock
    main(sys.argv[1:])
