"""Several files change as one, wherever the change is cut off."""

from __future__ import annotations

import fcntl  # noqa: F401 - imported here so that importing it is no disk operation of a change
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rgw.errors import RegistryError
from rgw.registry import journal

OLD = {"a.yaml": "old a", "gone.yaml": "old", "schemas/s.yaml": "old s", "../NOTICE": "old pin", "kept.yaml": "kept"}
CHANGE: dict[str, str | None] = {
    "a.yaml": "new a",
    "gone.yaml": None,
    "schemas/s.yaml": "new s",
    "schemas/t.yaml": "new t",
    "fresh/u.yaml": "new u",
    "../NOTICE": "new pin",
}
NEW = {
    "a.yaml": "new a",
    "schemas/s.yaml": "new s",
    "schemas/t.yaml": "new t",
    "fresh/u.yaml": "new u",
    "../NOTICE": "new pin",
    "kept.yaml": "kept",
}
KILLED, REFUSED, FINISHED, NOT_REACHED = 9, 8, 7, 6
DISK_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree", "os.scandir", "os.listdir"}


def write_registry(root: Path) -> Path:
    registry = root / "registry"
    for path, text in OLD.items():
        (registry / path).parent.mkdir(parents=True, exist_ok=True)
        (registry / path).write_text(text)
    return registry


def contents(registry: Path) -> dict[str, str]:
    root = registry.parent
    files = {path.relative_to(registry).as_posix(): path.read_text() for path in registry.rglob("*") if path.is_file()}
    return files | {f"../{path.name}": path.read_text() for path in root.iterdir() if path.is_file()}


def stop_at(step: int, stop: Callable[[], None]) -> Callable[[], int]:
    """From now on, `stop` before the disk operation with this number; the result counts the operations so far."""
    count = 0

    def watch(event: str, _: tuple[object, ...]) -> None:
        nonlocal count
        if event in DISK_EVENTS:
            count += 1
            if count == step:
                stop()

    sys.addaudithook(watch)
    return lambda: count


def replace_in_child(registry: Path, step: int, stop: Callable[[], None]) -> int:
    """Run the change in a process of its own, as an audit hook cannot be taken off again.

    Returns `KILLED`, `REFUSED`, `FINISHED` in spite of the stop, or `NOT_REACHED` when there are fewer operations.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            counted = stop_at(step, stop)
            journal.replace_files(registry, CHANGE)
            code = FINISHED if counted() >= step else NOT_REACHED
        except (KeyboardInterrupt, RegistryError):
            code = REFUSED
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed() -> None:
    os._exit(KILLED)


def interrupted() -> None:
    raise KeyboardInterrupt


def failing() -> None:
    raise OSError(28, "No space left on device")


def test_all_files_change_and_no_trace_is_left(tmp_path: Path) -> None:
    registry = write_registry(tmp_path)
    journal.replace_files(registry, CHANGE)
    assert contents(registry) == NEW


@pytest.mark.parametrize("stop", [killed, interrupted, failing])
def test_cut_off_before_any_disk_operation_the_registry_is_old_or_new(stop: Callable[[], None], tmp_path: Path) -> None:
    seen = []
    for step in range(1, 1000):
        registry = write_registry(tmp_path / str(step))
        result = replace_in_child(registry, step, stop)
        if result == NOT_REACHED:
            break
        assert result in (KILLED, REFUSED, FINISHED)
        journal.recover(registry)
        found = {path: text for path, text in contents(registry).items() if not path.startswith(journal.STAGING)}
        assert found in (OLD, NEW), f"cut off before operation {step}"
        seen.append(found == NEW)
    assert not seen[0]
    assert seen[-1]
    assert seen == sorted(seen), "old up to one moment, new from it on"
    assert len(seen) > 3 * len(CHANGE)


@pytest.mark.parametrize("stop", [killed, interrupted, failing])
def test_the_next_change_finishes_or_clears_what_was_cut_off(stop: Callable[[], None], tmp_path: Path) -> None:
    for step in range(1, 1000):
        registry = write_registry(tmp_path / str(step))
        result = replace_in_child(registry, step, stop)
        journal.replace_files(registry, CHANGE)
        assert contents(registry) == NEW, f"cut off before operation {step}"
        if result == NOT_REACHED:
            break


def test_an_interruption_by_the_user_leaves_no_trace_on_the_disk(tmp_path: Path) -> None:
    for step in range(1, 1000):
        registry = write_registry(tmp_path / str(step))
        if replace_in_child(registry, step, interrupted) == NOT_REACHED:
            break
        assert contents(registry) in (OLD, NEW), f"interrupted before operation {step}"


def test_recovery_of_a_whole_registry_does_nothing(tmp_path: Path) -> None:
    registry = write_registry(tmp_path)
    journal.recover(registry)
    assert contents(registry) == OLD


def test_a_registry_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="absent: cannot be written: No such file or directory"):
        journal.replace_files(tmp_path / "absent", {"a.yaml": "a"})


def test_updates_from_several_sides_are_all_kept(tmp_path: Path) -> None:
    counter = tmp_path / "count.yaml"
    counter.write_text("0", "utf-8")

    def count_on() -> None:
        journal.update_files(tmp_path, lambda: {"count.yaml": str(int(counter.read_text("utf-8")) + 1)})

    threads = [threading.Thread(target=count_on) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.read_text("utf-8") == "8"
