"""From the content of a tool-call region to the names and arguments of its calls, as the field's `transform` says.

The notation is transformers': a string that is a whole `{placeholder}` (dotted to descend into keys) is replaced,
everything else stands for itself. A key of the content that the transform would drop is refused, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rgw.derender.reading import ContentError
from rgw.model import IssueCode

_PLACEHOLDER = re.compile(r"\{(\w+(?:\.\w+)*)\}")
_INCIDENTAL_KEYS = frozenset({"id", "type"})
"""Keys that calls carry on some wires and that say nothing about what is called."""


class CallShape:
    """The `transform` of a tool-call field.

    Args:
        transform: The field's `transform`, or `None` when the content is the call.
        each: The field's `transform_each`: the content is a list and the transform is applied to each element.
    """

    def __init__(self, transform: Any, each: bool) -> None:
        self._transform = transform if transform is not None else "{content}"
        self.is_list = each
        paths = [tuple(path.split(".")) for path in _placeholders(self._transform)]
        self._content_paths = [path[1:] for path in paths if path[0] == "content" and len(path) > 1]
        self._item_paths = paths

    def calls(self, content: Any, captures: Mapping[str, str], position: int) -> list[tuple[Any, Any]]:
        """The `(name, arguments)` pairs of one region; absent parts are `None`.

        Args:
            content: What the content parser returned.
            captures: The named groups of the region's delimiters.
            position: Where the region begins, for errors.

        Raises:
            ContentError: The content does not have the shape of a call.
        """
        if not self.is_list:
            self._refuse_unknown_keys(content, self._content_paths, position)
            return [_function(self._fill({**captures, "content": content}), position)]
        if not isinstance(content, list):
            raise ContentError(IssueCode.INVALID_CALL, "the calls are not a list", position)
        calls = []
        for item in content:
            if not isinstance(item, dict):
                raise ContentError(IssueCode.INVALID_CALL, "a call is not an object", position)
            self._refuse_unknown_keys(item, self._item_paths, position)
            calls.append(_function(self._fill({**captures, **item}), position))
        return calls

    def _fill(self, scope: Mapping[str, Any]) -> Any:
        return _apply(self._transform, scope)

    def _refuse_unknown_keys(self, content: Any, known: Sequence[tuple[str, ...]], position: int) -> None:
        """Refuse keys that no path takes, at every level that a path leads through."""
        if not known:
            return
        if not isinstance(content, dict):
            raise ContentError(IssueCode.INVALID_CALL, "the call is not an object", position)
        _check_keys(content, frozenset(path[0] for path in known), position)
        for key, below in content.items():
            self._refuse_unknown_keys(below, [path[1:] for path in known if path[0] == key and path[1:]], position)


def _placeholders(transform: Any) -> Iterator[str]:
    if isinstance(transform, dict):
        transform = list(transform.values())
    if isinstance(transform, list):
        for part in transform:
            yield from _placeholders(part)
    elif isinstance(transform, str) and (match := _PLACEHOLDER.fullmatch(transform)):
        yield match[1]


def _apply(transform: Any, scope: Mapping[str, Any]) -> Any:
    if isinstance(transform, dict):
        return {key: _apply(value, scope) for key, value in transform.items()}
    if isinstance(transform, list):
        return [_apply(value, scope) for value in transform]
    match = _PLACEHOLDER.fullmatch(transform) if isinstance(transform, str) else None
    if match is None:
        return transform
    value: Any = scope
    for key in match[1].split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _function(call: Any, position: int) -> tuple[Any, Any]:
    """The name and arguments of `{"type": "function", "function": {"name", "arguments"}}` or of the inner object."""
    function = call.get("function", call) if isinstance(call, dict) else call
    if not isinstance(function, dict):
        raise ContentError(IssueCode.INVALID_CALL, "the call is not an object", position)
    _check_keys(function, frozenset({"name", "arguments"}), position)
    return function.get("name"), function.get("arguments")


def _check_keys(found: Mapping[str, Any], known: frozenset[str], position: int) -> None:
    unknown = found.keys() - known - _INCIDENTAL_KEYS
    if unknown:
        keys = ", ".join(repr(key) for key in sorted(unknown)[:3])
        raise ContentError(IssueCode.INVALID_CALL, f"a call has no key {keys}", position)
