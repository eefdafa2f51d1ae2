"""Work in other processes, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor
from functools import partial
from pathlib import Path

import pytest

from rgw.templates.processes import map_in_processes

PROGRAM = """
import os, signal, sys
from rgw.templates.processes import map_in_processes

def wait(seconds):
    os.write(1, b"working\\n")
    signal.pause()

if __name__ == "__main__":
    try:
        list(map_in_processes(wait, [1, 2, 3], processes=2))
    except KeyboardInterrupt:
        sys.exit("interrupted")
"""

needs_signals = pytest.mark.skipif(not hasattr(signal, "pause"), reason="Windows knows none of these signals")


def test_the_results_come_in_the_order_of_the_items() -> None:
    assert list(map_in_processes(abs, [-3, 1, -2], processes=2)) == [3, 1, 2]


def test_each_process_prepares_itself_first(tmp_path: Path) -> None:
    entered = list(map_in_processes(os.path.relpath, [str(tmp_path)], processes=1, prepare=partial(os.chdir, tmp_path)))
    assert entered == ["."]


def test_an_exception_is_raised_where_its_result_is_asked_for() -> None:
    results = map_in_processes(int, ["1", "x", "2"], processes=1)
    assert next(results) == 1
    with pytest.raises(ValueError, match="'x'"):
        next(results)


@pytest.mark.parametrize("prepare", [None, partial(os._exit, 1)])
def test_a_process_that_dies_is_an_error(prepare: partial[None] | None) -> None:
    with pytest.raises(BrokenExecutor):
        list(map_in_processes(os._exit, [1], processes=1, prepare=prepare))


@needs_signals
@pytest.mark.parametrize("blow", ["SIGTERM", "SIGKILL"])
def test_they_end_when_the_process_that_they_work_for_is_killed(blow: str, tmp_path: Path) -> None:
    with started(tmp_path) as process:
        process.send_signal(getattr(signal, blow))
        assert process.stdout is not None
        assert process.stdout.read() == b""  # this waits for ever while a worker still holds the pipe


@needs_signals
def test_an_interrupt_is_kept_from_them_before_they_can_refuse_it() -> None:
    blocked = partial(signal.pthread_sigmask, signal.SIG_BLOCK)
    assert list(map_in_processes(blocked, [()], processes=1)) == [{signal.SIGINT}]
    assert signal.SIGINT not in blocked(())


@needs_signals
def test_an_interrupt_ends_them_at_their_work_and_is_told_once(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate() == (b"", b"interrupted\n")
    assert process.returncode == 1


def started(folder: Path) -> subprocess.Popen[bytes]:
    """A program whose two workers are both at work, for ever."""
    program = folder / "program.py"
    program.write_text(PROGRAM, "utf-8")
    process = subprocess.Popen(
        [sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == [b"working\n"] * 2
    return process
