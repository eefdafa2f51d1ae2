"""TRL's own templates, from its wheel: every one that is registered is proved, without any corpus."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

from rgw.proof.batch import Status, pairs_of_registry, prove_all
from rgw.registry.loader import load_registry
from rgw.templates.texts import texts_in_folder

CONVERSATIONS = 15


def test_the_registered_templates_of_trl_are_proved(trl_wheel: Callable[[str], Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(trl_wheel("1.16.0")) as wheel:
        names = [
            name for name in wheel.namelist() if name.startswith("trl/chat_templates/") and name.endswith(".jinja")
        ]
        wheel.extractall(tmp_path, names)
    pairs = pairs_of_registry(load_registry(), lambda carriers: texts_in_folder(tmp_path), schema=None)
    attempts = [
        attempt
        for attempt in prove_all(pairs, count=CONVERSATIONS, seed=0, jobs=1)
        if attempt.status is not Status.NO_TEXT
    ]
    assert len(attempts) >= 20
    assert [f"{attempt.ref}: {attempt.status}" for attempt in attempts if attempt.status is not Status.PROVED] == []
