"""The arguments and options that several commands share, declared once, and what they have in common at the start."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

from rgw.output import Output

Own = ParamSpec("Own")
"""The parameters that are a command's own."""


def directory(path: str) -> Path:
    """The path of a directory; an empty one is no path, though `pathlib` takes it for the current directory."""
    if not path:
        raise typer.BadParameter("no directory is named")
    return Path(path)


_REF = "A hub id, a model directory, a template file, or - for stdin."
RefArgument = Annotated[str, typer.Argument(metavar="REF", help=_REF)]
RefsArgument = Annotated[list[str], typer.Argument(metavar="REF...", help=_REF)]
AnyRefsArgument = Annotated[list[str] | None, typer.Argument(metavar="REF...", help=_REF)]
RegistryOption = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        metavar="DIR",
        envvar="RGW_REGISTRY",
        parser=directory,
        help="A project's own registry, laid over the packaged one.",
    ),
]
RevisionOption = Annotated[
    str | None, typer.Option("--revision", metavar="REV", help="Branch, tag or commit of hub repositories.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
QueryOption = Annotated[
    str | None, typer.Option("--query", metavar="JMESPATH", help="Print this part of the JSON document.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what a script needs.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
ConversationsOption = Annotated[
    int,
    typer.Option("--conversations", metavar="N", min=1, max=1_000_000, help="How many, ordinary and hostile each."),
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="What the conversations are made from.")]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", min=1, help="Proofs at a time; by default as many as there are processors."),
]


_COMMON = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, default, annotation in (
        ("json", False, JsonOption),
        ("query", None, QueryOption),
        ("quiet", False, QuietOption),
        ("debug", False, DebugOption),
    )
]


def with_output(command: Callable[Concatenate[Output, Own], None]) -> Callable[..., None]:
    """Give a command the options that every command has, and hand it the `Output` that they choose.

    What `--debug` does is the application's matter.
    """

    @wraps(command)
    def run(*, json: bool, query: str | None, quiet: bool, debug: bool, **own: Any) -> None:  # noqa: ARG001
        command(Output.choose(json=json, query=query, quiet=quiet), **own)  # type: ignore[call-arg]

    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [*(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own), *_COMMON]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
