"""The view of `rgw detect`: a card for one model, a table for many, and help for whatever is not recognised.

It reads the results of the JSON document, so that both say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rgw.output.text import BAD, DIM, GOOD, NAME, WARN, card, indented, line, table

Result = Mapping[str, Any]

_BASE_STYLES = {True: GOOD, False: BAD, None: WARN}
_MARKS = {"recognised": ("✓", GOOD), "unrecognised": ("✗", BAD), "no_template": ("✗", WARN), "error": ("✗", BAD)}


def view(results: Sequence[Result]) -> Iterator[RenderableType]:
    """What a person sees of `results`."""
    if len(results) == 1:
        yield from _details(results[0])
        return
    yield table(("", "Model", "Schema", "Template", "From"), [_row(result) for result in results])
    for result in results:
        if result["status"] in ("unrecognised", "no_template"):
            yield ""
            yield from _details(result)
    recognised = sum(result["status"] == "recognised" for result in results)
    yield ""
    yield line(f"{recognised} of {len(results)} recognised", DIM)


def _row(result: Result) -> list[str | Text]:
    template = _effective(result)
    schema = result["schema"]
    return [
        line(*_MARKS[result["status"]]),
        line(result["ref"], "bold"),
        line(schema["name"], NAME) if schema else line(result["status"].replace("_", " "), _MARKS[result["status"]][1]),
        line(template["sha256"][:12] if template else "", DIM),
        line(_origin(template) if template else "", DIM),
    ]


def _details(result: Result) -> Iterator[RenderableType]:
    mark, style = _MARKS[result["status"]]
    yield Text.assemble((f"{mark} ", style), line(result["ref"], "bold"), "  ", _status(result))
    yield indented(card(_facts(result)))
    if result["nearest"]:
        yield ""
        yield indented(_nearest(result["nearest"]))
    if "behaviour" in result:
        yield ""
        yield indented(card(_closer(result)))
    if result["message"] and result["status"] != "error":
        yield ""
        yield indented(line(result["message"]))


def _status(result: Result) -> Text:
    schema = result["schema"]
    if schema:
        return Text.assemble(line(schema["name"], NAME), line(f"  {schema['title']}", DIM))
    return line(result["status"].replace("_", " "), _MARKS[result["status"]][1])


def _facts(result: Result) -> Iterator[tuple[str, str | Text]]:
    several = len(result["templates"]) > 1
    for template in result["templates"]:
        yield template["name"] if several else "template", template["sha256"]
        note = "" if template["effective"] or not several else ", not the one used with tools"
        yield "", line(f"{_origin(template)}{note}", DIM)
    if result["schema"]:
        yield "dialects", ", ".join(result["schema"]["dialects"])
        yield "origin", _origin_of_schema(result["schema"]["origin"])
    if result["native_response_template"]:
        yield "native", "the tokenizer configuration carries a response_template of its own"
    if base := result.get("base_model"):
        yield (
            "base model",
            Text.assemble(line(base["ref"], "bold"), "  ", line(base["message"], _BASE_STYLES[base["equal"]])),
        )


def _origin_of_schema(origin: Any) -> str:
    return origin if isinstance(origin, str) else str(origin.get("source", ""))


def _nearest(nearest: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            f"{entry['similarity']:.1%}",
            line(entry["schema"] or "no schema", NAME if entry["schema"] else DIM),
            entry["variant"],
            line(entry["sha256"][:12], DIM),
        )
        for entry in nearest
    ]
    return table(("Alike", "Nearest schema", "Variant", "Template"), rows)


def _closer(result: Result) -> Iterator[tuple[str, str | Text]]:
    """What rendering the template showed."""
    yield "behaves", _behaviour(result["behaviour"])
    if "proving_schemas" in result:
        names = result["proving_schemas"]
        yield "proved with", line(", ".join(names), NAME) if names else "no schema of the registry"


def _behaviour(behaviour: Mapping[str, Any] | None) -> str:
    if behaviour is None:
        return "like no registered template: it renders nothing that could be compared"
    variant = f"{behaviour['variant']} ({behaviour['schema'] or 'no schema'})"
    if not behaviour["differences"]:
        return f"identically to {variant} on {behaviour['probes']} probes"
    first = behaviour["differences"][0]
    return f"like {variant} on {behaviour['alike']} of {behaviour['probes']} probes; the first that differs: {first}"


def _effective(result: Result) -> Mapping[str, Any] | None:
    templates: Sequence[Mapping[str, Any]] = result["templates"]
    return next((template for template in templates if template["effective"]), templates[0] if templates else None)


def _origin(template: Mapping[str, Any]) -> str:
    revision = template["revision"]
    return f"{template['source']} @ {revision[:12]}" if revision else str(template["source"])
