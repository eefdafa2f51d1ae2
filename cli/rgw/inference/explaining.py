"""Why each line of a candidate is as it is, and what the template does not show at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rgw.inference.calls import CallForm, is_called
from rgw.inference.model import Explanation
from rgw.inference.sightings import Sighting, SlotKind
from rgw.inference.turns import Delimiter, TurnForm
from rgw.proof.shapes import CallIds, Shape
from rgw.registry.model import Dialect, Schema, UntypedValues

_FIELDS = f"dialects.{Dialect.RESPONSE_TEMPLATE.value}.fields"


def explain(schema: Schema, turn: TurnForm, calls: CallForm | None, shape: Shape) -> tuple[Explanation, ...]:
    """The lines of a schema that were inferred, in the order of the file."""
    return tuple(each for each in _explained(schema, turn, calls, shape) if each is not None)


def _explained(schema: Schema, turn: TurnForm, calls: CallForm | None, shape: Shape) -> Iterator[Explanation | None]:
    endings = ", ".join(map(repr, (*turn.endings, *turn.call_endings)))
    yield Explanation("turn.end", f"what ends a turn: {endings}", ()) if endings else None
    yield Explanation("turn.reserved", "the delimiters below, which text does not hold by chance", ())
    if turn.prefill:
        yield Explanation("turn.prefill", "what the generation prompt writes of the turn", ())
    if schema.layout.turn_start:
        yield Explanation("layout.turn_start", f"what every turn begins with: {turn.before_turn!r}", ())
    if schema.untyped_values is not UntypedValues.JSON:
        yield Explanation("untyped_values", "values are written without quotes, so that no type can be told", ())
    anchor = f"dialects.{Dialect.RESPONSE_TEMPLATE.value}.start_anchor"
    yield Explanation(anchor, "the end of the header of an assistant's turn", ())
    yield from _delimiter("reasoning_content.open_pattern", "what stands before reasoning", [turn.reasoning_open])
    yield from _delimiter("reasoning_content.close_pattern", "what stands behind reasoning", [turn.reasoning_close])
    if calls is not None:
        opened = [turn.section_open, turn.call_open]
        closed = [turn.call_close, turn.section_close]
        yield from _delimiter("tool_calls.open_pattern", "what stands before a call", opened)
        yield from _delimiter("tool_calls.close_pattern", "what stands behind a call", closed)
        arguments = f"{calls.title}; arguments are given as {shape.arguments.value.replace('_', ' ')}"
        yield Explanation(f"{_FIELDS}.tool_calls.content", arguments, turn.call_open.seen_in)
    yield from _delimiter("content.open_pattern", "what stands before text", [turn.text_open])
    if endings:
        yield Explanation(f"{_FIELDS}.content.close_pattern", f"what ends a turn: {endings}", ())


def _delimiter(path: str, what: str, delimiters: Iterable[Delimiter | None]) -> Iterator[Explanation]:
    found = [each for each in delimiters if each is not None and each.core]
    if found:
        literals = ", ".join(repr(each.before + each.core + each.behind) for each in found)
        seen_in = dict.fromkeys(label for each in found for label in each.seen_in)
        yield Explanation(f"{_FIELDS}.{path}", f"{what}: {literals}", tuple(seen_in))


def unobservable(
    sightings: Sequence[Sighting], turn: TurnForm, shape: Shape, *, writes_calls: bool, end_token: str
) -> tuple[str, ...]:
    """What the template does not show, in words; `end_token` is what is known of the tokenizer's own token."""
    return tuple(_unseen(sightings, turn, shape, writes_calls=writes_calls, end_token=end_token))


def end_token(turn: TurnForm, eos_token: str, *, is_known: bool) -> str:
    """What is known of the tokenizer's own end-of-turn token, in words; empty where the turn ends otherwise."""
    if not any(eos_token in ending for ending in turn.endings):
        return ""
    if is_known:
        return f"the template writes the tokenizer's own eos_token; {eos_token!r} was given"
    return f"the template writes the tokenizer's own eos_token, which is not known: {eos_token!r} stands in its place"


def _unseen(
    sightings: Sequence[Sighting], turn: TurnForm, shape: Shape, *, writes_calls: bool, end_token: str
) -> Iterator[str]:
    thinks = any(mark.slot.kind is SlotKind.REASONING for sighting in sightings for mark in sighting.marks)
    if turn.hidden_thought:
        yield "reasoning: the template writes none, its delimiters were seen around nothing or in what it takes apart"
    elif not thinks:
        yield "reasoning: the template writes none, and nothing shows how a model would"
    if not writes_calls:
        yield "calls: the template writes none, and nothing shows how a model would"
    elif not shape.parallel_calls:
        yield "several calls in one turn: the template refuses them"
    elif any(len(each.turn.calls) > 1 and not is_called(each) for each in sightings):
        yield "several calls in one turn: the template writes only some of them"
    if not any(ending.strip() for ending in (*turn.endings, *turn.call_endings)):
        yield "the end of a turn: nothing is written behind the last turn, nor does a next message begin with a marker"
    elif end_token:
        yield f"the end-of-turn token: {end_token}"
    if shape.call_ids is not CallIds.NONE:
        yield "ids of calls: written where they are given, and not read back"
