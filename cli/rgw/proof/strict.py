"""Rendering for a proof: in portions, and ending the proof of a template that exceeds a limit.

A template that raises errors of its own goes on, and so does one that recurses without end over some conversations
only, which costs no more; one that does not compile, hangs or bursts never gets a second chance.
"""

from __future__ import annotations

from collections.abc import Sequence

from rgw.proof.shapes import ShapeError
from rgw.templates.rendering import FailureKind, Rendered, Renderer, RenderFailure, RenderLimits, RenderRequest

PROOF_LIMITS = RenderLimits(seconds=4.0, output=256 * 1024)
"""What one render of a proof may use: its conversations are small."""

_PORTION = 500


class StrictRenderer:
    """Renders with another renderer, so that the time that one call may take does not depend on the size of a proof.

    Args:
        renderer: What renders.
    """

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._has_rendered = False

    def render(self, template: str, requests: Sequence[RenderRequest]) -> list[Rendered | RenderFailure]:
        """The answers, in the order of the requests.

        Raises:
            ShapeError: The template does not compile or exceeds a limit.
        """
        answers: list[Rendered | RenderFailure] = []
        for start in range(0, len(requests), _PORTION):
            answers += self._renderer.render(template, requests[start : start + _PORTION])
            for answer in answers[start:]:
                if isinstance(answer, Rendered):
                    self._has_rendered = True
                elif not self._is_refusal(answer):
                    raise ShapeError(answer)
        return answers

    def _is_refusal(self, failure: RenderFailure) -> bool:
        """Whether the template turns down this conversation only."""
        recurses_here = failure.kind is FailureKind.RECURSION and self._has_rendered
        return recurses_here or failure.kind is FailureKind.TEMPLATE_ERROR
