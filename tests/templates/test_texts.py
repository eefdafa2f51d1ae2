"""A template that is known by its hash is found where its bytes are, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from rgw.errors import SourceError
from rgw.templates.identity import sha256_of
from rgw.templates.model import ChatTemplate, ResolvedTemplates, UnresolvedTemplates
from rgw.templates.texts import texts_in_folder, texts_on_hub


def test_a_folder_is_read_to_its_depths(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.jinja").write_text("one", "utf-8")
    (tmp_path / "below" / "b.jinja").write_text("two", "utf-8")
    (tmp_path / "c.txt").write_text("three", "utf-8")
    assert texts_in_folder(tmp_path) == {sha256_of("one"): "one", sha256_of("two"): "two"}


def test_a_file_counts_as_its_bytes_and_as_what_transformers_makes_of_its_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.jinja").write_bytes(b"x\r\ny")
    assert set(texts_in_folder(tmp_path).values()) == {"x\r\ny", "x\ny"}


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_folder_without_templates_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=name):
        texts_in_folder(tmp_path / name)


def test_the_hub_is_asked_until_a_repository_has_the_very_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    served = {("gated/one", None): "", ("other/two", "abc"): "changed", ("true/three", None): "wanted"}
    asked = []

    def answer(places: Iterable[tuple[str, str | None]]) -> dict[tuple[str, str | None], object]:
        asked.append(list(places))
        return {place: _resolved(place[0], served[place]) for place in asked[-1]}

    monkeypatch.setattr("rgw.templates.texts.resolve_places", answer)
    wanted = sha256_of("wanted")
    assert texts_on_hub({wanted: ["gated/one", "other/two@abc", "true/three", "never/asked"]}) == {wanted: "wanted"}
    assert asked == [[("gated/one", None)], [("other/two", "abc")], [("true/three", None)]]


def _resolved(ref: str, text: str) -> ResolvedTemplates | UnresolvedTemplates:
    if not text:
        return UnresolvedTemplates(ref, "it is gated")
    return ResolvedTemplates(ref, templates=(ChatTemplate("default", text, sha256_of(text), "x"),))
