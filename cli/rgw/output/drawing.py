"""The view of `rgw parse` as an SVG, for documents."""

from __future__ import annotations

import io
import re

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from rgw.output.escape import escape_line
from rgw.output.text import Escaped
from rgw.output.turns import view
from rgw.rollouts import Reading

WIDTH = 100
_REMOTE_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_FONTS = 'ui-monospace, Menlo, "DejaVu Sans Mono", monospace'


def drawing(reading: Reading, *, width: int = WIDTH) -> str:
    """A standalone SVG that looks like the terminal.

    Args:
        reading: The derendered output.
        width: How many characters are side by side.
    """
    console = Console(
        file=io.StringIO(), record=True, width=width, force_terminal=True, color_system="truecolor", highlight=False
    )
    for renderable in view(reading):
        console.print(Escaped(renderable))
    svg = console.export_svg(title=escape_line(f"rgw parse {reading.id}"), theme=SVG_EXPORT_THEME)
    return _REMOTE_FONTS.sub("", svg).replace("Fira Code, monospace", _FONTS)
