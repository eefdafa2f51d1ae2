"""A Hypothesis backend that draws from a seed alone.

Hypothesis' own backend also draws constants that it finds in the source of whatever modules are loaded, so that the
same seed gives other examples in another program. A certificate must not depend on that.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, PrimitiveProvider


def backend(seed: int) -> str:
    """The name, for `settings(backend=…)`, of a backend that starts from `seed`."""

    class SeededProvider(_UniformProvider):
        def __init__(self, conjecturedata: Any, /) -> None:
            super().__init__(conjecturedata)
            self._random = Random(seed)  # noqa: S311 - nothing secret

    name = f"rgw-{seed}"
    AVAILABLE_PROVIDERS[name] = SeededProvider
    return name


class _UniformProvider(PrimitiveProvider):
    """Draws uniformly; one instance serves a whole run."""

    lifetime = "test_function"
    _random: Random

    def draw_boolean(self, p: float = 0.5) -> bool:
        return self._random.random() < p

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        low = min_value if min_value is not None else -(2**63)
        return self._random.randint(low, max_value if max_value is not None else max(low, 2**63))

    def draw_float(
        self,
        *,
        min_value: float = -math.inf,
        max_value: float = math.inf,
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float = 0.0,
    ) -> float:
        return self._random.uniform(max(min_value, -1e6), min(max_value, 1e6))

    def draw_string(self, intervals: Any, *, min_size: int = 0, max_size: int = 100) -> str:
        size = self._random.randint(min_size, min(max_size, min_size + 100))
        return "".join(chr(intervals[self._random.randrange(len(intervals))]) for _ in range(size))

    def draw_bytes(self, min_size: int = 0, max_size: int = 100) -> bytes:
        return self._random.randbytes(self._random.randint(min_size, min(max_size, min_size + 100)))
