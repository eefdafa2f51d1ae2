"""What the evaluator reads, what it refuses, and that it runs nothing."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from rgw.errors import UpstreamError
from rgw.upstream.evaluator import MAX_STRING_CHARACTERS, Evaluator, Outcome, ProcessingClass, parse

FLAG = """
import transformers
from packaging.version import Version
_SUPPORTS = Version(transformers.__version__) >= Version("5.13.0.dev0")
"""


def bindings_of(source: str, *, version: str = "5.24.0", files: dict[str, str] | None = None) -> dict[str, Any]:
    evaluator = Evaluator(filename="utils.py", read_text=(files or {}).__getitem__, transformers_version=version)
    return evaluator.run_module(parse(source, "utils.py"))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'text'", "text"),
        ("r'\\d' 'two'", "\\dtwo"),
        ("'a' + 'b'", "ab"),
        ("f'<{word}>{{}}'", "<word>{}"),
        ("[1, 2.5, True, None]", [1, 2.5, True, None]),
        ("('a', ['b'])", ("a", ["b"])),
        ("{'a': {'b': []}}", {"a": {"b": []}}),
        ("'yes' if flag else 'no'", "yes"),
        ("'a' in ['a', 'b']", True),
        ("word == 'other'", False),
        ("word is None", False),
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(expression: str, value: object) -> None:
    assert bindings_of(f"word = 'word'\nflag = True\nresult = {expression}")["result"] == value


def test_keys_keep_the_order_in_which_they_are_written() -> None:
    assert list(bindings_of("result = {'z': 1, 'a': 2}")["result"]) == ["z", "a"]


def test_a_loop_over_range_repeats_its_body() -> None:
    assert bindings_of("text = 'x'\nfor _ in range(3):\n    text = f'({text})'")["text"] == "(((x)))"


def test_a_file_is_read_by_its_path_beside_the_module() -> None:
    source = (
        "from pathlib import Path\n"
        "_DIRECTORY = Path(__file__).parent / 'chat_templates'\n"
        "text = (_DIRECTORY / 'a.jinja').read_text(encoding='utf-8')"
    )
    assert bindings_of(source, files={"chat_templates/a.jinja": "{{ a }}"})["text"] == "{{ a }}"


@pytest.mark.parametrize(
    ("version", "supported"), [("5.12.1", False), ("5.13.0.dev0", True), ("5.13.0", True), ("5.24.0", True)]
)
def test_a_capability_is_what_the_transformers_version_makes_it(version: str, supported: bool) -> None:
    assert bindings_of(FLAG, version=version)["_SUPPORTS"] is supported


def test_a_version_that_the_file_asks_about_is_noted() -> None:
    evaluator = Evaluator(filename="utils.py", read_text={}.__getitem__, transformers_version="5.0")
    evaluator.run_module(parse(FLAG, "utils.py"))
    assert [str(version) for version in evaluator.compared_versions] == ["5.13.0.dev0"]


@pytest.mark.parametrize(
    ("line", "construct"),
    [
        ("x = open('/etc/passwd')", "Name `open`"),
        ("x = __import__('os')", "Name `__import__`"),
        ("x = [n for n in (1, 2)]", "ListComp `[n for n in (1, 2)]`"),
        ("x = {*()}", "Set `{*()}`"),
        ("x = {**{}}", "a key that is not a string in `{**{}}`"),
        ("x = {1: 2}", "a key that is not a string in `{1: 2}`"),
        ("x = 'a' * 3", "BinOp `'a' * 3`"),
        ("x = 1 + 2", "BinOp `1 + 2`"),
        ("x = f'{1}'", "FormattedValue"),
        ("x = 'a'.upper()", "Call `'a'.upper()`"),
        ("x = 'abc'[0]", "Subscript `'abc'[0]`"),
        ("x = lambda: 1", "Lambda `lambda: 1`"),
        ("x = b'bytes'", "Constant `b'bytes'`"),
        ("x = undefined", "Name `undefined`"),
        ("x = 1 < 2 < 3", "Compare `1 < 2 < 3`"),
        ("x = 1 if 1 else 2", "a condition that is neither true nor false, `1`"),
        ("x += 'a'", "AugAssign `x += 'a'`"),
        ("x['a'] = 1", "an assignment to `x['a']`"),
        ("x.update({})", "Expr `x.update({})`"),
        ("del x", "Delete `del x`"),
        ("import os; x = os.environ", "Attribute `os.environ`"),
        ("from os import *", "ImportFrom `from os import *`"),
        ("class X: pass", "ClassDef `class X:`"),
        ("with x: pass", "With `with x:`"),
        ("try: pass\nexcept Exception: pass", "Try `try:`"),
        ("while True: pass", "While `while True:`"),
        ("for x in range(10**9): pass", "BinOp `10 ** 9`"),
        ("for x in range(1000): pass", "For `for x in range(1000):`"),
        ("for x in ['a']: pass", "For `for x in ['a']:`"),
        ("assert x", "Assert `assert x`"),
        ("from packaging.version import Version; x = Version('not one')", "Call `Version('not one')`"),
    ],
)
def test_an_unknown_construct_is_named_with_file_and_line(line: str, construct: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        bindings_of(f"x = {{}}\n{line}")
    assert caught.value.message.startswith("utils.py:2: does not know how to read ")
    assert construct in caught.value.message
    assert "\n" not in str(caught.value)


def test_nothing_is_run(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UpstreamError):
        bindings_of("open('written', 'w').write('run')")
    assert list(tmp_path.iterdir()) == []


def test_a_function_that_is_not_called_may_hold_any_construct() -> None:
    bindings = bindings_of("def f(x):\n    with open(x) as file:\n        return [line async for line in file]")
    assert isinstance(bindings["f"], ast.FunctionDef)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UpstreamError, match=r"utils.py:2: reads 'a.jinja', which is not there"):
        bindings_of("from pathlib import Path\nx = (Path(__file__).parent / 'a.jinja').read_text(encoding='utf-8')")


def test_a_string_that_doubles_itself_is_stopped() -> None:
    source = "x = 'xxxxxxxx'\nfor _ in range(60):\n    x = x + x"
    with pytest.raises(UpstreamError, match=f"a string of more than {MAX_STRING_CHARACTERS} characters"):
        bindings_of(source)


@pytest.mark.parametrize("source", ["x = (", "x = \0", "x = " + "(" * 10_000])
def test_what_is_not_python_is_refused_in_one_line(source: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        bindings_of(source)
    assert "utils.py" in caught.value.message
    assert "\n" not in str(caught.value)


def test_an_expression_nested_beyond_measure_is_refused() -> None:
    with pytest.raises(UpstreamError):
        bindings_of("x = " + " + ".join(["'a'"] * 5_000))


@pytest.mark.parametrize(
    ("template", "outcome", "attributes"),
    [("known", Outcome.RETURNED, {"response_schema": {"a": 1}}), ("other", Outcome.RAISED, {})],
)
def test_a_function_is_followed_for_one_template(
    template: str, outcome: Outcome, attributes: dict[str, object]
) -> None:
    source = (
        "def f(tokenizer):\n"
        "    if tokenizer.chat_template == known:\n"
        "        tokenizer.response_schema = schema\n"
        "        return tokenizer\n"
        "    raise ValueError('unknown')\n"
    )
    evaluator = Evaluator(filename="utils.py", read_text={}.__getitem__, transformers_version="5.24.0")
    bindings = evaluator.run_module(parse(f"known = 'known'\nschema = {{'a': 1}}\n{source}", "utils.py"))
    tokenizer = ProcessingClass(template)
    assert evaluator.run_function(bindings["f"], tokenizer, bindings) is outcome
    assert tokenizer.attributes == attributes
