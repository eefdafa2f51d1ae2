"""Many proofs: what is to be proved, from REFs or from the registry, and proving it in worker processes.

Whatever cannot be tried is an attempt too, with its reason: nothing is left out without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial
from typing import Any

from rgw.derender.vetting import known_growth
from rgw.detection import detect
from rgw.errors import RgwError
from rgw.proof.certificate import Finding, FindingKind, Proof
from rgw.proof.proving import blank_proof, prove
from rgw.proof.strict import PROOF_LIMITS
from rgw.registry.layer import Layer
from rgw.registry.loader import Registry
from rgw.registry.model import Schema
from rgw.templates.model import ResolvedTemplates, UnresolvedTemplates
from rgw.templates.processes import map_in_processes
from rgw.templates.rendering import RenderPool
from rgw.templates.resolve import resolve_many


class Status(StrEnum):
    """What became of an attempt."""

    PROVED = "proved"
    NOT_PROVED = "not_proved"
    UNRECOGNISED = "unrecognised"
    NO_TEXT = "no_text"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Pair:
    """A template and the schema that is to read it.

    Attributes:
        ref: What a person knows the template by.
        sha256: The template's identity.
        text: The template.
        schema: The schema.
        vetted: The schema came with the package, and reading with it is known to be fast.
        registry_digest: The registry that it is of; empty for a schema that is of none.
    """

    ref: str
    sha256: str
    text: str
    schema: Schema
    vetted: bool = False
    registry_digest: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A pair with its certificate, or why none was made.

    Attributes:
        ref: What a person knows the template by.
        status: What became of it.
        sha256: The template's identity, where there is a template.
        schema: The schema's name, where there is a schema.
        message: Why there is no certificate, in one line with what to do; empty when there is one.
        proof: The certificate.
    """

    ref: str
    status: Status
    sha256: str | None = None
    schema: str | None = None
    message: str = ""
    proof: Proof | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {
            "ref": self.ref,
            "status": self.status.value,
            "sha256": self.sha256,
            "schema": self.schema,
            "message": self.message or None,
            "certificate": self.proof.to_dict() if self.proof else None,
            "certificate_digest": self.proof.digest if self.proof else None,
        }


def pairs_of_refs(
    refs: Sequence[str], registry: Registry, *, schema: str | None = None, revision: str | None = None
) -> list[Pair | Attempt]:
    """What REFs ask for: the effective template of each, with its registered schema or the one that is named.

    Raises:
        UsageError: There is no schema of that name, or a local REF has no revisions.
        RegistryError: A schema is not valid.
    """
    chosen = registry.schema(schema) if schema is not None else None
    pairing = _Pairing(registry)
    return [pairing.of_ref(resolved, chosen) for resolved in resolve_many(refs, revision=revision)]


def pairs_of_registry(
    registry: Registry, find_texts: Callable[[Mapping[str, Sequence[str]]], Mapping[str, str]], *, schema: str | None
) -> list[Pair | Attempt]:
    """Every registered pair, or those of one schema.

    Args:
        registry: The schemas and templates.
        find_texts: Finds the texts of templates, given who carries each sha256.
        schema: Only the templates of this schema.

    Raises:
        UsageError: There is no schema of that name.
        RegistryError: A schema is not valid.
    """
    wanted = {schema: registry.schema(schema)} if schema is not None else registry.schemas
    templates = [template for template in registry.templates.values() if template.schema in wanted]
    texts = find_texts({template.sha256: template.repos for template in templates})
    pairing = _Pairing(registry)
    pairs: list[Pair | Attempt] = []
    for template in templates:
        name = str(template.schema)
        if (text := texts.get(template.sha256)) is not None:
            pairs.append(pairing.of_text(template.variant, template.sha256, text, registry.schema(name)))
        else:
            message = f"no text of {template.sha256[:12]} was found — pass --templates a folder that has it"
            pairs.append(Attempt(template.variant, Status.NO_TEXT, template.sha256, name, message))
    return pairs


def prove_all(pairs: Iterable[Pair | Attempt], *, count: int, seed: int, jobs: int) -> Iterator[Attempt]:
    """Try every pair, in order; what was never a pair comes back as it is.

    Args:
        pairs: What to try.
        count: Conversations of each kind for each pair.
        seed: What the conversations are made from.
        jobs: How many pairs are tried at a time, in processes of their own when more than one.
    """
    if jobs == 1:
        with RenderPool(limits=PROOF_LIMITS) as pool:
            for pair in pairs:
                yield pair if isinstance(pair, Attempt) else certify(pair, count=count, seed=seed, pool=pool)
        return
    yield from map_in_processes(partial(_attempt, count=count, seed=seed), pairs, processes=jobs)


def certify(pair: Pair, *, count: int, seed: int, pool: RenderPool | None = None) -> Attempt:
    """Try one pair: its proof, and with it that reading takes linear time.

    A schema that did not come with the package is measured first, and reads nothing if it is not linear.
    """
    try:
        with ThreadPoolExecutor(1) as measuring:
            measurement = measuring.submit(known_growth, pair.schema)
            if not pair.vetted and not measurement.result().linear:
                proof = blank_proof(pair.text, pair.schema, count=count, seed=seed)
            else:
                proof = prove(pair.text, pair.schema, count=count, seed=seed, pool=pool)
            growth = measurement.result()
    except RgwError as error:
        return Attempt(pair.ref, Status.ERROR, pair.sha256, pair.schema.name, str(error))
    if not growth.linear:
        reason = f"reading {growth.shape} takes {growth.seconds:.1f} s for {growth.size} characters: {growth.pattern}"
        proof = replace(proof, findings=(*proof.findings, Finding(FindingKind.SUPERLINEAR, reason)))
    proof = replace(proof, growth=growth, registry_digest=pair.registry_digest)
    status = Status.PROVED if proof.proved else Status.NOT_PROVED
    return Attempt(pair.ref, status, pair.sha256, pair.schema.name, proof=proof)


class _Pairing:
    """Makes pairs with the schemas of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._digest = registry.digest()

    def of_ref(self, resolved: ResolvedTemplates | UnresolvedTemplates, chosen: Schema | None) -> Pair | Attempt:
        """The pair of a REF's effective template with a chosen schema, or else the registered one."""
        if isinstance(resolved, UnresolvedTemplates):
            message = f"{resolved.message} — {resolved.fix}" if resolved.fix else resolved.message
            return Attempt(resolved.ref, Status.ERROR, message=message)
        effective = resolved.effective
        detection = detect(resolved, self._registry)
        if effective is None:
            return Attempt(resolved.ref, Status.ERROR, message=detection.message)
        schema = chosen or detection.schema
        if schema is None:
            message = f"{detection.message} — or name the schema to try with --schema"
            return Attempt(resolved.ref, Status.UNRECOGNISED, effective.sha256, message=message)
        return self.of_text(resolved.ref, effective.sha256, effective.text, schema)

    def of_text(self, ref: str, sha256: str, text: str, schema: Schema) -> Pair:
        """The pair of a template with a schema of the registry."""
        vetted = self._registry.layer_of(schema.name) is Layer.PACKAGED
        return Pair(ref, sha256, text, schema, vetted, self._digest)


def _attempt(pair: Pair | Attempt, *, count: int, seed: int) -> Attempt:
    return pair if isinstance(pair, Attempt) else certify(pair, count=count, seed=seed, pool=_process_pool())


@cache
def _process_pool() -> RenderPool:
    """The renderers of this process; they end when it does."""
    return RenderPool(limits=PROOF_LIMITS)
