"""The real hub still serves what the registry says; opt-in, since it needs the network: `make test-live`."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from rgw.errors import SourceError
from rgw.templates.resolve import resolve

REGISTRY = Path(__file__).parents[2] / "registry"
pytestmark = pytest.mark.live


def registered_templates() -> list[Any]:
    entries = yaml.safe_load((REGISTRY / "templates.yaml").read_text("utf-8"))["templates"]
    return [
        pytest.param(entry["sha256"], entry["repos"], id=f"{entry['variant']}-{entry['sha256'][:8]}")
        for entry in entries
        if entry.get("repos")
    ]


@pytest.fixture(scope="session")
def hub() -> None:
    """Skips where the hub cannot be reached."""
    address = urlsplit(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    try:
        socket.create_connection((address.hostname, address.port or 443), timeout=10).close()
    except OSError as error:
        pytest.skip(f"the hub ({address.hostname}) cannot be reached: {error}")


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(("sha256", "repos"), registered_templates())
def test_a_repository_of_each_registered_template_serves_it(sha256: str, repos: list[str]) -> None:
    unreadable = []
    for repo in repos:
        try:
            served = resolve(repo)
        except SourceError as error:
            unreadable.append(f"{repo}: {error.message}")
            continue
        assert sha256 in {template.sha256 for template in served.templates}, f"{repo} has moved on"
        return
    pytest.skip(f"no repository could be read: {'; '.join(unreadable)}")
