"""Changes several files of a registry as one: after an interruption at any point, all of them are old or all are new.

The new contents are first written beside the old ones. Renaming the finished journal into place is the one moment at
which the change happens; what remains after it is repeatable and is finished by whoever opens the registry next.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from rgw.errors import RegistryError

STAGING = ".resync"
JOURNAL = "journal.json"

_UNFINISHED = "journal.unfinished"


def replace_files(registry: Path, contents: Mapping[str, str | None]) -> None:
    """Write each file of `contents`, a path relative to `registry`, and remove those whose content is `None`.

    Raises:
        RegistryError: The registry cannot be written to; nothing has changed then.
    """
    update_files(registry, lambda: contents)


def update_files(registry: Path, make: Callable[[], Mapping[str, str | None]]) -> None:
    """Like `replace_files`, with contents that are made from the old files while no other process changes them.

    Raises:
        RegistryError: The registry cannot be written to; nothing has changed then.
    """
    try:
        with _exclusive(registry):
            _roll_forward(registry)
            _stage(registry, make())
            try:
                _roll_forward(registry)
            except KeyboardInterrupt:
                _roll_forward(registry)
                raise
    except OSError as error:
        raise RegistryError(f"{registry}: cannot be written: {error.strerror or error}") from error


def recover(registry: Path) -> None:
    """Finish a change that was interrupted after its journal was in place; costs one look at the disk otherwise.

    Raises:
        RegistryError: There is such a change and the registry cannot be written to.
    """
    if not (registry / STAGING / JOURNAL).exists():
        return
    try:
        with _exclusive(registry):
            _roll_forward(registry)
    except OSError as error:
        raise RegistryError(
            f"{registry}: an interrupted re-sync cannot be finished: {error.strerror or error}",
            "make the registry writable and run the command again",
        ) from error


def _stage(registry: Path, contents: Mapping[str, str | None]) -> None:
    """Write the new contents and, last and at once, the journal that puts them in force."""
    staging = registry / STAGING
    staging.mkdir()
    try:
        journal: dict[str, str | None] = {}
        for number, (path, content) in enumerate(sorted(contents.items())):
            journal[path] = None if content is None else f"{number}.new"
            if content is not None:
                _write(staging / f"{number}.new", content)
        _write(staging / _UNFINISHED, json.dumps(journal))
        _synchronise(staging)
        (staging / _UNFINISHED).replace(staging / JOURNAL)
    except BaseException:
        if not (staging / JOURNAL).exists():
            shutil.rmtree(staging, ignore_errors=True)
        raise


def _roll_forward(registry: Path) -> None:
    """Carry out the journal if there is one, whether or not a part of it was done before; remove all traces."""
    staging = registry / STAGING
    if (staging / JOURNAL).exists():
        _synchronise(staging)
        journal: dict[str, str | None] = json.loads((staging / JOURNAL).read_text(encoding="utf-8"))
        for path, staged in journal.items():
            _carry_out(registry / path, staging / staged if staged else None)
        for directory in {(registry / path).parent for path in journal}:
            _synchronise(directory)
        (staging / JOURNAL).unlink()
    if staging.exists():
        shutil.rmtree(staging)


def _carry_out(target: Path, staged: Path | None) -> None:
    if staged is None:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):  # moved into place before the interruption
        staged.replace(target)


def _write(path: Path, content: str) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _synchronise(directory: Path) -> None:
    """Make renames within `directory` durable, where the system can do that."""
    with suppress(PermissionError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _exclusive(registry: Path) -> Iterator[None]:
    """Keep other processes from changing `registry` meanwhile, where the system has advisory locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(registry, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
