"""What is exported loads in the parser that SGLang ships; asks the package index for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

from rgw.errors import UsageError
from rgw.exporting import TargetEngine, export
from rgw.registry.loader import load_registry
from rgw.upstream import pip

VERSION = "0.5.23"
PACKAGE = "sglang/srt/parser/chat_parsing/"


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """SGLang's `chat_parsing` package alone: it needs nothing but `regex`."""
    directory = tmp_path_factory.mktemp("sglang")
    package = directory / "sglang_chat_parsing"
    package.mkdir()
    with ZipFile(pip.download("sglang", VERSION, into=directory)) as wheel:
        for name in wheel.namelist():
            if name.startswith(PACKAGE) and name.endswith(".py"):
                (package / Path(name).name).write_bytes(wheel.read(name))
    sys.path.insert(0, str(directory))
    yield importlib.import_module("sglang_chat_parsing.response_templates")
    sys.path.remove(str(directory))


@pytest.mark.live
def test_what_is_exported_loads_in_sglang(parser: ModuleType) -> None:
    loaded = 0
    for schema in load_registry().schemas.values():
        try:
            exported = export(schema, TargetEngine.SGLANG)
        except UsageError:
            continue
        parser.load_response_template(dict(exported.response_template))
        loaded += 1
    assert loaded > 10
