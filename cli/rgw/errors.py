"""The errors that end a command or a library call: what happened, where, and what to do next, in one line.

Nothing else in the package raises for a foreseeable reason. The command line turns each class into its exit code.
"""

from __future__ import annotations

from enum import StrEnum


class RgwError(Exception):
    """A foreseeable failure.

    Args:
        message: What happened and where, in one line.
        fix: What the reader can do next, in one line; empty when the message already says it.
    """

    exit_code = 3

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} — {self.fix}" if self.fix else self.message


class UsageError(RgwError):
    """The request itself cannot be meant: contradictory options, an unknown schema name, a malformed input line."""

    exit_code = 2


class Obstacle(StrEnum):
    """What keeps a source from being read."""

    MISSING = "missing"
    GATED = "gated"
    UNREACHABLE = "unreachable"
    UNUSABLE = "unusable"


class SourceError(RgwError):
    """A file, directory or hub repository could not be read.

    Args:
        message: What happened and where, in one line.
        fix: What the reader can do next, in one line.
        obstacle: What kept it from being read; by default what is there is not what it should be.
    """

    def __init__(self, message: str, fix: str = "", obstacle: Obstacle = Obstacle.UNUSABLE) -> None:
        super().__init__(message, fix)
        self.obstacle = obstacle


class RegistryError(RgwError):
    """A registry file does not validate; the message names the file and the line."""


class UpstreamError(RgwError):
    """TRL could not be read at the requested ref, or uses a construct that the re-sync does not know."""


class EngineError(RgwError):
    """The installed transformers cannot run the schema; the message names the version that can."""


class UnrecognisedTemplateError(RgwError):
    """No schema is registered for the template, and reading on would be guessing."""

    exit_code = 1
