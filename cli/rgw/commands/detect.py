"""`rgw detect`: which response schema belongs to a model's chat template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rgw.commands.options import (
    DebugOption,
    JsonOption,
    QueryOption,
    QuietOption,
    RegistryOption,
    RevisionOption,
)
from rgw.output import Mode, Output

if TYPE_CHECKING:
    from rich.console import RenderableType

_EXIT_CODES = {"recognised": 0, "unrecognised": 1, "no_template": 1, "error": 3}


def detect(
    refs: Annotated[
        list[str],
        typer.Argument(
            metavar="REF...",
            help="A hub id (Qwen/Qwen3-8B), a model directory, a tokenizer_config.json, chat_template.jinja or"
            " chat_template.json file, or - for a template on stdin.",
        ),
    ],
    revision: RevisionOption = None,
    registry: RegistryOption = None,
    json: JsonOption = False,
    query: QueryOption = None,
    quiet: QuietOption = False,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Say which response schema belongs to a model's chat template.

    The template is identified by the sha256 of its exact text and by nothing else.

    \b
    rgw detect Qwen/Qwen3-8B
    rgw detect ./checkpoint-500 ./base-model
    rgw detect - < chat_template.jinja
    rgw detect meta-llama/Llama-3.1-8B-Instruct --query 'results[0].schema.name'
    """
    output = Output.choose(json=json, query=query, quiet=quiet)
    from rgw.detection import detect as detect_template
    from rgw.output.documents import results_document
    from rgw.registry.loader import load_registry
    from rgw.templates.resolve import resolve_many

    known = load_registry(registry)
    results = [detect_template(found, known).to_dict() for found in resolve_many(refs, revision=revision)]
    output.document(
        results_document(results), human=lambda: _view(results), quiet=(_schema_name(result) for result in results)
    )
    for result in results:
        if result["status"] == "error":
            output.error(_told(result))
        elif result["status"] != "recognised" and output.mode is not Mode.HUMAN:
            output.warning(_told(result))
    raise typer.Exit(max(_EXIT_CODES[result["status"]] for result in results))


def _view(results: list[dict[str, Any]]) -> Iterator[RenderableType]:
    from rgw.output.detections import view

    return view(results)


def _schema_name(result: dict[str, Any]) -> str:
    return result["schema"]["name"] if result["schema"] else "-"


def _told(result: dict[str, Any]) -> str:
    ref, message = result["ref"], result["message"]
    return message if ref in message else f"{ref}: {message}"
