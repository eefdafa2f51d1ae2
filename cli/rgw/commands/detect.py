"""`rgw detect`: which response schema belongs to a model's chat template."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rgw.commands.options import RegistryOption, RevisionOption, with_output
from rgw.output import Mode, Output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rgw.detection import Detection
    from rgw.registry.loader import Registry

_CONVERSATIONS = 200
_EXIT_CODES = {"recognised": 0, "unrecognised": 1, "no_template": 1, "error": 3}


@with_output
def detect(
    output: Output,
    refs: Annotated[
        list[str],
        typer.Argument(
            metavar="REF...",
            help="A hub id (Qwen/Qwen3-8B), a model directory, a tokenizer_config.json, chat_template.jinja,"
            " chat_template.json or GGUF file, or - for a template on stdin.",
        ),
    ],
    base_model: Annotated[
        str | None,
        typer.Option(
            "--base-model",
            metavar="REF",
            help="Compare with the template of this model (by default, for a GGUF repository, the one that it names).",
        ),
    ] = None,
    behaviour: Annotated[
        bool,
        typer.Option("--behaviour", help="Render an unrecognised template and say what it behaves like."),
    ] = False,
    prove: Annotated[
        bool,
        typer.Option("--prove", help="Say as well which schemas prove to read it (about a second for each schema)."),
    ] = False,
    revision: RevisionOption = None,
    registry: RegistryOption = None,
) -> None:
    """Say which response schema belongs to a model's chat template.

    The template is identified by the sha256 of its exact text and by nothing else. With --behaviour or --prove an
    unrecognised one is looked at closely, and stays unrecognised.

    \b
    rgw detect Qwen/Qwen3-8B
    rgw detect ./checkpoint-500 ./base-model
    rgw detect - < chat_template.jinja
    rgw detect model-Q4_K_M.gguf --base-model Qwen/Qwen3-8B
    rgw detect meta-llama/Llama-3.1-8B-Instruct --query 'results[0].schema.name'
    """
    from rgw.detection import detect as detect_template
    from rgw.output.documents import results_document
    from rgw.registry.loader import load_registry
    from rgw.templates.base_model import compare_with_bases
    from rgw.templates.resolve import resolve_many

    known = load_registry(registry)
    found = resolve_many(refs, revision=revision)
    bases = compare_with_bases(found, named=base_model)
    detections = [detect_template(resolved, known, base=bases.get(resolved.ref)) for resolved in found]
    results = [
        {**detection.to_dict(), **(_closer(detection, known, output, prove=prove) if behaviour or prove else {})}
        for detection in detections
    ]
    output.document(
        results_document(results), human=lambda: _view(results), quiet=(_schema_name(result) for result in results)
    )
    for result in results:
        if result["status"] == "error":
            output.error(_told(result))
        elif result["status"] != "recognised" and output.mode is not Mode.HUMAN:
            output.warning(_told(result))
    raise typer.Exit(max(_EXIT_CODES[result["status"]] for result in results))


def _closer(detection: Detection, known: Registry, output: Output, *, prove: bool) -> dict[str, Any]:
    """What rendering an unrecognised template adds to a result; nothing where there is nothing to render."""
    template = detection.effective
    if detection.status != "unrecognised" or template is None:
        return {}
    from rgw.proof.recognition import resemblance_of, schemas_that_prove

    resemblance = resemblance_of(template.text, known)
    found: dict[str, Any] = {"behaviour": resemblance.to_dict() if resemblance else None}
    if prove:
        watch = partial(output.progress, description="Proving", total=len(known.schemas))
        found["proving_schemas"] = list(schemas_that_prove(template.text, known, count=_CONVERSATIONS, watch=watch))
    return found


def _view(results: list[dict[str, Any]]) -> Iterator[RenderableType]:
    from rgw.output.detections import view

    return view(results)


def _schema_name(result: dict[str, Any]) -> str:
    return result["schema"]["name"] if result["schema"] else "-"


def _told(result: dict[str, Any]) -> str:
    ref, message = result["ref"], result["message"]
    return message if ref in message else f"{ref}: {message}"
