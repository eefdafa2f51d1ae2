"""The texts of templates that are known by their sha256 only: the registry holds none.

They are found in a folder of template files, or in the hub repositories that are said to carry them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rgw.errors import SourceError
from rgw.templates.identity import MAX_TEMPLATE_BYTES, decode_text, sha256_of
from rgw.templates.local import unreadable
from rgw.templates.model import ResolvedTemplates
from rgw.templates.resolve import resolve_places

REPOSITORIES_TRIED = 3


def texts_in_folder(directory: Path) -> dict[str, str]:
    """The template texts of the `.jinja` files below a folder, by sha256.

    A file counts as what it holds byte for byte, and as what transformers makes of its line ends.

    Raises:
        SourceError: The folder cannot be read or holds no such file.
    """
    if not directory.is_dir():
        raise SourceError(f"{directory} is no folder", "name a folder of .jinja files")
    texts: dict[str, str] = {}
    for path in sorted(directory.rglob("*.jinja")):
        try:
            data = path.read_bytes()[: MAX_TEMPLATE_BYTES + 1]
        except OSError as error:
            raise unreadable(str(path), error) from error
        text = decode_text(data, str(path))
        for form in (text, data.decode("utf-8")):
            texts[sha256_of(form)] = form
    if not texts:
        raise SourceError(f"{directory} holds no template", "name a folder of .jinja files")
    return texts


def texts_on_hub(carriers: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The texts of templates, looked for in the first repositories of each until one serves these very bytes.

    Args:
        carriers: sha256 -> repositories, as `owner/name` or `owner/name@revision`.
    """
    texts: dict[str, str] = {}
    for attempt in range(REPOSITORIES_TRIED):
        places = {
            (name, revision or None)
            for sha256, repositories in carriers.items()
            for name, _, revision in [place.partition("@") for place in repositories[attempt : attempt + 1]]
            if sha256 not in texts
        }
        for resolved in resolve_places(sorted(places, key=str)).values():
            if isinstance(resolved, ResolvedTemplates):
                texts |= {found.sha256: found.text for found in resolved.templates if found.sha256 in carriers}
    return texts
