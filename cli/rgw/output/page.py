"""The view of `rgw parse` as one HTML file that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment

from rgw.model import Severity
from rgw.output.agreement import compare
from rgw.output.escape import escape_block, escape_line
from rgw.output.tiles import Omission, Tiles, coverage, label, place
from rgw.output.turns import consequence, contents, verdict
from rgw.rollouts import Reading

TEMPLATE = "page.html.jinja"


def page(reading: Reading) -> str:
    """The whole of a reading as HTML; nothing of a long output is left out."""
    parsed = reading.parsed
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"safe_line": escape_line, "safe_block": escape_block, "label": label}
    template = environment.from_string(files("rgw.output").joinpath(TEMPLATE).read_text(encoding="utf-8"))
    return template.render(
        reading=reading,
        parsed=parsed,
        verdict=verdict(parsed),
        consequence=consequence(parsed),
        errors=[
            (issue, place(reading.output, issue.start)) for issue in parsed.issues if issue.severity is Severity.ERROR
        ],
        contents=contents(parsed),
        coverage=coverage(parsed),
        rows=[row for row in Tiles(reading.output, parsed, whole=True).rows() if not isinstance(row, Omission)],
        agreement=compare(parsed, reading.transformers) if reading.transformers is not None else None,
    )
