"""Whether the chat template that a GGUF file carries is the one of the model that it was made from.

Quantised copies outlive the corrections of their originals: an embedded template may be an old or an edited one. Only
repositories are asked for a base model, never paths: its name comes from a stranger's metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rgw.templates.model import ResolvedTemplates, UnresolvedTemplates
from rgw.templates.resolve import resolve
from rgw.templates.similarity import layout_variants


@dataclass(frozen=True, slots=True)
class BaseComparison:
    """An embedded template beside that of the base model.

    Attributes:
        ref: The base model.
        equal: Whether the base model has exactly this template; `None` when that is not known.
        message: The same in words, with what to do where it is not known.
        sha256: The template of the base model, where it could be read.
    """

    ref: str
    equal: bool | None
    message: str
    sha256: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the command line's contract."""
        return {"ref": self.ref, "sha256": self.sha256, "equal": self.equal, "message": self.message}


def compare_with_bases(
    found: Iterable[ResolvedTemplates | UnresolvedTemplates], *, named: str | None = None
) -> dict[str, BaseComparison]:
    """Compare what was found with the base models of what was found, by REF; what has none is left out.

    Args:
        found: What the REFs resolved to.
        named: The base model of all of them, as a person names it: it may be local. Otherwise the first base model
            that the metadata names is asked for, but only of repositories: a local file asks nothing of the network.
    """
    resolved = [item for item in found if isinstance(item, ResolvedTemplates) and item.effective]
    if named is not None:
        base = resolve(named)
        return {item.ref: compare_with_base(item, base) for item in resolved}
    with_base = [item for item in resolved if item.base_models]
    bases = _resolve_repositories({item.base_models[0] for item in with_base if item.revision is not None})
    return {
        item.ref: compare_with_base(item, bases[item.base_models[0]]) if item.revision is not None else _not_asked(item)
        for item in with_base
    }


def compare_with_base(resolved: ResolvedTemplates, base: ResolvedTemplates | UnresolvedTemplates) -> BaseComparison:
    """Compare the effective template of a model with those of its base model."""
    if isinstance(base, UnresolvedTemplates):
        message = f"{base.message} — {base.fix}" if base.fix else base.message
        return BaseComparison(base.ref, None, f"not compared: {message}")
    ours, theirs = resolved.effective, base.effective
    assert ours is not None
    same = next((template for template in base.templates if template.sha256 == ours.sha256), None)
    if same is not None:
        which = "its template" if same.effective else f"its template {same.name!r}, not the one that it uses with tools"
        return BaseComparison(base.ref, True, f"equal to {which}", same.sha256)
    if theirs is None:
        return BaseComparison(base.ref, None, "not compared: it has no chat template")
    layout = layout_variants(ours.text).get(theirs.sha256)
    how = f"differs from its template only in {layout}" if layout else "differs from its template"
    return BaseComparison(base.ref, False, f"{how} — `rgw diff {resolved.ref} {base.ref}` shows how", theirs.sha256)


def _not_asked(resolved: ResolvedTemplates) -> BaseComparison:
    base = resolved.base_models[0]
    return BaseComparison(base, None, f"not compared: a local file asks no hub — add --base-model {base}")


def _resolve_repositories(names: Iterable[str]) -> dict[str, ResolvedTemplates | UnresolvedTemplates]:
    if not (places := [(name, None) for name in sorted(names)]):
        return {}
    from rgw.templates.hub import resolve_revisions

    return {ref: found for (ref, _), found in resolve_revisions(places).items()}
