"""Comparing what two chat templates write for the probe conversations, and saying what each difference is about.

A probe that is richer than another repeats what the simpler one shows: a change is told once, by the simplest probe
that has it. What it is about follows from that probe and from whether it stands before the first question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rgw.differences.changes import changes_between, text_difference
from rgw.differences.model import Aspect, Change, Comparison, Difference, Rendering, Side
from rgw.errors import SourceError
from rgw.proof.behaviour import PROBES
from rgw.proof.strict import PROOF_LIMITS
from rgw.templates.rendering import Rendered, Renderer, RenderFailure, RenderPool, RenderRequest
from rgw.templates.similarity import layout_variants

ASPECTS: Mapping[str, Aspect] = {
    "a question": Aspect.TURNS,
    "a system message": Aspect.TURNS,
    "white space": Aspect.TURNS,
    "content in blocks": Aspect.TURNS,
    "a prompt": Aspect.GENERATION_PROMPT,
    "a prompt with tools": Aspect.GENERATION_PROMPT,
    "a prompt without thinking": Aspect.GENERATION_PROMPT,
    "a system message with tools": Aspect.TURNS,
    "reasoning": Aspect.REASONING,
    "reasoning under other names": Aspect.REASONING,
    "reasoning in an earlier turn": Aspect.REASONING,
    "a call": Aspect.CALL_FORMAT,
    "a call with its arguments as JSON": Aspect.CALL_FORMAT,
    "two calls behind a text": Aspect.CALL_FORMAT,
    "values of every type": Aspect.CALL_FORMAT,
    "a tool's result": Aspect.TOOL_RESULTS,
}
"""What each probe is about, the simplest first; what stands before its first question is about the prompt."""

_REPEATED = "reasoning in an earlier turn"
"""The probe with two questions: what changes around both is about turns, not about the system prompt."""

Known = tuple[str, str, str]
"""What makes a change the same in two probes: the sign before it (any letter is one), the old text and the new one."""


def compare(before: Side, after: Side, *, pool: RenderPool | None = None) -> Comparison:
    """Compare two templates; they are only rendered when their texts differ.

    Args:
        before: The one.
        after: The other.
        pool: Where to render; by default a pool of this call's own.

    Raises:
        SourceError: Neither renders any probe, so that nothing can be said of what they do.
        EngineError: Templates cannot be rendered here at all.
    """
    old, new = before.template, after.template
    if old.sha256 == new.sha256:
        return Comparison(before, after)
    text = text_difference(old.text, new.text, layout=layout_variants(old.text).get(new.sha256, ""))
    if pool is not None:
        pairs = _render(pool, old.text, new.text)
    else:
        with RenderPool(limits=PROOF_LIMITS) as own:
            pairs = _render(own, old.text, new.text)
    refused = tuple(pair.probe for pair in pairs if pair.before.text is None and pair.after.text is None)
    if len(refused) == len(pairs):
        raise SourceError(
            f"neither {before.ref} nor {after.ref} renders any probe: {pairs[0].before.refusal}",
            "check that both are chat templates",
        )
    differing = [pair for pair in pairs if pair.before.text != pair.after.text]
    found = _Attribution(pairs).differences(differing)
    names = tuple(pair.probe for pair in pairs)
    return Comparison(before, after, text, names, tuple(pair.probe for pair in differing), refused, found)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A probe, as both templates render it."""

    probe: str
    request: RenderRequest
    before: Rendering
    after: Rendering

    def changes(self) -> list[Change]:
        """What differs before the first question and behind it, which are never compared with one another."""
        before, after = self.before.text or "", self.after.text or ""
        split, other_split = self._question(before), self._question(after)
        if split < 0 or other_split < 0:
            return changes_between(before, after)
        behind = changes_between(before[split:], after[other_split:])
        return changes_between(before[:split], after[:other_split]) + [
            replace(
                change,
                before_start=change.before_start + split,
                after_start=change.after_start + other_split,
            )
            for change in behind
        ]

    def known(self, change: Change) -> Known:
        """The identity of a change of this probe."""
        start = change.before_start
        behind = (self.before.text or "")[start - 1 : start]
        return "a" if behind.isalnum() else behind, change.before, change.after

    def precedes_question(self, change: Change) -> bool:
        """Whether a change stands before the first question."""
        return change.before_start + len(change.before) <= self._question(self.before.text or "")

    def _question(self, text: str) -> int:
        return text.find(
            next(str(message["content"]) for message in self.request.messages if message["role"] == "user")
        )


