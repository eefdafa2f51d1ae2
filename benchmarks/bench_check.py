"""`rgw check` over 300 repositories of a hub that answers after 50 ms; exits 1 when it takes longer than it may.

The hub is one on loopback, in this process; the command runs in its own, with an empty cache as in CI. How long it
takes where many templates have changed depends on the processors: each of them is proved.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from drift.formats import COMPATIBLE, TEMPLATE, write_registry  # noqa: E402
from loopback_hub import LoopbackHub  # noqa: E402

RGW = Path(sys.executable).parent / "rgw"
MODELS = [f"owner/model-{number:03}" for number in range(300)]
CHANGED = 30
LATENCY = 0.05
EDITS: dict[str, tuple[Callable[[int], str], float | None]] = {
    "nothing changed": (lambda _: TEMPLATE, 15.0),
    f"{CHANGED} changed alike": (lambda _: COMPATIBLE, 15.0),
    f"{CHANGED} changed, each otherwise": (lambda number: f"{COMPATIBLE}{{# {number} #}}", None),
}
"""What each changed template becomes, and how many seconds the check may take then."""


def run(directory: Path, endpoint: str, *arguments: str) -> tuple[float, float]:
    """Wall time, and CPU time with that of all processes which the command started."""
    environment = os.environ | {"HF_ENDPOINT": endpoint, "HF_HOME": tempfile.mkdtemp(dir=directory)}
    start = time.monotonic()
    process = subprocess.Popen([RGW, *arguments], cwd=directory, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 1}:
        raise SystemExit(f"rgw {arguments[0]} ended with exit code {process.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime


def measure(edit: Callable[[int], str]) -> tuple[float, float]:
    with LoopbackHub() as hub, tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        registry = str(write_registry(directory / "registry", (TEMPLATE, "bracketed", "owner/model")))
        for model in MODELS:
            hub.commit(model, {"chat_template.jinja": TEMPLATE, "tokenizer_config.json": "{}"})
        run(directory, hub.endpoint, "lock", *MODELS, "--registry", registry)
        for number, model in enumerate(MODELS):
            text = edit(number) if number < CHANGED else TEMPLATE
            hub.commit(model, {"chat_template.jinja": text, "tokenizer_config.json": '{"moved": true}'})
        hub.latency = LATENCY
        return run(directory, hub.endpoint, "check", "--registry", registry)


def main() -> int:
    over = 0
    print(f"{f'{len(MODELS)} repositories':<30} {'wall':>8} {'limit':>8} {'CPU':>8}")
    for name, (edit, limit) in EDITS.items():
        wall, processor = measure(edit)
        over += limit is not None and wall > limit
        allowed = f"{limit:>6.1f} s" if limit is not None else f"{'-':>8}"
        print(f"{name:<30} {wall:>6.1f} s {allowed} {processor:>6.1f} s")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
