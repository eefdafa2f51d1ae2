"""The library face: what `import rgw` offers, and what it must not cost."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rgw

HEAVY = ("transformers", "huggingface_hub", "numpy", "jinja2", "rich", "typer")


def test_importing_rgw_loads_nothing_heavy() -> None:
    script = f"import sys, rgw; print([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["HfTemplateRenderer", "ParsedOutput", "Policy", "resolve_schema_name"])
def test_each_name_of_the_library_face_is_the_derenders_own(name: str) -> None:
    from rgw import derender

    assert getattr(rgw, name) is getattr(derender, name)


def test_a_registry_is_loaded_from_the_library_face() -> None:
    from rgw.registry import loader

    assert rgw.load_registry is loader.load_registry


def test_the_library_face_is_what_it_lists() -> None:
    assert set(rgw.__all__) <= set(dir(rgw))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'parse_anything'"):
        rgw.parse_anything  # noqa: B018
