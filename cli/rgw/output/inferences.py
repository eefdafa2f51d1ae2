"""The view of an inference that did not prove: the smallest turn that stands against it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from rgw.inference.model import Inference
from rgw.output.proofs import counterexample_view


def counterexample(inference: Inference) -> Iterator[RenderableType]:
    """Nothing for one that is proved, or that has no candidate."""
    proof = inference.proof
    if not inference.proved and proof is not None and proof.counterexample is not None:
        yield ""
        yield from counterexample_view(proof.counterexample)
