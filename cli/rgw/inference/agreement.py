"""Whether an inferred schema reads a template's turns as the schema that is registered for it does.

Both read the turns of the registered proof's conversations. What they say must be the same, but for what the template
does not write. Knows of registries only that they hold a schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rgw.derender import Derenderer
from rgw.proof.conversations import conversations
from rgw.proof.model import same_turn, turn_of
from rgw.proof.roundtrip import Outcome, Trip, round_trips
from rgw.proof.shapes import discover
from rgw.proof.turns import CutTurn, Studio
from rgw.registry.model import Schema
from rgw.templates.rendering import Renderer


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two schemas read the same turns, each with its tools and without.

    Attributes:
        registered: The registered schema's name.
        same: Readings whose reasoning, text and calls are the same in both.
        not_carried: Readings that differ only in what the template does not write.
        different: The others; the first of them with what each schema read.
    """

    registered: str
    same: int = 0
    not_carried: int = 0
    different: tuple[tuple[Trip, Trip], ...] = ()

    @property
    def readings(self) -> int:
        """How many were compared."""
        return self.same + self.not_carried + len(self.different)

    @property
    def agreed(self) -> int:
        """How many are the same, up to what the template does not write."""
        return self.same + self.not_carried

    def __str__(self) -> str:
        told = f"agrees with the registered schema {self.registered} on {self.agreed:,} of {self.readings:,} readings"
        lost = f", {self.not_carried:,} of them up to what the template does not write" if self.not_carried else ""
        return told + lost

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, with the shortest turn that is read differently."""
        shortest = min(self.different, key=lambda pair: len(pair[0].turn.output), default=None)
        return {
            "schema": self.registered,
            "readings": self.readings,
            "same": self.same,
            "not_carried": self.not_carried,
            "different": len(self.different),
            "example": _example(*shortest) if shortest is not None else None,
        }


def agreement(  # noqa: PLR0913 - two schemas and their template, and all else is by name
    renderer: Renderer,
    template: str,
    inferred: Schema,
    registered: Schema,
    *,
    tokens: Mapping[str, str],
    count: int = 200,
    seed: int = 0,
) -> Agreement:
    """Compare what two schemas read of the turns that a template writes.

    Args:
        renderer: Renders with the template.
        template: The chat template.
        inferred: The schema that was inferred from it.
        registered: The schema that is registered for it; the turns are cut as for its proof, but where the template
            writes no end of a turn, they end with a marker that both schemas know.
        tokens: The special tokens that the schema was inferred with.
        count: How many conversations; with the same seed they are those of `rgw prove`.
        seed: What they are made from.

    Raises:
        ShapeError: The template does not render.
        EngineError: The installed transformers cannot run one of the schemas.
        RegistryError: One of them is not valid.
    """
    one, other = Derenderer(inferred), Derenderer(registered)
    ends = tuple(marker for marker in registered.turn.end if marker in inferred.turn.end) or registered.turn.end
    cutter = Derenderer(replace(registered, turn=replace(registered.turn, end=ends)))
    studio = Studio(renderer, template, discover(renderer, template), cutter, tokens=tokens)
    made_up = conversations(count=count, seed=seed, hostile=False)
    turns = [turn for turn in studio.turns(made_up) if isinstance(turn, CutTurn)]
    pairs = list(zip(round_trips(studio, one, turns), round_trips(studio, other, turns), strict=True))
    differing = [pair for pair in pairs if not _is_same(*pair)]
    different = tuple(pair for pair in differing if not all(map(_is_well_read, pair)))
    return Agreement(registered.name, len(pairs) - len(differing), len(differing) - len(different), different)


def _is_same(one: Trip, other: Trip) -> bool:
    return one.parsed.ill_formed is other.parsed.ill_formed and same_turn(turn_of(one.parsed), turn_of(other.parsed))


def _is_well_read(trip: Trip) -> bool:
    """Exact, or the template writes the same for what was read as for what was meant."""
    return trip.outcome in {Outcome.EXACT, Outcome.TEMPLATE_LOSSY}


def _example(inferred: Trip, registered: Trip) -> dict[str, Any]:
    return {
        "prompt": registered.turn.prompt,
        "output": registered.turn.output,
        "with_tools": registered.typed,
        "inferred": inferred.parsed.to_dict(),
        "registered": registered.parsed.to_dict(),
    }
