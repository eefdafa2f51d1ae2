"""The view of `rgw prove`: the certificate of one pair with its counterexample, or a table of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from rgw.output.json_text import pretty
from rgw.output.text import BAD, DIM, GOOD, NAME, WARN, block, card, indented, line, table
from rgw.output.tiling import TiledOutput
from rgw.output.turns import panels, shortened
from rgw.proof.batch import Attempt, Status
from rgw.proof.certificate import Counterexample, Proof, conversation_to_dict
from rgw.proof.registration import Registration
from rgw.proof.roundtrip import Outcome

LOSSES_SHOWN = 12

_MARKS = {
    Status.PROVED: ("✓", GOOD),
    Status.NOT_PROVED: ("✗", BAD),
    Status.UNRECOGNISED: ("✗", WARN),
    Status.NO_TEXT: ("·", DIM),
    Status.ERROR: ("✗", BAD),
}
_OUTCOME_STYLES = {Outcome.EXACT: GOOD, Outcome.TEMPLATE_LOSSY: "", Outcome.FLAGGED: WARN, Outcome.SILENT: BAD}


def view(attempts: Sequence[Attempt]) -> Iterator[RenderableType]:
    """What a person sees of `attempts`."""
    if len(attempts) == 1:
        yield from attempt_view(attempts[0])
        return
    yield table(("", "Model", "Schema", "Template", "Exact", "Lossy", "Flagged", "Silent"), map(_row, attempts))
    for attempt in attempts:
        if attempt.status not in {Status.PROVED, Status.NO_TEXT}:
            yield ""
            yield from attempt_view(attempt)
    yield ""
    yield line(summary(attempts), DIM)


def registration_view(registration: Registration, overlay: str) -> Iterator[RenderableType]:
    """What a person sees of a registration: what was written where, or why nothing was."""
    yield from attempt_view(registration.attempt)
    yield ""
    if registration.entry is None:
        yield line("not registered: nothing was written", BAD)
        return
    yield Text.assemble(
        ("registered", GOOD), " as ", line(str(registration.entry["variant"]), "bold"), line(f" in {overlay}")
    )
    yield indented(line(f"certificate {registration.entry['certificate']}", DIM))
    for repository in registration.entry.get("repos", ()):
        yield indented(line(repository, DIM))


def summary(attempts: Sequence[Attempt]) -> str:
    """How many were proved, and how many could not be tried."""
    proved = sum(attempt.status is Status.PROVED for attempt in attempts)
    untried = sum(attempt.proof is None for attempt in attempts)
    return f"{proved} of {len(attempts)} proved" + (f", {untried} not tried" if untried else "")


def attempt_view(attempt: Attempt) -> Iterator[RenderableType]:
    """One attempt in full."""
    mark, style = _MARKS[attempt.status]
    if attempt.proof is not None and attempt.proof.proved and not attempt.proof.carries_calls:
        style = WARN
    words = attempt.status.value.replace("_", " ")
    yield Text.assemble(
        (f"{mark} {words}", style), "  ", line(attempt.ref, "bold"), "  ", line(attempt.schema or "", NAME)
    )
    if attempt.proof is None:
        yield indented(line(attempt.message))
        return
    proof = attempt.proof
    yield indented(card(_facts(proof)))
    for finding in proof.findings:
        yield indented(Text.assemble((finding.kind.value.replace("_", " "), BAD), "  ", line(finding.message)))
    if proof.counts:
        yield ""
        yield indented(table(("Check", *(_title(outcome) for outcome in Outcome)), _count_rows(proof)))
    if proof.losses or proof.typed_losses:
        yield ""
        rows = list(_loss_rows(proof.losses, proof.typed_losses))
        yield indented(
            table(("The template itself does not carry", "without tools", "with tools"), rows[:LOSSES_SHOWN])
        )
    if proof.refused:
        yield ""
        refusals = [(str(count), reason) for reason, count in proof.refused.items()]
        yield indented(table(("Refused", "by the template, because"), refusals))
    if proof.counterexample is not None:
        yield ""
        yield from counterexample_view(proof.counterexample)


def counterexample_view(example: Counterexample) -> Iterator[RenderableType]:
    """The conversation, what the template made of its last turn, and what came back."""
    trip = example.trip
    turn = trip.turn
    yield Text.assemble(
        ("counterexample", "bold"),
        line(f"  {_title(example.check)}: {trip.outcome.value}", _OUTCOME_STYLES[trip.outcome]),
    )
    for note in trip.notes:
        yield indented(line(note))
    conversation = {
        **conversation_to_dict(turn.conversation),
        **({"variables": turn.variables} if turn.variables else {}),
    }
    yield _panel("the conversation", pretty(conversation))
    yield Rule(Text("the turn as the template writes it", style="bold"), style=DIM, align="left")
    yield TiledOutput(turn.output, trip.parsed)
    yield ""
    yield Rule(Text("what came back", style="bold"), style=DIM, align="left")
    yield from panels(trip.parsed)


def _panel(title: str, content: str) -> Panel:
    return Panel(
        block(shortened(content)), title=line(title, "bold"), title_align="left", box=box.ROUNDED, border_style=DIM
    )


def _facts(proof: Proof) -> Iterator[tuple[str, str | Text]]:
    yield "template", proof.template_sha256
    wanted = f"{proof.conversations:,} ordinary and as many hostile conversations, seed {proof.seed}"
    yield "tried", wanted if proof.counts else line(f"{wanted}: none could be judged", WARN)
    if proof.carries_text or proof.carries_reasoning or proof.carries_calls:
        carried = {
            "text": proof.carries_text,
            "reasoning": proof.carries_reasoning,
            "tool calls": proof.carries_calls,
        }
        yield "carries", ", ".join(name for name, is_carried in carried.items() if is_carried)
        missing = [name for name, is_carried in carried.items() if not is_carried]
        if missing:
            yield "drops", line(", ".join(missing), WARN)
    if proof.uncut:
        yield "left out", f"{proof.uncut:,} turns that do not continue the template's own generation prompt"
    if proof.growth is not None and (proof.counts or not proof.growth.linear):
        yield "growth", "linear" if proof.growth.linear else line("faster than linear", BAD)
    yield "with", ", ".join(f"{package} {version}" for package, version in proof.versions.items())


def _count_rows(proof: Proof) -> Iterator[list[str | Text]]:
    for check, counts in proof.counts.items():
        yield [_title(check), *(_count(counts.get(outcome, 0), outcome) for outcome in Outcome)]


def _count(count: int, outcome: Outcome) -> Text:
    return line(f"{count:,}", _OUTCOME_STYLES[outcome] if count else DIM)


def _loss_rows(losses: Mapping[str, int], typed_losses: Mapping[str, int]) -> Iterator[list[str | Text]]:
    names = sorted(
        {*losses, *typed_losses}, key=lambda name: (-max(losses.get(name, 0), typed_losses.get(name, 0)), name)
    )
    for name in names:
        yield [name, f"{losses.get(name, 0):,}", f"{typed_losses.get(name, 0):,}"]


def _row(attempt: Attempt) -> list[str | Text]:
    counts: Sequence[str | Text] = [""] * len(Outcome)
    if attempt.proof is not None:
        totals = {outcome: sum(found.get(outcome, 0) for found in attempt.proof.counts.values()) for outcome in Outcome}
        counts = [_count(totals[outcome], outcome) for outcome in Outcome]
    elif attempt.status is Status.NO_TEXT:
        counts = [line("no text", DIM), *counts[1:]]
    return [
        line(*_MARKS[attempt.status]),
        line(attempt.ref, "bold"),
        line(attempt.schema or "", NAME),
        line((attempt.sha256 or "")[:12], DIM),
        *counts,
    ]


def _title(word: str) -> str:
    return word.replace("_", " ").capitalize()
