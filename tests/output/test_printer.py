"""One object prints everything: results on stdout by mode, words about them on stderr, all of it escaped."""

from __future__ import annotations

import errno
import io
import json
import sys
from collections.abc import Iterator

import pytest
from rich.console import RenderableType
from rich.text import Text

from rgw.errors import UsageError
from rgw.output import Mode, Output, OutputError

DOCUMENT = {"version": 1, "results": ["a\x1bb"]}


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class FullDisk(io.StringIO):
    encoding = "utf-8"

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def human() -> Iterator[RenderableType]:
    yield Text("seen by \x1b[5m people", style="red")


def print_document(output: Output) -> None:
    output.document(DOCUMENT, human=human, quiet=["a\x1bb", "c"])


def test_people_see_the_view(capsys: pytest.CaptureFixture[str]) -> None:
    print_document(Output())
    assert capsys.readouterr() == ("seen by \\x1b[5m people\n", "")


def test_programs_get_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    print_document(Output.choose(json=True))
    printed = capsys.readouterr()
    assert json.loads(printed.out) == DOCUMENT
    assert "\x1b" not in printed.out
    assert printed.err == ""


def test_a_query_means_json_and_selects_from_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    print_document(Output.choose(query="results[0]"))
    assert capsys.readouterr().out == '"a\\u001bb"\n'


def test_scripts_get_bare_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_document(Output.choose(quiet=True))
    assert capsys.readouterr().out == "a\\x1bb\nc\n"


def test_the_view_is_not_built_for_programs() -> None:
    def exploding() -> Iterator[RenderableType]:
        raise AssertionError

    Output.choose(json=True).document({}, human=exploding)
    Output.choose(quiet=True).document({}, human=exploding)


def test_a_record_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    Output().record({"text": "a\nb"})
    assert capsys.readouterr().out == '{"text": "a\\nb"}\n'


@pytest.mark.parametrize("mode", Mode)
def test_errors_and_warnings_are_told_on_stderr_in_every_mode(mode: Mode, capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(mode)
    output.warning("careful\x07")
    output.error("bad\nnews")
    assert capsys.readouterr() == ("", "warning: careful\\x07\nerror: bad\\nnews\n")


@pytest.mark.parametrize(
    ("mode", "told"), [(Mode.HUMAN, "hint: next\n"), (Mode.JSON, "hint: next\n"), (Mode.QUIET, "")]
)
def test_hints_are_told_on_stderr_unless_quiet(mode: Mode, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    Output(mode).hint("next")
    assert capsys.readouterr() == ("", told)


def test_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("sys.stdout", stdout := Terminal())
    monkeypatch.setattr("sys.stderr", stderr := Terminal())
    output = Output()
    print_document(output)
    output.error("bad")
    assert "\x1b[31mseen by \\x1b[5m people\x1b[0m" in stdout.getvalue()
    assert stderr.getvalue() == "\x1b[1;31merror:\x1b[0m bad\n"


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout", stdout := Terminal())
    monkeypatch.setattr("sys.stderr", stderr := Terminal())
    output = Output()
    print_document(output)
    output.error("bad")
    assert "\x1b" not in stdout.getvalue() + stderr.getvalue()


def test_json_is_never_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", stdout := Terminal())
    print_document(Output.choose(json=True))
    assert "\x1b" not in stdout.getvalue()


def test_json_stays_json_where_the_stream_cannot_carry_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(raw := io.BytesIO(), encoding="ascii", errors="backslashreplace", write_through=True)
    monkeypatch.setattr("sys.stdout", stream)
    Output.choose(json=True).document("é日", human=human)
    assert json.loads(raw.getvalue()) == "é日"


def test_a_full_disk_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", FullDisk())
    for output in (Output(), Output.choose(json=True), Output.choose(quiet=True)):
        with pytest.raises(OutputError, match="No space left on device"):
            print_document(output)


@pytest.mark.parametrize("output", [Output(), Output.choose(json=True), Output.choose(quiet=True)])
def test_a_closed_stdout_is_one_clear_error(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(OutputError, match="standard output is closed"):
        print_document(output)


def test_a_missing_stderr_costs_only_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    Output().error("nobody hears")


@pytest.mark.parametrize("options", [{"json": True}, {"query": "a"}])
def test_two_kinds_of_output_exclude_each_other(options: dict[str, str | bool]) -> None:
    with pytest.raises(UsageError, match="two kinds of output — leave one of them out"):
        Output.choose(quiet=True, **options)  # type: ignore[arg-type]


def test_a_query_that_cannot_be_meant_is_refused_before_any_work() -> None:
    with pytest.raises(UsageError, match="is not usable"):
        Output.choose(query="a[")


def test_progress_is_not_drawn_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(Output().progress([1, 2], description="Reading")) == [1, 2]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("printing", "drawn"), [(False, True), (True, False)])
def test_progress_keeps_out_of_the_way_of_what_is_printed_meanwhile(
    printing: bool, drawn: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert list(Output().progress([1, 2], description="Proving", printing=printing)) == [1, 2]
    assert ("Proving" in capsys.readouterr().err) is drawn
