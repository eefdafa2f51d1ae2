"""`rgw diff`: how two chat templates differ, in their texts and in what they write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rgw.commands.options import with_output
from rgw.errors import SourceError, UsageError
from rgw.output import Mode, Output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rgw.differences.model import Comparison, Side

_REF = "A hub id, also as OWNER/NAME@REVISION, a model directory, a template or GGUF file, or - for stdin."


@with_output
def diff(
    output: Output,
    before: Annotated[str, typer.Argument(metavar="A", help=_REF)],
    after: Annotated[str, typer.Argument(metavar="B", help="The same.")],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Compare the templates of this name, not those used with tools."),
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Leave nothing of long differences out.")] = False,
) -> None:
    """Say how two chat templates differ, in their texts and in what they write.

    Both render the same probe conversations, in bounded processes. Exit code 0: they write the same for every probe; 1:
    they do not.

    \b
    rgw diff google/gemma-4-E2B-it@4742fe8 google/gemma-4-E2B-it
    rgw diff ./checkpoint Qwen/Qwen3-8B
    rgw diff model-Q4_K_M.gguf Qwen/Qwen3-8B --query 'differences[].[aspect, probe]'
    """
    if before == after == "-":
        raise UsageError("standard input cannot be both templates", "name a file for one of them")
    from rgw.differences.comparing import compare
    from rgw.output.documents import comparison_of_templates_document

    compared = compare(_side(before, name), _side(after, name))
    aspects = dict.fromkeys(difference.aspect.value for difference in compared.differences)
    output.document(
        comparison_of_templates_document(compared), human=lambda: _view(compared, whole=whole), quiet=aspects
    )
    if compared.differing and output.mode is not Mode.HUMAN:
        count = f"{len(compared.differing)} of {len(compared.probes)} probes"
        output.warning(f"{before} and {after} render {count} differently: {', '.join(aspects)}")
    raise typer.Exit(int(bool(compared.differing)))


def _side(written: str, name: str | None) -> Side:
    from rgw.differences.model import Side
    from rgw.templates.resolve import place_of, resolve

    ref, revision = place_of(written)
    resolved = resolve(ref, revision=revision)
    if name is None:
        template = resolved.effective
    else:
        template = next((template for template in resolved.templates if template.name == name), None)
    if template is None:
        names = ", ".join(dict.fromkeys(repr(template.name) for template in resolved.templates))
        what = f"no chat template {name!r}" if name is not None else "no chat template that is used with tools"
        raise SourceError(
            f"{written} has {what}", f"it has {names}: choose one with --name" if names else "name a template file"
        )
    return Side(ref, resolved.revision, template)


def _view(compared: Comparison, *, whole: bool) -> Iterator[RenderableType]:
    from rgw.output.differences import view

    return view(compared, whole=whole)
