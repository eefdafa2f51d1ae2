"""The arguments and options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RegistryOption = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        metavar="DIR",
        envvar="RGW_REGISTRY",
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
