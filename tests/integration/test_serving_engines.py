"""What is exported is read alike by the parsers that SGLang and vLLM ship.

SGLang's wheel is asked of the package index. vLLM's is large and its source distribution does not build without torch:
its parser is read from an unpacked source distribution, or a checkout, that `VLLM_SOURCE` names.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

from engine_readings import readings
from rgw.errors import UsageError
from rgw.exporting import TargetEngine, export
from rgw.registry.loader import load_registry
from rgw.upstream import pip

SGLANG_VERSION = "0.5.23"
SGLANG_PARSER = "sglang/srt/parser/chat_parsing/"
VLLM_PARSER = Path("vllm/parser/chat_parsing")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of a parser go: it needs nothing but `regex`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    directory = tmp_path / "engine_chat_parsing"
    directory.mkdir()
    return directory


@pytest.fixture
def imported(package: Path) -> Iterator[None]:
    """Forgets the parser again, so that the next engine's is imported."""
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == package.name]:
        del sys.modules[name]


def parser(package: Path) -> ModuleType:
    importlib.invalidate_caches()
    return importlib.import_module(f"{package.name}.response_parser")


def assert_samples_are_read_alike(parser: ModuleType, engine: TargetEngine) -> None:
    compared = 0
    for schema in load_registry().schemas.values():
        try:
            exported = export(schema, engine)
        except UsageError:
            continue
        for sample, ours, theirs in readings(parser, schema, exported):
            if "escaped" not in sample.title:
                assert theirs == ours, (schema.name, sample.title)
                compared += 1
    assert compared > 50


@pytest.mark.live
@pytest.mark.usefixtures("imported")
def test_samples_are_read_alike_by_sglang(package: Path, tmp_path: Path) -> None:
    with ZipFile(pip.download("sglang", SGLANG_VERSION, into=tmp_path)) as wheel:
        for name in wheel.namelist():
            if name.startswith(SGLANG_PARSER) and name.endswith(".py"):
                (package / Path(name).name).write_bytes(wheel.read(name))
    assert_samples_are_read_alike(parser(package), TargetEngine.SGLANG)


@pytest.mark.live
@pytest.mark.usefixtures("imported")
def test_samples_are_read_alike_by_vllm(package: Path) -> None:
    if "VLLM_SOURCE" not in os.environ:
        pytest.skip("VLLM_SOURCE names no unpacked source distribution of vLLM")
    for path in (Path(os.environ["VLLM_SOURCE"]) / VLLM_PARSER).glob("*.py"):
        (package / path.name).write_bytes(path.read_bytes())
    assert_samples_are_read_alike(parser(package), TargetEngine.VLLM)
