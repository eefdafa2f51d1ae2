"""`rgw export`: a schema as the response template of another engine."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rgw.commands.options import RegistryOption, with_output
from rgw.output import Mode, Output

EngineChoice = Literal["transformers", "vllm", "sglang"]


@with_output
def export(
    output: Output,
    schema: Annotated[str, typer.Argument(metavar="SCHEMA", help="A schema of the registry.")],
    engine: Annotated[EngineChoice, typer.Option("--engine", help="Who is to read with it.")],
    registry: RegistryOption = None,
) -> None:
    """Print a schema's response template as another engine accepts it, with a warning for each thing it cannot be told.

    What is printed goes into tokenizer_config.json, under the key "response_template".

    \b
    rgw export qwen3 --engine sglang > response_template.json
    """
    from dataclasses import asdict
    from json import dumps

    from rgw.exporting import TargetEngine
    from rgw.exporting import export as export_schema
    from rgw.registry.loader import load_registry

    exported = export_schema(load_registry(registry).schema(schema), TargetEngine(engine))
    if output.mode is Mode.JSON:
        output.document({"version": 1, **asdict(exported)}, human=tuple)
        return
    output.paragraph(dumps(exported.response_template, indent=2))
    for warning in exported.warnings:
        output.warning(warning)
