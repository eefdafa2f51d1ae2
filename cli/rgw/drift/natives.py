"""The response template that a locked model ships itself: the one that was locked, and in agreement with the registry?

What is found here matters to whoever reads with that response template. Whether the registered schema still reads the
chat template is judged in `models`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rgw.differences.changes import text_difference
from rgw.drift.assessment import Assessor, shortened
from rgw.drift.lockfile import LOCK_AGAIN, LockedModel
from rgw.drift.model import Finding, FindingKind, Place, Severity
from rgw.proof.native import Agreement, NativeAssessment
from rgw.templates.model import ResolvedTemplates

Native = Mapping[str, Any]

_KINDS = {
    Agreement.UNREGISTERED: FindingKind.NATIVE_UNREGISTERED,
    Agreement.BOTH_READ: FindingKind.NATIVE_DIFFERS,
    Agreement.DISAGREE: FindingKind.NATIVE_DIFFERS,
}
_FIXES = {
    Agreement.UNREGISTERED: "`rgw detect` shows what is near; register it, then run `rgw lock`",
    Agreement.BOTH_READ: "accept it, with the reason, in a baseline",
    Agreement.DISAGREE: "do not read with it: `rgw apply` puts the registered schema in its place",
}


def native_finding(
    model: LockedModel, resolved: ResolvedTemplates, before: Native | None, assessor: Assessor, place: Place
) -> Finding | None:
    """What is to be said of the response template that a model ships; `None` for nothing.

    Args:
        model: The model as it was locked.
        resolved: The model as it is.
        before: The response template that was locked, where it still can be had.
        assessor: Puts it to the proof.
        place: Where the model is locked.
    """
    found = assessor.native(resolved)
    if found is None:
        return _removed(model, place) if model.native else None
    if found.digest != model.native:
        diff = _difference(before, resolved.native_response_template) if model.native else ""
        return _changed(model, found, place, diff)
    if found.agreement is Agreement.SAME:
        return None
    return Finding(
        _KINDS[found.agreement],
        _severity(found),
        model.ref,
        f"{found.message} ({found.digest[:12]})",
        place,
        _FIXES[found.agreement],
        identity=(found.digest, found.registered or ""),
    )


def _changed(model: LockedModel, found: NativeAssessment, place: Place, diff: str) -> Finding:
    before, after = model.native, found.digest
    what = f"changed from {before[:12]} to {after[:12]}" if before else f"{after[:12]} was not locked"
    return Finding(
        FindingKind.NATIVE_CHANGED,
        _severity(found),
        model.ref,
        f"the native response_template {what}; {found.message}",
        place,
        _FIXES[Agreement.DISAGREE] if found.agreement is Agreement.DISAGREE else LOCK_AGAIN,
        identity=(before or "", after),
        diff=diff,
    )


def _removed(model: LockedModel, place: Place) -> Finding:
    assert model.native is not None
    return Finding(
        FindingKind.NATIVE_CHANGED,
        Severity.BREAKING,
        model.ref,
        f"the native response_template {model.native[:12]} is gone: who read with it has nothing to read with",
        place,
        LOCK_AGAIN,
        identity=(model.native, ""),
    )


def _severity(found: NativeAssessment) -> Severity:
    """What a native response template means to whoever reads with it."""
    if found.is_superlinear:
        return Severity.BREAKING
    match found.agreement:
        case Agreement.SAME:
            return Severity.COSMETIC
        case Agreement.BOTH_READ:
            return Severity.COMPATIBLE
        case Agreement.DISAGREE if not found.is_untried:
            return Severity.BREAKING
        case _:
            return Severity.UNKNOWN


def _difference(before: Native | None, after: Native | None) -> str:
    if before is None or after is None:
        return ""
    return shortened(text_difference(_written(before), _written(after)).diff)


def _written(native: Native) -> str:
    return json.dumps(native, indent=2, ensure_ascii=False)
