"""`rgw explain`: what a rule of `rgw lint` means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rgw.commands.options import with_output
from rgw.output import Output

if TYPE_CHECKING:
    from rich.console import RenderableType


@with_output
def explain(
    output: Output,
    rule: Annotated[str | None, typer.Argument(metavar="RULE", help="A rule's id; all are listed without.")] = None,
) -> None:
    """Explain a rule of `rgw lint`: why it matters and what to do.

    \b
    rgw explain
    rgw explain drops-tool-calls
    """
    from rgw.fitness.rules import RULES
    from rgw.fitness.rules import rule as rule_of
    from rgw.output.documents import rules_document

    rules = [rule_of(rule)] if rule is not None else list(RULES.values())

    def human() -> Iterator[RenderableType]:
        from rgw.output.lints import rule_view, rules_view

        return rule_view(rules[0]) if rule is not None else rules_view(rules)

    output.document(rules_document(rules), human=human, quiet=[found.id for found in rules])
