"""Reads a model's raw output back by the exact chat template it was trained on, and fails loudly when it cannot.

This module is the library face. It imports nothing heavy: each name is loaded when it is first asked for, so that
`import rgw` and the command line start without transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rgw.derender import HfTemplateRenderer, ParsedOutput, Policy, resolve_schema_name
    from rgw.registry.loader import load_registry

__version__ = "0.1.0"

__all__ = ["HfTemplateRenderer", "ParsedOutput", "Policy", "__version__", "load_registry", "resolve_schema_name"]


def __getattr__(name: str) -> Any:
    """Load a name of the library face on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "rgw.registry.loader" if name == "load_registry" else "rgw.derender"
    value = getattr(import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names of the library face, loaded or not."""
    return sorted({*globals(), *__all__})
