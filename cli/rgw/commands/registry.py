"""`rgw registry`: look at what is registered, and check a registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rgw.commands.options import RegistryOption, with_output
from rgw.output import Output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rgw.registry.loader import Registry

application = typer.Typer(
    help="Browse and check the registered schemas and templates.", rich_markup_mode=None, no_args_is_help=False
)


_HASH_START = 8


@application.command("list")
@with_output
def list_schemas(
    output: Output,
    registry: RegistryOption = None,
) -> None:
    """List the schemas and how many templates each is registered for.

    \b
    rgw registry list
    rgw registry list --query "templates[?schema=='qwen3'].repos[]"
    """
    from rgw.output.documents import registry_document
    from rgw.registry.loader import load_registry

    known = load_registry(registry)

    def human() -> Iterator[RenderableType]:
        from rgw.output.registry import list_view

        return list_view(known)

    output.document(registry_document(known), human=human, quiet=known.schemas)


@application.command("show")
@with_output
def show_schema(
    output: Output,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A schema's name, or the start of a template's sha256.")],
    registry: RegistryOption = None,
) -> None:
    """Show one schema: where it comes from, what it is registered for, how it reads.

    \b
    rgw registry show qwen3
    rgw registry show a55ee1b1
    """
    from rgw.output.documents import schema_document
    from rgw.registry.loader import load_registry

    known = load_registry(registry)
    schema = known.schema(_schema_name(known, name))
    templates = [template for template in known.templates.values() if template.schema == schema.name]

    def human() -> Iterator[RenderableType]:
        from rgw.output.registry import show_view

        return show_view(schema, templates)

    output.document(schema_document(schema, templates), human=human, quiet=[template.sha256 for template in templates])


@application.command("check")
@with_output
def check(
    output: Output,
    growth: Annotated[
        bool, typer.Option("--growth", help="Measure too that reading takes linear time (some seconds a schema).")
    ] = False,
    registry: RegistryOption = None,
) -> None:
    """Check that a registry is valid and that each schema reads its own samples.

    \b
    rgw registry check
    rgw registry check --registry ./my-registry --growth
    """
    from rgw.checking import check_registry
    from rgw.output.documents import checks_document
    from rgw.registry.loader import load_registry

    checks = list(output.progress(check_registry(load_registry(registry), growth=growth), description="Checking"))

    def human() -> Iterator[RenderableType]:
        from rgw.output.registry import check_view

        return check_view(checks)

    faulty = [check.name for check in checks if check.problems]
    output.document(checks_document(checks), human=human, quiet=faulty)
    raise typer.Exit(int(bool(faulty)))


def _schema_name(known: Registry, name: str) -> str:
    """`name`, or the schema of the only template whose sha256 begins with it."""
    found = {
        template.schema
        for sha256, template in known.templates.items()
        if len(name) >= _HASH_START and sha256.startswith(name.lower()) and template.schema
    }
    return found.pop() if len(found) == 1 and name not in known.schemas else name