def _render(pool: Renderer, before: str, after: str) -> list[_Pair]:
    """Every probe as both render it, the simplest first."""
    order = [*ASPECTS, *(name for name in PROBES if name not in ASPECTS)]
    requests = [PROBES[name] for name in order]
    answers = zip(pool.render(before, requests), pool.render(after, requests), strict=True)
    return [
        _Pair(name, request, _rendering(one), _rendering(other))
        for name, request, (one, other) in zip(order, requests, answers, strict=True)
    ]


def _rendering(answer: Rendered | RenderFailure) -> Rendering:
    return Rendering(answer.text) if isinstance(answer, Rendered) else Rendering(None, answer.message)


@dataclass(slots=True)
class _Attribution:
    """Says of each change what it is about, and of a change that is known already only where it occurs too."""

    pairs: Sequence[_Pair]
    _found: list[Difference] = field(default_factory=list)
    _owner: dict[Known, int] = field(default_factory=dict)

    def differences(self, differing: Iterable[_Pair]) -> tuple[Difference, ...]:
        """The differences of the probes that differ, by aspect."""
        of_turns = self._of_turns()
        for pair in differing:
            if pair.before.text is None or pair.after.text is None:
                self._refusal(pair)
            else:
                self._rendered(pair, of_turns)
        order = list(Aspect)
        return tuple(sorted(self._found, key=lambda difference: order.index(difference.aspect)))

    def _of_turns(self) -> set[tuple[str, str]]:
        """The changes that come back around a later question."""
        repeated = next(pair for pair in self.pairs if pair.probe == _REPEATED)
        if repeated.before.text is None or repeated.after.text is None:
            return set()
        changes = repeated.changes()
        return {(change.before, change.after) for change in changes if not repeated.precedes_question(change)}

    def _refusal(self, pair: _Pair) -> None:
        """Only one of the two renders the probe."""
        refusals = ("", pair.before.refusal, pair.after.refusal)
        if refusals in self._owner:
            self._mention(self._owner[refusals], pair.probe)
            return
        self._owner[refusals] = len(self._found)
        self._found.append(Difference(ASPECTS.get(pair.probe, Aspect.TURNS), pair.probe, pair.before, pair.after))

    def _rendered(self, pair: _Pair, of_turns: set[tuple[str, str]]) -> None:
        new: dict[Aspect, list[Change]] = {}
        for change in pair.changes():
            known = pair.known(change)
            if known in self._owner:
                self._mention(self._owner[known], pair.probe)
            else:
                new.setdefault(_aspect(pair, change, is_of_turns=known[1:] in of_turns), []).append(change)
        for aspect, changes in new.items():
            self._owner |= {pair.known(change): len(self._found) for change in changes}
            self._found.append(Difference(aspect, pair.probe, pair.before, pair.after, tuple(changes)))

    def _mention(self, index: int, probe: str) -> None:
        difference = self._found[index]
        if probe not in (difference.probe, *difference.also_in):
            self._found[index] = replace(difference, also_in=(*difference.also_in, probe))


def _aspect(pair: _Pair, change: Change, *, is_of_turns: bool) -> Aspect:
    if is_of_turns and ASPECTS.get(pair.probe) is Aspect.TURNS:
        return Aspect.TURNS
    if pair.precedes_question(change) and not is_of_turns:
        return Aspect.TOOL_LISTING if pair.request.tools else Aspect.SYSTEM_PROMPT
    return ASPECTS.get(pair.probe, Aspect.TURNS)
