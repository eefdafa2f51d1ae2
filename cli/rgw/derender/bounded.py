"""Reading with a schema that nobody has vetted: in a process that is killed when a turn takes too long.

For schemas that are ad hoc, native to a repository, or being written. A blown budget is an issue of the turn like any
other; the next turn gets a new process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from rgw.derender.derenderer import failed_turn
from rgw.derender.growth import schema_to_dict
from rgw.derender.policy import Policy
from rgw.errors import EngineError
from rgw.model import Issue, IssueCode, ParsedOutput, Segment, SegmentKind, Severity
from rgw.registry.model import Schema

_START_SECONDS = 60.0


class BoundedDerenderer:
    """Reads turns like `Derenderer`, each within a wall-clock budget. Use it as a context manager.

    Args:
        schema: The schema; it is not trusted.
        budget: Seconds that one turn may take.
        policy: See `Derenderer`.
        call_markers: See `Derenderer`.

    Attributes:
        schema: The schema.
        engine: The engine's name and version, for reports.

    Raises:
        EngineError: The process could not run the schema.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        budget: float = 5.0,
        policy: Policy | None = None,
        call_markers: Sequence[str] = (),
    ) -> None:
        self.schema = schema
        self.engine = ""
        self._budget = budget
        self._setup = {
            "schema": schema_to_dict(schema),
            "policy": asdict(policy or Policy()),
            "call_markers": list(call_markers),
        }
        self._process: subprocess.Popen[bytes] | None = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def parse(
        self, output: str, *, prompt: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None
    ) -> ParsedOutput:
        """See `Derenderer.parse`; tools are plain data. A turn that takes too long has `time_budget_exceeded`."""
        if self._process is None:
            self._process = self._start()
        answer = self._ask(self._process, {"output": output, "prompt": prompt, "tools": tools}, self._budget)
        if answer is not None:
            return parsed_output_from_dict(answer)
        still_running = self._process.poll() is None
        self.close()
        if not still_running:
            return failed_turn(output, "the reading process died")
        message = f"reading took longer than {self._budget:g} s"
        issue = Issue(IssueCode.TIME_BUDGET_EXCEEDED, Severity.ERROR, 0, len(output), message)
        segments = (Segment(SegmentKind.UNCLAIMED, 0, len(output)),) if output else ()
        return ParsedOutput(text=output, ill_formed=True, issues=(issue,), segments=segments)

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "rgw.derender.bounded_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        answer = self._ask(process, self._setup, _START_SECONDS)
        if answer is None or "error" in answer:
            process.kill()
            process.communicate()
            raise EngineError(f"schema {self.schema.name}: {(answer or {}).get('error', 'it could not be loaded')}")
        self.engine = str(answer["engine"])
        return process

    @staticmethod
    def _ask(process: subprocess.Popen[bytes], question: Any, seconds: float) -> dict[str, Any] | None:
        """Write one line, read one line; `None` when the answer does not come in time."""
        lines: list[bytes] = []
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None
        reader = threading.Thread(target=lambda: lines.append(stdout.readline()), daemon=True)
        reader.start()
        try:
            stdin.write(json.dumps(question).encode() + b"\n")
            stdin.flush()
        except OSError:
            return None
        reader.join(seconds)
        if not lines or not lines[0]:
            return None
        answer: dict[str, Any] = json.loads(lines[0])
        return answer


def parsed_output_from_dict(data: dict[str, Any]) -> ParsedOutput:
    """The inverse of `ParsedOutput.to_dict`."""
    return ParsedOutput(
        reasoning=data["reasoning"],
        text=data["text"],
        tool_uses=data["tool_uses"],
        ill_formed=data["ill_formed"],
        end_of_turn=data["end_of_turn"],
        issues=tuple(
            Issue(IssueCode(issue["code"]), Severity(issue["severity"]), issue["start"], issue["end"], issue["message"])
            for issue in data["issues"]
        ),
        segments=tuple(
            Segment(SegmentKind(segment["kind"]), segment["start"], segment["end"]) for segment in data["segments"]
        ),
    )
