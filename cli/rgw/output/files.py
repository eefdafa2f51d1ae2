"""Writing a result to a file that somebody has named. Whoever wrote the text has escaped what strangers said."""

from __future__ import annotations

from pathlib import Path

from rgw.errors import SourceError


def write_file(path: Path, text: str) -> None:
    """Write a text to a file.

    Raises:
        SourceError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"{path} could not be written: {error.strerror}", "name a file that can be written"
        ) from error
