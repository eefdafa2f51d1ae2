"""The command line: which commands there are, and how any failure becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.main import get_command

from rgw import __version__
from rgw.commands import (
    apply,
    check,
    detect,
    diff,
    explain,
    export,
    infer,
    lint,
    lock,
    parse,
    prove,
    register,
    registry,
    resync,
)
from rgw.errors import RgwError
from rgw.output import Output, OutputError

CLEAN, USAGE, FAILED = 0, 2, 3
INTERRUPTED, BROKEN_PIPE = 130, 141

application = typer.Typer(
    name="rgw",
    # Plain help: drawing it with Rich would take as long as everything else together.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
application.command("apply")(apply.apply)
application.command("check")(check.check)
application.command("detect")(detect.detect)
application.command("diff")(diff.diff)
application.command("explain")(explain.explain)
application.command("export")(export.export)
application.command("infer")(infer.infer)
application.command("lint")(lint.lint)
application.command("lock")(lock.lock)
application.command("parse")(parse.parse)
application.command("prove")(prove.prove)
application.command("register")(register.register)
application.command("resync")(resync.resync)
application.add_typer(registry.application, name="registry")


def _print_version(wanted: bool) -> None:
    if wanted:
        Output().text(f"rgw {__version__}")
        raise typer.Exit


@application.callback(invoke_without_command=True)
def rgw(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback prints
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Will the text my model emits come back as the reasoning, text and tool calls that it meant?

    Finds the response schema that belongs to a model's chat template, by the sha256 of its exact text, and reads raw
    output with it.

    Exit codes: 0 clean, 1 findings, 2 usage, 3 could not be done.
    """
    if context.invoked_subcommand is None:
        Output().paragraph(context.get_help())
        raise typer.Exit(USAGE)


def main() -> None:
    """Run the command line on the process's arguments and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command.

    Args:
        arguments: The command line without the program's name.

    Returns:
        The exit code. Whatever failed has been told on stderr in one line, after its traceback with `--debug`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # it misses PyTorch, which nothing here needs
    code = _guarded(arguments, lambda: _invoke(arguments))
    return _guarded(arguments, Output().finish) or code


def _invoke(arguments: list[str]) -> int:
    code = get_command(application).main(arguments, prog_name="rgw", standalone_mode=False)
    return code if isinstance(code, int) else CLEAN


def _guarded(arguments: list[str], action: Callable[[], int | None]) -> int:
    try:
        return action() or CLEAN
    except (BrokenPipeError, SystemExit):  # Typer and Rich exit by themselves when the reader has gone
        _abandon_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001
        if isinstance(error, OutputError):
            _abandon_stdout()
        if "--debug" in arguments:
            Output().trace(traceback.format_exc())
        return _report(error)


def _report(error: Exception) -> int:
    if isinstance(error, RgwError):
        Output().error(str(error))
        return error.exit_code
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "rgw"
        message = " ".join(error.format_message().split()).rstrip(".")
        Output().error(f"{message} — see '{command} --help'")
        return USAGE
    if isinstance(error, OSError) and error.strerror:
        Output().error(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
        return FAILED
    reason = str(error).partition("\n")[0]
    Output().error(f"unexpected {type(error).__name__}: {reason} — please report it with what --debug prints")
    return FAILED


def _abandon_stdout() -> None:
    """Let the interpreter's last flush of what nobody will read succeed."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
