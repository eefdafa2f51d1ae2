"""The one object through which everything is printed: results on stdout, what is said about them on stderr.

It decides by mode what of a result is shown, escapes every string, and turns a failing stdout into one clear error. It
knows nothing of what a result means; the views of this room do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TextIO, TypeVar

from rgw.errors import RgwError, UsageError
from rgw.output.escape import escape_block, escape_commands, escape_json, escape_line
from rgw.output.json_text import pretty
from rgw.output.query import Query

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Item = TypeVar("Item")

PIPED_WIDTH = 100
JSON_WIDTH = 100
_RED, _YELLOW, _CYAN = "1;31", "1;33", "36"


class OutputError(RgwError):
    """A result could not be written."""


class Mode(Enum):
    """What of a result is shown."""

    HUMAN = auto()
    JSON = auto()
    QUIET = auto()


@dataclass(frozen=True)
class Output:
    """Prints in one mode.

    Attributes:
        mode: What of a result is shown.
        query: Selects from each document; only in JSON mode.
    """

    mode: Mode = Mode.HUMAN
    query: Query | None = None

    @classmethod
    def choose(cls, *, json: bool = False, query: str | None = None, quiet: bool = False) -> Self:
        """The output that a command's options ask for; `--query` means JSON.

        Raises:
            UsageError: The query does not compile, or two kinds of output are asked for.
        """
        if quiet and (json or query is not None):
            other = "--json" if json else "--query"
            raise UsageError(f"--quiet and {other} ask for two kinds of output", "leave one of them out")
        if query is not None:
            return cls(Mode.JSON, Query(query))
        return cls(Mode.JSON if json else Mode.QUIET if quiet else Mode.HUMAN)

    def document(
        self,
        document: Any,
        *,
        human: Callable[[], Iterable[RenderableType]],
        quiet: Iterable[str] = (),
    ) -> None:
        """Print a whole result.

        Args:
            document: Its JSON form, printed in JSON mode.
            human: Its view, built only in human mode.
            quiet: The lines that matter to a script, printed in quiet mode.
        """
        match self.mode:
            case Mode.JSON:
                self._write_json(document, width=JSON_WIDTH)
            case Mode.QUIET:
                for line in quiet:
                    self._write(escape_commands(escape_line(line)) + "\n")
            case Mode.HUMAN:
                for renderable in human():
                    self._render(renderable)

    def record(self, record: Any) -> None:
        """Print one result of a stream as a line of JSON."""
        self._write_json(record, width=sys.maxsize)
        self._guarded(lambda: _stream(sys.stdout).flush())

    def text(self, text: str) -> None:
        """Print a line, whatever the mode."""
        self._write(escape_commands(escape_line(text)) + "\n")

    def paragraph(self, text: str) -> None:
        """Print lines, whatever the mode."""
        self._write(escape_commands(escape_block(text)) + "\n")

    def commands(self, text: str) -> None:
        """Print lines that a CI log is meant to obey, whatever the mode; whoever wrote them has escaped their parts."""
        self._write(escape_block(text) + "\n")

    def hint(self, text: str) -> None:
        """Say on stderr what to do next; silent in quiet mode."""
        if self.mode is not Mode.QUIET:
            _say("hint:", _CYAN, text)

    def warning(self, text: str) -> None:
        """Say on stderr what may be wrong."""
        _say("warning:", _YELLOW, text)

    def error(self, text: str) -> None:
        """Say on stderr what is wrong."""
        _say("error:", _RED, text)

    def trace(self, text: str) -> None:
        """Show a traceback on stderr."""
        _write_stderr(escape_commands(escape_block(text)))

    def progress(
        self, items: Iterable[Item], *, description: str, total: int | None = None, printing: bool = False
    ) -> Iterator[Item]:
        """`items`, counted on stderr while they pass, where stderr is a terminal.

        Args:
            items: What passes.
            description: What is being done.
            total: How many there are, when it is known.
            printing: Something is printed for each: then there is no counting where stdout is a terminal too.
        """
        if not _is_terminal(sys.stderr) or (printing and _is_terminal(sys.stdout)) or self.mode is Mode.QUIET:
            yield from items
            return
        from rich.console import Console
        from rich.progress import track

        yield from track(items, description=description, total=total, console=Console(stderr=True), transient=True)

    def finish(self) -> None:
        """Push out what is still buffered.

        Raises:
            OutputError: It could not be written.
        """
        if sys.stdout is not None:
            self._guarded(sys.stdout.flush)

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        stdout = _stream(sys.stdout)
        width = None if _is_terminal(stdout) or os.environ.get("COLUMNS") else PIPED_WIDTH
        return Console(file=stdout, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)

    def _render(self, renderable: RenderableType) -> None:
        from rgw.output.text import Escaped

        self._guarded(lambda: self._console.print(Escaped(renderable)))

    def _write_json(self, document: Any, *, width: int) -> None:
        value = self.query.search(document) if self.query else document
        ascii_only = (_stream(sys.stdout).encoding or "").lower().replace("-", "") != "utf8"
        self._write(escape_json(pretty(value, width=width, ascii_only=ascii_only)) + "\n")

    def _write(self, text: str) -> None:
        self._guarded(lambda: _stream(sys.stdout).write(text))

    @staticmethod
    def _guarded(write: Callable[[], Any]) -> None:
        try:
            write()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(
                f"the result could not be written to standard output: {error.strerror}", "make room or write elsewhere"
            ) from error


def _stream(stream: TextIO | None) -> TextIO:
    if stream is None or stream.closed:
        raise OutputError("the result could not be written: standard output is closed", "redirect it to a file")
    return stream


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def _say(label: str, style: str, text: str) -> None:
    if _is_terminal(sys.stderr) and not os.environ.get("NO_COLOR"):
        label = f"\x1b[{style}m{label}\x1b[0m"
    _write_stderr(f"{label} {escape_commands(escape_line(text))}\n")


def _write_stderr(text: str) -> None:
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # nowhere is left to say so
            sys.stderr.write(text)
            sys.stderr.flush()
