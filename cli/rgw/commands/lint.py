"""`rgw lint`: whether a chat template is fit for training and serving."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rgw.commands.options import RefsArgument, RevisionOption, with_output
from rgw.output import Mode, Output

if TYPE_CHECKING:
    from rich.console import RenderableType


@with_output
def lint(
    output: Output,
    refs: RefsArgument,
    tokenizer: Annotated[
        Path | None,
        typer.Option("--tokenizer", metavar="PATH", help="A tokenizer.json or its directory, to name tokens as well."),
    ] = None,
    revision: RevisionOption = None,
) -> None:
    """Look for what makes a chat template unfit for training or serving, and for signs of a poisoned one.

    Exit code 1 means errors or warnings; notes alone do not count. That nothing was found promises nothing.

    \b
    rgw lint Qwen/Qwen3-8B
    rgw lint ./checkpoint --tokenizer ./checkpoint
    rgw explain prefix-broken-by-user
    """
    from rgw.fitness.linting import Status, lint_refs, tokenizer_at
    from rgw.output.documents import lint_document

    tokenize = tokenizer_at(tokenizer) if tokenizer is not None else None
    linting = lint_refs(refs, revision=revision, tokenize=tokenize)
    reports = list(output.progress(linting, description="Linting", total=len(refs)))

    def human() -> Iterator[RenderableType]:
        from rgw.output.lints import view

        return view(reports)

    broken = dict.fromkeys(finding.rule.id for report in reports for finding in report.findings)
    output.document(lint_document(reports), human=human, quiet=broken)
    for report in reports:
        if report.status is not Status.LINTED and output.mode is not Mode.HUMAN:
            output.error(f"{report.ref}: {report.message}")
    if any(finding.message for report in reports for finding in report.findings):
        output.hint("`rgw explain RULE` says why a rule matters and what to do")
    failed = any(report.status is Status.ERROR for report in reports)
    raise typer.Exit(3 if failed else int(not all(report.fit for report in reports)))
