"""A closer look at an unrecognised template: what it behaves like, and which schemas prove to read it.

Help for a person: the template stays unrecognised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress

from rgw.derender.vetting import vet_foreign
from rgw.errors import RgwError
from rgw.proof.behaviour import Resemblance, behaviour_of, most_alike
from rgw.proof.proving import prove
from rgw.proof.strict import PROOF_LIMITS
from rgw.registry.loader import Registry
from rgw.templates.rendering import RenderPool

SIEVE_CONVERSATIONS = 12
"""Enough to see that a schema does not read a template; those that pass are proved in full."""

Watch = Callable[[Iterable[str]], Iterable[str]]
"""Lets somebody watch the names of the schemas pass while they are tried."""


def resemblance_of(text: str, registry: Registry) -> Resemblance | None:
    """The registered template that behaves most like a text; `None` when it renders nothing or none is known.

    Raises:
        EngineError: Templates cannot be rendered here at all.
    """
    with RenderPool(limits=PROOF_LIMITS) as pool:
        behaviour = behaviour_of(pool, text)
    return most_alike(behaviour, registry.templates.values()) if behaviour is not None else None


def schemas_that_prove(
    text: str, registry: Registry, *, count: int, pool: RenderPool | None = None, watch: Watch = iter
) -> Iterator[str]:
    """The names of the schemas that prove to read a template.

    Args:
        text: The template.
        registry: The schemas.
        count: Conversations of each kind for those that pass the sieve.
        pool: Where to render; by default a pool of this call's own.
        watch: See `Watch`.
    """
    with nullcontext(pool) if pool is not None else RenderPool(limits=PROOF_LIMITS) as workers:
        for name in watch(registry.schemas):
            with suppress(RgwError):  # a schema that cannot be run or is too slow proves nothing
                schema = registry.schema(name)
                vet_foreign(registry, name)
                if all(
                    prove(text, schema, count=tried, pool=workers, shrink=False).proved
                    for tried in (SIEVE_CONVERSATIONS, count)
                ):
                    yield name
