"""Keeps what README.md and docs/ show equal to what the commands print.

After a line `<!-- output: rgw … -->` comes a fenced block with the command and its output; after a line
`<!-- picture: rgw … -->` comes an image whose SVG file is drawn from a run in colour. Both are written by this script.

    python scripts/paste_output.py            run every command and write the pages and pictures
    python scripts/paste_output.py --check    exit 1 and show what differs
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

REPOSITORY = Path(__file__).parents[1]
WIDTH = 100
OUTPUT = re.compile(r"^<!-- output: (?P<command>.+?) -->\n(?:```console\n.*?^```\n)?", re.MULTILINE | re.DOTALL)
VERSION = re.compile(r"(?<=transformers )\d+(?:\.\d+)+")
PICTURE = re.compile(r"^<!-- picture: (?P<command>.+?) -->\n!\[[^\]]*\]\((?P<file>[^)]+)\)$", re.MULTILINE)
# A picture asks nothing of the network; without Rich's web font it is drawn in the reader's own monospaced one.
WEB_FONT = re.compile(r"^ *@font-face \{.*?\}\n", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Write or check everything; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something differs")
    check = parser.parse_args().check
    stale = [(path, text) for path, text in generated() if not path.is_file() or differs(path.read_text("utf-8"), text)]
    for path, text in stale:
        if check:
            show_difference(path, text)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"wrote {path.relative_to(REPOSITORY)}")
    if check and stale:
        print("run `make docs` and look at what changed")
    return int(check and bool(stale))


def generated() -> Iterator[tuple[Path, str]]:
    """Every page and picture as it should be."""
    for page in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]:
        text = page.read_text("utf-8")
        yield page, OUTPUT.sub(lambda match: match[0].partition("\n")[0] + "\n" + block(match["command"]), text)
        for match in PICTURE.finditer(text):
            yield page.parent / match["file"], picture(match["command"])


def differs(first: str, second: str) -> bool:
    """Whether two texts differ in more than the version of transformers that is installed."""
    return VERSION.sub("", first) != VERSION.sub("", second)


def block(command: str) -> str:
    """The fenced block that shows a command with what it prints."""
    return f"```console\n$ {command}\n{run(command, colour=False)}```\n"


def picture(command: str) -> str:
    """An SVG of a terminal in which the command has just run."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere)
        console.print(Text(f"$ {command}", style="bold"))
        console.print(Text.from_ansi(run(command, colour=True)))
        return WEB_FONT.sub("", console.export_svg(title="rgw", unique_id="rgw"))


def run(command: str, *, colour: bool) -> str:
    """What a command prints, with its exit code when that is not 0."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "RGW_"))}
    variables |= {"COLUMNS": str(WIDTH), "PYTHONUTF8": "1"}
    variables |= {"FORCE_COLOR": "1", "TERM": "xterm-256color"} if colour else {"NO_COLOR": "1", "TERM": "dumb"}
    result = subprocess.run(
        shlex.split(command),
        cwd=REPOSITORY,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    printed = "".join(line.rstrip() + "\n" for line in result.stdout.splitlines())
    return printed + (f"(exit code {result.returncode})\n" if result.returncode else "")


def show_difference(path: Path, text: str) -> None:
    """Print what would change in a file."""
    name = str(path.relative_to(REPOSITORY))
    written = path.read_text("utf-8") if path.is_file() else ""
    sys.stdout.writelines(
        difflib.unified_diff(written.splitlines(True), text.splitlines(True), name, "as it should be")
    )


if __name__ == "__main__":
    sys.exit(main())
