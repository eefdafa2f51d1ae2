"""transformers against itself: does the installed version still read each schema's samples as was recorded?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rgw.derender import Derenderer
from rgw.drift.lockfile import transformers_version
from rgw.drift.model import Finding, FindingKind, Outcome, Place, Severity, Subject
from rgw.drift.samples import Recording, SampleResult, misread, sample_results
from rgw.errors import EngineError
from rgw.registry.model import Schema

_ASK = "compare with `rgw parse FILE --schema {schema} --compare`; pin the version that the project was locked with"


def check_samples(schemas: Iterable[Schema], place: Place) -> Iterator[tuple[Subject, list[Finding]]]:
    """Read the samples of each schema, and compare with what they mean."""
    for schema in schemas:
        subject = Subject(f"samples of schema {schema.name}", place)
        try:
            derenderer = Derenderer(schema)
            problems = [(sample.title, said) for sample in schema.samples if (said := misread(derenderer, sample))]
        except EngineError as error:
            problems = [("", str(error))]
        findings = [
            Finding(
                FindingKind.SAMPLE_MISREAD,
                Severity.BREAKING,
                subject.name,
                f"{said} (transformers {transformers_version()})",
                place,
                _ASK.format(schema=schema.name),
                identity=(title, said),
            )
            for title, said in problems
        ]
        yield (subject if schema.samples or findings else _without_samples(subject)), findings


def check_results(schema: Schema, recordings: Sequence[Recording], place: Place) -> tuple[Subject, list[Finding]]:
    """Compare what `parse_response` returns for a schema's samples with what was recorded.

    Args:
        schema: The schema.
        recordings: What was recorded, the latest last.
        place: Where it is recorded.
    """
    subject = Subject(f"parse_response with schema {schema.name}", place)
    try:
        results = list(sample_results(schema))
    except EngineError as error:
        return subject, [_cannot_run(subject, error)]
    known = {question: recording for recording in recordings for question in recording.results}
    comparable = [(result, known[result.question]) for result in results if result.question in known]
    if not comparable:
        reason = "no result is recorded for its samples as they are now" if results else "it has no samples"
        return Subject(subject.name, place, Outcome.SKIPPED, reason), []
    changed = [(result, was) for result, was in comparable if was.results[result.question] != result.answer]
    return subject, [_changed(schema, subject, result, was.transformers) for result, was in changed]


def _without_samples(subject: Subject) -> Subject:
    return Subject(subject.name, subject.place, Outcome.SKIPPED, "it has no samples")


def _cannot_run(subject: Subject, error: EngineError) -> Finding:
    return Finding(
        FindingKind.PARSING_CHANGED,
        Severity.BREAKING,
        subject.name,
        error.message,
        subject.place,
        error.fix,
        identity=(transformers_version(),),
    )


def _changed(schema: Schema, subject: Subject, result: SampleResult, version: str) -> Finding:
    meaning = "it still says what the sample means" if result.agrees else "it no longer says what the sample means"
    return Finding(
        FindingKind.PARSING_CHANGED,
        Severity.COMPATIBLE if result.agrees else Severity.BREAKING,
        subject.name,
        f"parse_response returns something else for the sample {result.title!r} with transformers"
        f" {transformers_version()} than with {version}; {meaning}",
        subject.place,
        _ASK.format(schema=schema.name),
        identity=(result.question, result.answer),
    )
