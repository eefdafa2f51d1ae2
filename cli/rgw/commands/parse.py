"""`rgw parse`: read raw output back to reasoning, text and tool calls, and show what happened to every byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rgw.commands.options import RegistryOption, RevisionOption, with_output
from rgw.errors import UsageError
from rgw.output import Mode, Output
from rgw.output.files import write_file

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rgw.rollouts import BadLine, Choice, NotRunnable, Reading

# The choices of rgw.derender.Policy, written out so that `rgw --help` needs no derender; a test compares them.
CallInReasoningChoice = Literal["reasoning", "error", "call"]
TextAfterCallChoice = Literal["keep", "error"]
ToleranceChoice = Literal["warn", "error"]
CutCallChoice = Literal["degrade", "keep_complete"]
UnclosedValueChoice = Literal["error", "next_tag"]
BuiltinToolChoice = Literal["error", "drop"]

_BAD_LINES_TOLD = 10
_LARGEST_COMPARED = 100_000
"""Characters of the longest output that is compared with transformers unasked: it may take quadratic time."""


@with_output
def parse(
    output: Output,
    file: Annotated[str, typer.Argument(metavar="FILE", help="One raw output, or - for standard input.")],
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="REF", help="Read with the schema of this model (hub id, directory, file)."),
    ] = None,
    schema: Annotated[
        str | None, typer.Option("--schema", metavar="NAME", help="Read with this schema of the registry.")
    ] = None,
    template: Annotated[
        str | None, typer.Option("--template", metavar="FILE", help="Read with the schema of this chat template.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option("--tools", metavar="FILE", help="The request's tools, a JSON list.")
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option("--prompt", metavar="TEXT|@FILE", help="The prompt that the output continues, or its last part."),
    ] = None,
    native: Annotated[
        bool,
        typer.Option(
            "--native", help="Read with the response_template that --model itself ships; nobody vouches for it."
        ),
    ] = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="FILE holds one JSON object a line; print one result object a line.")
    ] = False,
    compare: Annotated[
        bool | None,
        typer.Option(
            "--compare/--no-compare",
            help="Put beside it what transformers alone returns (by default for one output, not for --jsonl).",
        ),
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Leave nothing of a long output out.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the view to a standalone HTML file.")
    ] = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write the view to an SVG file.")] = None,
    call_in_reasoning: Annotated[
        CallInReasoningChoice, typer.Option(help="A tool call inside reasoning that was never closed.")
    ] = "reasoning",
    text_after_call: Annotated[TextAfterCallChoice, typer.Option(help="Text after a tool call.")] = "keep",
    undeclared_tool: Annotated[ToleranceChoice, typer.Option(help="A call of a tool that was not offered.")] = "warn",
    cut_call: Annotated[CutCallChoice, typer.Option(help="A turn that ends inside a call.")] = "degrade",
    argument_type: Annotated[
        ToleranceChoice, typer.Option(help="An argument that its tool does not declare, or declares otherwise.")
    ] = "warn",
    unclosed_value: Annotated[
        UnclosedValueChoice, typer.Option(help="An argument value whose closing tag is missing.")
    ] = "error",
    builtin_tool: Annotated[
        BuiltinToolChoice, typer.Option(help="A message to a built-in tool, such as gpt-oss's python.")
    ] = "error",
    revision: RevisionOption = None,
    registry: RegistryOption = None,
) -> None:
    """Read a model's raw output back to reasoning, text and tool calls.

    Without --model, --schema or --template it is read with every schema, to compare them: that identifies nothing.

    \b
    rgw parse output.txt --model Qwen/Qwen3-8B
    rgw parse output.txt --model ./checkpoint --native
    rgw parse output.txt --schema qwen3 --tools tools.json --html turn.html
    rgw parse rollouts.jsonl --jsonl --model ./checkpoint --query 'ill_formed'
    """
    from rgw.derender.policy import policy_from_dict
    from rgw.registry.loader import load_registry
    from rgw.rollouts import Choice, Readers, Request, compare_schemas, read_lines, read_text, read_tools

    policy = policy_from_dict(
        {
            "call_in_reasoning": call_in_reasoning,
            "text_after_call": text_after_call,
            "undeclared_tool": undeclared_tool,
            "cut_call": cut_call,
            "argument_type": argument_type,
            "unclosed_value": unclosed_value,
            "builtin_tool": builtin_tool,
        }
    )
    choice = Choice(schema=schema, template=template, model=model)
    request = Request(
        choice=choice,
        prompt=read_text(prompt[1:]) if prompt is not None and prompt.startswith("@") else prompt,
        tools=read_tools(tools) if tools is not None else None,
    )
    if (html is not None or svg is not None) and (jsonl or not choice):
        raise UsageError("--html and --svg show one output, read with one schema", "name the schema, leave --jsonl out")
    if native:
        _require_native(choice, jsonl=jsonl, compare=compare)
        output.hint("read with what the model itself ships, which is in no registry and proved by nobody")
    with Readers(load_registry(registry), policy=policy, revision=revision, native=native) as readers:
        if jsonl:
            raise typer.Exit(_stream(output, read_lines(file, readers, request, compare=compare is True)))
        if not choice:
            raise typer.Exit(_compare(output, compare_schemas(read_text(file), readers, request, name=file)))
        reader = readers.reader(choice)
        text = read_text(file)
        compared = compare if compare is not None else not native and len(text) <= _LARGEST_COMPARED
        if not (compared or native or compare is False):
            output.hint(f"not compared with transformers, which may take long on {len(text):,} characters: --compare")
        reading = reader.read(text, request, name=file, compare=compared)
    _show(output, reading, whole=whole)
    _draw(reading, html=html, svg=svg)
    raise typer.Exit(int(_is_bad(reading)))


def _require_native(choice: Choice, *, jsonl: bool, compare: bool | None) -> None:
    if choice.schema is not None or not (choice or jsonl):
        raise UsageError("--native reads with what a model ships", "name the model with --model, and no --schema")
    if compare:
        raise UsageError("--native and --compare exclude each other", "transformers alone would run it unbounded")


def _show(output: Output, reading: Reading, *, whole: bool) -> None:
    from rgw.output.documents import results_document

    def human() -> Iterator[RenderableType]:
        from rgw.output.turns import view

        return view(reading, whole=whole)

    output.document(results_document([reading.to_dict()]), human=human, quiet=[_word(reading)])
    if output.mode is Mode.HUMAN:
        return
    if reading.parsed.ill_formed:
        errors = [issue.code.value for issue in reading.parsed.issues if issue.severity == "error"]
        output.error(f"{reading.id}: ill-formed: {', '.join(dict.fromkeys(errors))}")
    elif _is_bad(reading):
        output.error(f"{reading.id}: what looks like a tool call was read as text — look at the model's template")


def _compare(output: Output, results: list[Reading | NotRunnable]) -> int:
    from rgw.output.documents import comparison_document

    def human() -> Iterator[RenderableType]:
        from rgw.output.comparison import view

        return view(results)

    clean = [result.schema for result in results if result.clean]
    output.document(comparison_document(results), human=human, quiet=clean)
    output.hint("this compares schemas on one output; `rgw detect` identifies a model's schema")
    return int(not any(result.readable for result in results))


def _stream(output: Output, readings: Iterator[Reading | BadLine]) -> int:
    """Print one result a line; the worst of the exit codes."""
    from rgw.rollouts import BadLine

    worst = clean = ill_formed = missed = bad = 0
    for reading in output.progress(readings, description="Reading", printing=True):
        if output.mode is not Mode.QUIET:
            output.record(reading.to_dict())
        if isinstance(reading, BadLine):
            bad += 1
            worst = max(worst, reading.error.exit_code)
            if bad <= _BAD_LINES_TOLD:
                output.error(f"line {reading.line}: {reading.error}")
        elif _is_bad(reading):
            ill_formed += reading.parsed.ill_formed
            missed += not reading.parsed.ill_formed
            worst = max(worst, 1)
        else:
            clean += 1
    missing = f"{missed:,} with what looks like a call and was not read, " if missed else ""
    output.hint(f"{clean:,} read, {ill_formed:,} ill-formed, {missing}{bad:,} bad lines")
    return worst


def _draw(reading: Reading, *, html: Path | None, svg: Path | None) -> None:
    if html is not None:
        from rgw.output.page import page

        write_file(html, page(reading))
    if svg is not None:
        from rgw.output.drawing import drawing

        write_file(svg, drawing(reading))


def _is_bad(reading: Reading) -> bool:
    """Whether the turn did not read, or its text holds what looks like a call: an agent would take it for an answer."""
    return reading.parsed.ill_formed or reading.parsed.keeps_call_in_text


def _word(reading: Reading) -> str:
    if reading.parsed.ill_formed:
        return "ill-formed"
    return "looks-like-call" if _is_bad(reading) else "clean"
