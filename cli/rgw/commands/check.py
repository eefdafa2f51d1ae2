"""`rgw check`: what has changed about the models, the registry, TRL or transformers, and whether it matters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rgw.commands.options import RegistryOption, with_output
from rgw.errors import UsageError
from rgw.output import Mode, Output
from rgw.output.files import write_file
from rgw.output.findings import Format, written

if TYPE_CHECKING:
    from rgw.drift.checking import Wanted
    from rgw.drift.model import Report, Severity

# The values of enumerations, written out so that `rgw --help` needs none of their rooms; a test compares them.
FormatChoice = Literal["table", "json", "markdown", "junit", "sarif", "github"]
SeverityChoice = Literal["cosmetic", "compatible", "breaking"]

DEFAULT_LOCKFILE = Path("rgw.lock")


@with_output
def check(
    printer: Output,
    lock: Annotated[
        Path | None,
        typer.Option("--lock", metavar="FILE", help="Check the models of this lockfile (default: rgw.lock)."),
    ] = None,
    registry_repos: Annotated[
        bool, typer.Option("--registry-repos", help="Check that the hub still serves every registered template.")
    ] = False,
    family: Annotated[
        list[str] | None, typer.Option("--family", metavar="FAMILY", help="Only registered templates of this family.")
    ] = None,
    trl_ref: Annotated[
        str | None, typer.Option("--trl-ref", metavar="REF", help="Check the registry against TRL at this ref.")
    ] = None,
    trl_source: Annotated[
        str | None, typer.Option("--trl-source", metavar="git|pypi|PATH", help="Where TRL is read (default: git).")
    ] = None,
    transformers: Annotated[
        bool,
        typer.Option("--transformers", help="Check that the installed transformers reads every sample as recorded."),
    ] = False,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", metavar="FILE", help="Accepted findings, each with its reason.")
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option("--accept", metavar="REASON", help="Add what is found to the baseline, for this reason."),
    ] = None,
    fail_on: Annotated[
        SeverityChoice, typer.Option("--fail-on", help="Exit 1 from this severity on; what is unknown always does.")
    ] = "cosmetic",
    conversations: Annotated[
        int, typer.Option("--conversations", metavar="N", min=1, help="For the proof of a changed template.")
    ] = 200,
    format: Annotated[FormatChoice, typer.Option("--format", help="How the report is written.")] = "table",
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write the report to FILE, not to standard output.")
    ] = None,
    report: Annotated[
        list[str] | None,
        typer.Option("--report", metavar="FORMAT=FILE", help="Write the report to FILE as well, in this format."),
    ] = None,
    registry: RegistryOption = None,
) -> None:
    """Say what has changed since rgw.lock was written, and whether it matters.

    Whatever cannot be looked at is a finding, never clean. Exit code 1: there are findings; 3: something, or all of it,
    could not be checked.

    \b
    rgw check
    rgw check --format github --report sarif=rgw.sarif
    rgw check --registry-repos --family qwen3
    rgw check --trl-ref v1.16.0 --transformers
    """
    form = Format(format)
    if printer.mode is not Mode.HUMAN and form not in {Format.TABLE, Format.JSON}:
        other = "--quiet" if printer.mode is Mode.QUIET else "--json"
        raise UsageError(f"{other} and --format {format} ask for two kinds of output", "leave one of them out")
    if form is Format.JSON:
        printer = replace(printer, mode=Mode.JSON)
    elif printer.mode is Mode.JSON:
        form = Format.JSON
    copies = [_copy(wanted) for wanted in report or ()]
    from rgw.drift.baseline import read_baseline, write_baseline
    from rgw.drift.checking import check as carry_out
    from rgw.registry.loader import load_registry

    if accept is not None and baseline is None:
        raise UsageError("--accept needs a file to write to", "name it: --baseline FILE")
    wanted = _wanted(lock, registry_repos, family, trl_ref, trl_source, transformers, conversations)
    known = read_baseline(baseline) if baseline and (baseline.exists() or accept is None) else ()
    found = carry_out(wanted, load_registry(registry), known, watch=printer.progress)
    if baseline is not None and accept is not None:
        write_baseline(baseline, known, found.findings, accept)
        printer.hint(f"{found.counts['findings']} findings accepted in {baseline}")
    for other, path in copies:
        write_file(path, written(found, other) + "\n")
    if output is not None:
        write_file(output, written(found, form) + "\n")
    else:
        _print(printer, found, form)
    _tell(printer, found)
    raise typer.Exit(found.exit_code(_severity(fail_on)))


def _wanted(
    lock: Path | None,
    registry_repos: bool,
    family: list[str] | None,
    trl_ref: str | None,
    trl_source: str | None,
    transformers: bool,
    conversations: int,
) -> Wanted:
    from rgw.drift.checking import Wanted
    from rgw.upstream.sources import GIT, UpstreamSource

    if family and not registry_repos:
        raise UsageError("--family is for --registry-repos", "add --registry-repos, or leave it out")
    upstream = UpstreamSource(trl_ref, trl_source or GIT) if trl_ref or trl_source else None
    others = registry_repos or upstream or transformers
    return Wanted(
        lockfile=lock or (None if others else DEFAULT_LOCKFILE),
        registrations=registry_repos,
        families=tuple(family or ()),
        upstream=upstream,
        samples=transformers,
        conversations=conversations,
    )


def _print(printer: Output, report: Report, form: Format) -> None:
    if printer.mode is Mode.HUMAN and form is Format.GITHUB:
        printer.commands(written(report, form))
    elif printer.mode is Mode.HUMAN and form is not Format.TABLE:
        printer.paragraph(written(report, form))
    else:
        from rgw.output.findings.document import document
        from rgw.output.findings.table import view

        fingerprints = [finding.fingerprint for finding in report.findings]
        printer.document(document(report), human=lambda: view(report), quiet=fingerprints)


def _tell(printer: Output, report: Report) -> None:
    """Say on stderr what a reader of the code alone must know."""
    from rgw.output.findings.words import summary

    if report.checked_nothing:
        printer.error(f"nothing was checked: {summary(report)} — name models with `rgw lock`, or check the network")
    elif printer.mode is not Mode.HUMAN and report.findings:
        printer.warning(summary(report))


def _copy(wanted: str) -> tuple[Format, Path]:
    name, _, path = wanted.partition("=")
    if name not in list(Format) or not path:
        raise UsageError(f"--report {wanted!r} is not FORMAT=FILE", f"a FORMAT is one of {', '.join(Format)}")
    return Format(name), Path(path)


def _severity(name: SeverityChoice) -> Severity:
    from rgw.drift.model import Severity

    return Severity(name)
