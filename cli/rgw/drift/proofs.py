"""Which schemas prove to read templates: each question is answered once, and many are answered at the same time.

It knows nothing of lockfiles or findings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rgw.errors import EngineError, RegistryError
from rgw.registry.loader import Registry, load_registry, packaged_registry_path
from rgw.templates.processes import map_in_processes

if TYPE_CHECKING:
    from rgw.templates.rendering import RenderPool

_WORTH_A_PROCESS = 4
"""So many proofs take longer than to start a process."""


@dataclass(frozen=True, slots=True)
class Question:
    """Whether a schema provably reads what a template writes, and if not, which others do."""

    sha256: str
    text: str = field(compare=False, repr=False)
    schema: str


class Prover:
    """Puts templates to the proof.

    Args:
        registry: The schemas.
        conversations: How many conversations a proof takes.
        pool: Where to render.
    """

    def __init__(self, registry: Registry, *, conversations: int, pool: RenderPool) -> None:
        self._registry = registry
        self._conversations = conversations
        self._pool = pool
        self._proofs: dict[tuple[str, str], bool | None] = {}
        self._proving: dict[str, tuple[str, ...]] = {}

    def proves(self, sha256: str, text: str, schema: str) -> bool | None:
        """Whether a schema provably reads what a template writes; `None` when that cannot be tried."""
        if (sha256, schema) not in self._proofs:
            self._proofs[sha256, schema] = self._try(text, schema)
        return self._proofs[sha256, schema]

    def proving_schemas(self, sha256: str, text: str) -> tuple[str, ...]:
        """The schemas that provably read what a template writes."""
        from rgw.proof.recognition import schemas_that_prove

        if sha256 not in self._proving:
            found = schemas_that_prove(text, self._registry, count=self._conversations, pool=self._pool)
            self._proving[sha256] = tuple(found)
        return self._proving[sha256]

    def ask_ahead(self, questions: Iterable[Question]) -> None:
        """Find many answers at the same time, in processes of their own, where that is faster than one by one."""
        new = [each for each in dict.fromkeys(questions) if (each.sha256, each.schema) not in self._proofs]
        processes = min(os.cpu_count() or 1, len(new) // _WORTH_A_PROCESS)
        if processes < 2:
            return
        self._vet({question.schema for question in new})
        prepare = partial(_prepare, [layer.root for layer in self._registry.layers], self._conversations)
        answers = map_in_processes(_answer, new, processes=processes, prepare=prepare)
        with suppress(BrokenExecutor):  # what is not known then is asked for one by one
            for question, (proves, schemas) in zip(new, answers, strict=True):
                self._proofs[question.sha256, question.schema] = proves
                if schemas is not None:
                    self._proving[question.sha256] = tuple(schemas)

    def _try(self, text: str, schema: str) -> bool | None:
        from rgw.derender.vetting import vet_foreign
        from rgw.proof.proving import prove

        if schema not in self._registry.schema_names:
            return None
        try:
            vet_foreign(self._registry, schema)
            proof = prove(text, self._registry.schema(schema), count=self._conversations, pool=self._pool, shrink=False)
        except (EngineError, RegistryError):
            return None
        return None if proof.findings else proof.proved

    def _vet(self, schemas: set[str]) -> None:
        """Measure here what each of the processes would measure otherwise."""
        from rgw.derender.vetting import vet_foreign

        for schema in schemas & self._registry.schema_names:
            with suppress(EngineError, RegistryError):
                vet_foreign(self._registry, schema)


_provers: list[Prover] = []
"""The one of a process that answers for another."""


def _prepare(roots: Sequence[Path], conversations: int) -> None:
    from rgw.proof.strict import PROOF_LIMITS
    from rgw.templates.rendering import RenderPool

    packaged, *overlay = roots
    registry = load_registry(*overlay, packaged=packaged if packaged != packaged_registry_path() else None)
    _provers.append(Prover(registry, conversations=conversations, pool=RenderPool(limits=PROOF_LIMITS)))


def _answer(question: Question) -> tuple[bool | None, Sequence[str] | None]:
    [prover] = _provers
    proves = prover.proves(question.sha256, question.text, question.schema)
    return proves, prover.proving_schemas(question.sha256, question.text) if proves is False else None
