"""The pytest plugin: a project asserts in one line that what its models write is read back.

    def test_tool_calls_come_back(rgw_detects, rgw_proves):
        rgw_detects("my-org/agent", schema="qwen3")
        rgw_proves("my-org/agent")

Inert unless a test asks for one of the fixtures: loading it imports pytest and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

import pytest

if TYPE_CHECKING:
    from rgw.detection import Detection
    from rgw.proof.batch import Attempt
    from rgw.proof.certificate import Proof
    from rgw.registry.loader import Registry
    from rgw.templates.rendering import RenderPool

_LONGEST_OUTPUT = 2_000


class Detects(Protocol):
    """Asserts that a model's chat template has a response schema."""

    def __call__(self, ref: str | Path, schema: str | None = None, *, revision: str | None = None) -> Detection:
        """Fail the test unless the template is recognised.

        Args:
            ref: What `rgw detect` takes: a hub id, a model directory, a file.
            schema: The schema that it must have; any will do when left out.
            revision: The branch, tag or commit of a hub repository.

        Returns:
            The detection.
        """


class Proves(Protocol):
    """Asserts that a response schema reads what a model's chat template writes."""

    def __call__(
        self,
        ref: str | Path,
        schema: str | None = None,
        *,
        conversations: int = 200,
        seed: int = 0,
        revision: str | None = None,
    ) -> Proof:
        """Fail the test unless the pair is proved.

        Args:
            ref: What `rgw prove` takes: a hub id, a model directory, a file.
            schema: The schema to try; the registered one when left out.
            conversations: How many, ordinary and hostile each.
            seed: What the conversations are made from.
            revision: The branch, tag or commit of a hub repository.

        Returns:
            The certificate.
        """


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a project name its own registry in its configuration."""
    parser.addini(
        "rgw_registry", "the project's own registry for rgw's fixtures (default: RGW_REGISTRY)", type="string"
    )


@pytest.fixture(scope="session")
def rgw_registry(request: pytest.FixtureRequest) -> Registry:
    """The registry of `rgw_detects` and `rgw_proves`: the packaged one, under the project's own if it names one."""
    from rgw.errors import RgwError
    from rgw.registry.loader import load_registry

    named = request.config.getini("rgw_registry")
    overlay = request.config.rootpath / named if named else os.environ.get("RGW_REGISTRY")
    try:
        return load_registry(Path(overlay) if overlay else None)
    except RgwError as error:
        _fail(str(error))


@pytest.fixture(scope="session")
def rgw_detects(rgw_registry: Registry) -> Detects:
    """Assert that a model's chat template has a response schema: `rgw_detects("my-org/agent", schema="qwen3")`."""

    def detects(ref: str | Path, schema: str | None = None, *, revision: str | None = None) -> Detection:
        __tracebackhide__ = True
        from rgw.detection import DetectionStatus, detect
        from rgw.templates.resolve import resolve_many

        [resolved] = resolve_many([str(ref)], revision=revision)
        detection = detect(resolved, rgw_registry)
        if detection.status is not DetectionStatus.RECOGNISED or detection.schema is None:
            _fail(f"{ref}: {detection.status.value}: {detection.message}")
        if schema is not None and detection.schema.name != schema:
            _fail(f"{ref}: its chat template is read with schema {detection.schema.name}, not {schema}")
        return detection

    return detects


@pytest.fixture(scope="session")
def rgw_proves(rgw_registry: Registry, rgw_render_pool: RenderPool) -> Proves:
    """Assert that a schema reads what a model's chat template writes: `rgw_proves("my-org/agent")`."""

    def proves(
        ref: str | Path,
        schema: str | None = None,
        *,
        conversations: int = 200,
        seed: int = 0,
        revision: str | None = None,
    ) -> Proof:
        __tracebackhide__ = True
        from rgw.errors import RgwError
        from rgw.proof.batch import Attempt, certify, pairs_of_refs

        try:
            [pair] = pairs_of_refs([str(ref)], rgw_registry, schema=schema, revision=revision)
        except RgwError as error:
            _fail(f"{ref}: {error}")
        if not isinstance(pair, Attempt):
            pair = certify(pair, count=conversations, seed=seed, pool=rgw_render_pool)
        if pair.proof is None or not pair.proof.proved:
            _fail(_not_proved(pair))
        return pair.proof

    return proves


@pytest.fixture(scope="session")
def rgw_render_pool() -> Iterator[RenderPool]:
    """The bounded processes in which `rgw_proves` renders; they start with the first proof and end with the session."""
    from rgw.proof.strict import PROOF_LIMITS
    from rgw.templates.rendering import RenderPool

    with RenderPool(limits=PROOF_LIMITS) as pool:
        yield pool


def _not_proved(attempt: Attempt) -> str:
    """Why there is no proof, with the smallest turn that stands against the pair."""
    proof = attempt.proof
    if proof is None:
        return f"{attempt.ref}: {attempt.status.value}: {attempt.message}"
    lines = [f"{attempt.ref}: schema {attempt.schema} is not proved to read what its chat template writes"]
    lines += [f"  {finding.kind.value}: {finding.message}" for finding in proof.findings]
    if (found := proof.counterexample) is not None:
        lines.append(f"  {found.check.value}: {found.trip.outcome.value}: {'; '.join(found.trip.notes)}")
        lines.append(f"  the turn: {found.trip.turn.output[:_LONGEST_OUTPUT]!r}")
        lines.append(f"  `rgw prove {attempt.ref} --schema {attempt.schema}` shows what came back of it")
    return "\n".join(lines)


def _fail(reason: str) -> NoReturn:
    """Fail the test with words that may hold untrusted text."""
    __tracebackhide__ = True
    from rgw.output.escape import escape_block

    pytest.fail(escape_block(reason), pytrace=False)
