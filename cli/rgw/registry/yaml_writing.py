"""Writes data as YAML for people to review: the same data always gives the same bytes, and reads back as it was.

What it writes means the same to any YAML reader. Knows nothing of schemas or templates.
"""

from __future__ import annotations

import re
from types import NoneType
from typing import Any, ClassVar

import yaml

from rgw.errors import RegistryError
from rgw.registry.yaml_reading import FLOAT, INTEGER, TAG

_UNUSUAL_LINE_BREAKS = frozenset("\x85\u2028\u2029")
"""Which a reader turns into others, unless they are escaped."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def dump_yaml(data: Any) -> str:
    """The YAML of JSON-like data: keys in their order, one value a line, text of several lines as a block.

    Args:
        data: Mappings with text keys, lists, text, numbers, `True`, `False` and `None`.

    Raises:
        RegistryError: Something in `data` is none of these, is not Unicode text, or contains itself.
    """
    try:
        # PyYAML's own emitter, not libyaml's: the bytes must not depend on which of them is installed.
        text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"))
    except RecursionError as error:
        raise RegistryError("cannot be written as YAML: the data is nested without end") from error
    return text


class _Dumper(yaml.SafeDumper):
    """Quotes whatever any reader could take for something other than text, and refuses what is not like JSON."""

    yaml_representers: ClassVar[dict[Any, Any]] = {}

    def ignore_aliases(self, data: object) -> bool:
        """Write a value out wherever it stands."""
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        if _SURROGATE.search(text):
            raise RegistryError(f"cannot be written as YAML: {text[:40]!r} holds half a character")
        if not _UNUSUAL_LINE_BREAKS.isdisjoint(text):
            style = '"'
        elif "\n" in text:
            style = "|" if "\n" in text.rstrip("\n") else '"'
        else:
            style = None
        return self.represent_scalar(TAG + "str", text, style)

    def represent_mapping_of_text(self, mapping: dict[Any, Any]) -> yaml.MappingNode:
        for key in mapping:
            if not isinstance(key, str):
                raise RegistryError(f"cannot be written as YAML: the key {key!r} is not text")
        return self.represent_dict(mapping)

    def refuse(self, data: object) -> yaml.Node:
        raise RegistryError(f"cannot be written as YAML: {data!r:.40} is not data as JSON knows it")


_Dumper.add_representer(dict, _Dumper.represent_mapping_of_text)
_Dumper.add_representer(list, _Dumper.represent_list)
_Dumper.add_representer(tuple, _Dumper.represent_list)
_Dumper.add_multi_representer(str, _Dumper.represent_text)  # members of a StrEnum too
_Dumper.add_representer(bool, _Dumper.represent_bool)
_Dumper.add_representer(int, _Dumper.represent_int)
_Dumper.add_representer(float, _Dumper.represent_float)
_Dumper.add_representer(NoneType, _Dumper.represent_none)
_Dumper.add_multi_representer(object, _Dumper.refuse)
# What is text to PyYAML but a number to this registry's reader, and to YAML 1.2, such as `1e3`.
_Dumper.add_implicit_resolver(TAG + "int", re.compile(rf"(?:{INTEGER})\Z"), list("-0123456789"))
_Dumper.add_implicit_resolver(TAG + "float", re.compile(rf"(?:{FLOAT})\Z"), list("-.0123456789"))
