"""Which dialect the installed transformers runs, and what is said where it can run none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rgw.derender import engines
from rgw.derender.engines import engine_for, runnable_dialect
from rgw.derender.policy import LENIENT_POLICY, BuiltinTool, CallInReasoning, Policy, UnclosedValue
from rgw.errors import EngineError
from rgw.registry.model import Dialect, Origin, Schema

NEW, OLD = Dialect.RESPONSE_TEMPLATE, Dialect.RESPONSE_SCHEMA


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Pretend that a release of transformers is installed."""
    return lambda major, minor: monkeypatch.setattr(engines, "transformers_version", lambda: (major, minor))


def schema(*dialects: Dialect) -> Schema:
    return Schema("sample", "Sample", Origin("rgw"), {dialect: {} for dialect in dialects})


@pytest.mark.parametrize(
    ("version", "dialects", "runs"),
    [
        ((5, 24), [NEW], NEW),
        ((5, 24), [NEW, OLD], NEW),
        ((5, 14), [NEW, OLD], NEW),
        ((5, 14), [OLD], OLD),
        ((5, 13), [NEW], NEW),
        ((5, 12), [NEW, OLD], OLD),
        ((5, 0), [OLD], OLD),
        ((6, 0), [NEW, OLD], NEW),
    ],
)
def test_the_newer_dialect_is_run_where_both_would_do(
    install: Callable[[int, int], None], version: tuple[int, int], dialects: list[Dialect], runs: Dialect
) -> None:
    install(*version)
    assert runnable_dialect(schema(*dialects)) is runs


@pytest.mark.parametrize(
    "policy",
    [
        Policy(call_in_reasoning=CallInReasoning.CALL),
        Policy(unclosed_value=UnclosedValue.NEXT_TAG),
        Policy(builtin_tool=BuiltinTool.DROP),
        LENIENT_POLICY,
    ],
)
def test_the_legacy_dialect_refuses_what_it_cannot_let_pass(
    install: Callable[[int, int], None], policy: Policy
) -> None:
    install(5, 12)
    with pytest.raises(EngineError, match="response_schema") as caught:
        engine_for(schema(NEW, OLD), policy)
    assert ">= 5.13" in caught.value.fix


@pytest.mark.parametrize(
    ("version", "dialects", "wanted"),
    [
        ((5, 12), [NEW], ">=5.13"),
        ((4, 57), [NEW, OLD], ">=5.13"),
        ((5, 15), [OLD], ">=5.0,<5.15"),
        ((5, 24), [OLD], ">=5.0,<5.15"),
        ((4, 57), [OLD], ">=5.0,<5.15"),
    ],
)
def test_where_none_runs_the_version_that_does_is_named(
    install: Callable[[int, int], None], version: tuple[int, int], dialects: list[Dialect], wanted: str
) -> None:
    install(*version)
    with pytest.raises(EngineError) as caught:
        runnable_dialect(schema(*dialects))
    assert f"{version[0]}.{version[1]} is installed" in caught.value.message
    assert "schema sample" in caught.value.message
    assert caught.value.fix == f"install it with: pip install 'transformers{wanted}'"
