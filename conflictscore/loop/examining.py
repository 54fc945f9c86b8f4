"""Builds the ledger of a run: which parts of its last answer and documents were examined."""

from collections.abc import Iterator, Sequence
from math import floor

from conflictscore.models.endings import NO_REASON
from conflictscore.records import (
    Attempt,
    ClaimedSpan,
    Document,
    EvidenceLabel,
    Examined,
    Gap,
    GapKind,
    Label,
    ReadDocument,
)

ONE_DOCUMENT = Gap(
    kind=GapKind.ONE_DOCUMENT,
    note="it was checked against a single document, so no disagreement between "
    "sources could be found",
)
_ENDINGS = {NO_REASON: "without a finish reason"}


def examined_of(
    attempt: Attempt,
    documents: Sequence[Document],
    labeler: str,
    *,
    least: float | None,
    alone: bool = False,
) -> Examined:
    """Return the ledger of an answer.

    Args:
        attempt: The answer with its labels, and the parts that no claim covers.
        documents: The documents of the run.
        labeler: Name of the run's labeler, for labels that do not name a stage of a cascade.
        least: Minimum share of pairs with a label, from 0 to 1, for an answer to count as partly
            checked; None means 0.
        alone: Whether to report that there is only one independent document.
    """
    report = attempt.report
    claims = report.claims if report else ()
    pairs = [pair for evidence in claims for pair in evidence.labels]
    spans = [(e.claim.number, e.claim.passage) for e in claims]
    gaps = [*_label_gaps(attempt, pairs, least or 0), *_claim_gaps(attempt)]
    gaps += [ONE_DOCUMENT] if alone else []
    gaps += _cut_gaps(pairs)
    if attempt.answer.early_ending:
        gaps.append(unfinished(attempt.answer.early_ending))
    return Examined(
        answer=tuple(ClaimedSpan(claim=n, start=s[0], end=s[1]) for n, s in spans if s),
        documents=_readings(documents, pairs, labeler),
    ).with_gaps(*gaps)


def whole_percent(share: float) -> str:
    """Return a share in whole percent, rounded down, so that 100% means that nothing is missing."""
    return f"{floor(round(100 * share, 6))}%"  # rounding first, since 100 * .29 is below 29


def unfinished(ending: str) -> Gap:
    """Return the gap for an answer that the model did not complete."""
    note = f"the answer may be incomplete: it ended {how_it_ended(ending)}"
    return Gap(kind=GapKind.UNFINISHED_ANSWER, note=note)


def how_it_ended(ending: str) -> str:
    """Return a phrase about the ending of a reply that may be incomplete."""
    return _ENDINGS.get(ending, f"with “{ending}”")


def _readings(
    documents: Sequence[Document], pairs: Sequence[EvidenceLabel], labeler: str
) -> tuple[ReadDocument, ...]:
    """Return which labelers read each document, and whether they read all of it."""
    readers: dict[int, dict[str, None]] = {document.number: {} for document in documents}
    cut = set[int]()
    for pair in pairs:
        if pair.document_cut:
            cut.add(pair.document)
        if pair.label is not Label.UNLABELLED and pair.document in readers:
            readers[pair.document][pair.stage or labeler] = None
    return tuple(
        [
            ReadDocument(document=number, read_by=tuple(names), to_its_end=number not in cut)
            for number, names in readers.items()
        ]
    )


def _label_gaps(attempt: Attempt, pairs: Sequence[EvidenceLabel], least: float) -> Iterator[Gap]:
    """Yield the gaps for missing labels; an answer without claims has no such gaps."""
    report = attempt.report
    if report is None:
        yield Gap(kind=GapKind.CHECK_FAILED, note="it was not scored")
        return
    if report.error and not report.coverage:  # with some labels, the answer was partly checked
        yield Gap(kind=GapKind.CHECK_FAILED, note=report.error)
        return
    if not report.claims or report.coverage == 1:
        return
    coverage = report.coverage or 0
    missing = [pair for pair in pairs if pair.label is Label.UNLABELLED]
    note = f"{whole_percent(coverage)} of its pairs of claim and document have a label"
    note += f" ({missing[0].error})" if missing else ""
    enough = coverage and coverage >= least and not report.error
    kind = GapKind.UNLABELLED if enough else GapKind.TOO_FEW_LABELS
    numbers = tuple(sorted({pair.document for pair in missing}))
    yield Gap(kind=kind, note=note, documents=numbers)


def _claim_gaps(attempt: Attempt) -> Iterator[Gap]:
    """Yield the gaps for parts of the answer that no claim covers."""
    yield from attempt.gaps
    # an error of the report is a gap of its own, from ``_label_gaps``
    if attempt.gaps or (attempt.report and attempt.report.error):
        return
    if attempt.unclaimed:  # the run was stored by an earlier version
        yield Gap(kind=GapKind.UNCLAIMED, note=attempt.unclaimed)
    elif attempt.report and not attempt.report.claims:
        yield Gap(kind=GapKind.NO_CLAIMS, note="no claims were read from it")


def _cut_gaps(pairs: Sequence[EvidenceLabel]) -> Iterator[Gap]:
    for number in sorted({pair.document for pair in pairs if pair.document_cut}):
        yield Gap(
            kind=GapKind.DOCUMENT_CUT,
            note=f"document {number} was too long and was read only in part",
            documents=(number,),
        )
