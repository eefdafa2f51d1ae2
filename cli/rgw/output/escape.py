r"""The one place where strings of a hub, a template or a model are made safe to show.

Whatever could move the cursor, change colours, reorder text or hide in it is shown as the escape that names it
(`\x1b`, `\u202e`). What is safe stays as it is, so escaping twice changes nothing.
"""

from __future__ import annotations

import json
import re

# Categories Cc, Cf, Cs, Zl and Zp of Unicode, less tab and newline, and what XML cannot hold; a test compares this
# with unicodedata.
_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BLOCK = re.compile(f"[{_UNSAFE}]")
_LINE = re.compile(f"[\t\n{_UNSAFE}]")
_COMMAND = re.compile(r"^[^\S\n]*:(?=:)|##(?=\[)", re.MULTILINE)
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def escape_block(text: str) -> str:
    """`text` for several lines of output: newlines and tabs stay."""
    return _BLOCK.sub(_escaped, text)


def escape_line(text: str) -> str:
    """`text` for one line of output: newlines and tabs are shown as escapes too."""
    return _LINE.sub(_escaped, text)


def escape_json(text: str) -> str:
    """JSON text with what is unsafe in its strings as JSON escapes: exact for a program, safe on a terminal."""
    return _BLOCK.sub(_json_escaped, text).replace("##[", r"#\u0023[")


def escape_commands(text: str) -> str:
    """`text` without what a CI log obeys: a line that begins with `::`, and `##[` anywhere."""
    return _COMMAND.sub(lambda match: match[0][:-1] + f"\\x{ord(match[0][-1]):02x}", text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(match: re.Match[str]) -> str:
    return json.dumps(match[0], ensure_ascii=True)[1:-1] if ord(match[0]) != 0x7F else "\\u007f"
