"""record: write the final answer and its status into the state, and read runs from states."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage

from conflictscore.answering.json_claims import disputed_values
from conflictscore.correcting.losses import notes_on_losses
from conflictscore.json_answers import is_json
from conflictscore.labelers.protocol import Labeler, supports_script
from conflictscore.loop.examining import examined_of
from conflictscore.loop.reconsidering import not_reconsidered
from conflictscore.loop.rounds import flipped_by
from conflictscore.loop.state import (
    RagState,
    RunRuntime,
    StateOfRecords,
    attempts_of,
    changes_of,
    documents_of,
    draft_of,
    searches_of,
)
from conflictscore.records import (
    Answer,
    Attempt,
    ConflictReport,
    EvidenceLabel,
    Examined,
    Gap,
    GapKind,
    Label,
    LookOutcome,
    Record,
    Run,
    RunStatus,
    SecondLook,
)
from conflictscore.records.examined import quoted
from conflictscore.retrieval.voices import copies, one_voice

_log = logging.getLogger(__name__)

_QUOTE = frozenset({GapKind.UNCLAIMED, GapKind.CLAIM_BEYOND_ANSWER, GapKind.NOT_RECONSIDERED})
"""Kinds of gaps whose notes quote the answer."""
_CLEARED = frozenset({LookOutcome.TOLD_ALREADY, LookOutcome.ANOTHER_THING})
"""Outcomes of second looks that found that nothing contradicts the claim, whatever its labels."""
_NOTED = frozenset({GapKind.ONE_DOCUMENT, GapKind.UNFINISHED_ANSWER})
"""Kinds of gaps that concern the whole answer; no score mentions them."""

_READERS: Mapping[str, Callable[[Mapping[str, Any]], tuple[Record, ...]]] = {
    "documents": documents_of,
    "searches": searches_of,
    "attempts": attempts_of,
    "changes": changes_of,
}
"""Functions that read the records of a run's fields."""


async def record(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Summarise the run: the final answer, whether it was changed, and how far it was checked."""
    attempts = attempts_of(state)
    if not attempts:
        update = _empty(state)
        return update | _spoken(state, update, runtime)
    first, last = attempts[0], attempts[-1]
    flipping_attempt = flipped_by(attempts)
    if flipping_attempt is not None:
        changes = [change.to_json() for change in changes_of(state) if change.applied]
        before, after = first.answer.text, last.answer.text
        flip = {"before": before, "after": after, "changes": changes}
        runtime.stream_writer({"event": "flip", **flip})
    ledger = _ledger_of(state, last, runtime)
    update = {
        "answer": last.answer.text,
        "first_answer": first.answer.text,
        "flipped": flipping_attempt is not None,
        "checked": ledger.checked,
        "examined": ledger.to_json(),
        "justification": (flipping_attempt or last).answer.justification,
        "report": first.report.summary() if first.report else None,
        "final_report": last.report.summary() if last.report and last.round else None,
        "notes": [
            *state["notes"],
            *_notes(attempts, runtime.context.labeler),
            *notes_on_losses(changes_of(state)),
            *(gap.note for gap in ledger.gaps if gap.kind in _NOTED),
            *disputed_values(last),
            *(_notes_on_refuted(last, _looks(state)) if state.get("question") else ()),
        ],
    }
    return update | _spoken(state, update, runtime)


def _spoken(state: RagState, update: Mapping[str, Any], runtime: RunRuntime) -> dict[str, Any]:
    """Return the answer as a message, unless the caller's model already added it."""
    if runtime.context.answerer is not None or not state.get("messages"):
        return {}
    whole = state.updated(update) if isinstance(state, StateOfRecords) else {**state, **update}
    # the message has only the verdict, since the state already has the whole run
    verdict = run_of(whole).verdict()
    name = f"conflictscore/{runtime.context.generator.name}"
    metadata = {"conflictscore": verdict, "model_name": name}
    return {"messages": [AIMessage(update["answer"], response_metadata=metadata)]}


def _has_one_source(state: RagState, last: Attempt, runtime: RunRuntime) -> bool:
    """Return whether all documents are copies of one source and do not conflict over any claim.

    The paper's loop sets no minimum coverage, so the function returns False there.
    """
    report = last.report
    asks = runtime.context.settings.min_coverage is not None and report and report.claims
    reports = [attempt.report for attempt in attempts_of(state)]
    # parts or altered copies of one text may contradict each other, even about an answer that has
    # since been corrected
    if not asks or any(report and report.conflicting for report in reports):
        return False
    documents = documents_of(state)
    return len(documents) - len(one_voice(documents, copies(documents))) == 1


def _empty(state: RagState) -> dict[str, Any]:
    """Return the update for an answer without text, which was not scored."""
    text, note = draft_of(state).text, "the answer is empty, so it has no score"
    ledger = Examined(gaps=(Gap(kind=GapKind.EMPTY_ANSWER, note=note),))
    return {
        "answer": text,
        "first_answer": text,
        "flipped": False,
        "checked": ledger.checked,
        "examined": ledger.to_json(),
        "attempts": [],
        "reason": note,
        "notes": [*state["notes"], note],
        **dict.fromkeys(("justification", "report", "final_report")),
    }


def _ledger_of(state: RagState, last: Attempt, runtime: RunRuntime) -> Examined:
    """Return the final answer's ledger, and log its main gap unless the answer states nothing."""
    least = runtime.context.settings.min_coverage
    ledger = examined_of(
        last,
        documents_of(state),
        runtime.context.labeler.name,
        least=least,
        alone=_has_one_source(state, last, runtime),
    ).with_gaps(*not_reconsidered(state, last, runtime.context))
    gap = ledger.main_gap
    if gap is None or least is None or gap.kind is GapKind.STATES_NOTHING:
        return ledger
    how = "only in part" if ledger.checked == "partly" else "not"
    # a scored file may have a million rows with this gap; their notes mention it anyway
    quiet = gap.kind is GapKind.ONE_DOCUMENT and not state.get("question")
    level = logging.INFO if quiet else logging.WARNING
    # answers are not logged, since a different part of the program may have to redact them
    why = gap.in_short if gap.passage or gap.kind in _QUOTE else gap.note
    _log.log(level, "run %s: the answer was %s checked: %s", state["run_id"], how, why)
    return ledger


def _notes(attempts: tuple[Attempt, ...], labeler: Labeler) -> list[str]:
    """Return notes on the scores of a run's answers, meant for readers of the run.

    A corrected answer often has the same gaps as the answer before it; each gap gets one note.
    """
    answers_by_note: dict[str, list[str]] = {}
    for attempt in attempts:
        which = "the first answer" if attempt.round == 0 else f"regenerated answer {attempt.round}"
        if attempt.report is not None:
            for note in _notes_on(attempt, attempt.report, labeler):
                answers_by_note.setdefault(note, []).append(which)
    return [f"{' and '.join(answers)}{note}" for note, answers in answers_by_note.items()]


def _notes_on(attempt: Attempt, report: ConflictReport, labeler: Labeler) -> Iterator[str]:
    """Yield the gaps in an answer's score; each is the end of a sentence about the answer."""
    if report.error:
        yield f" has no score: {report.error}"
    if attempt.unclaimed and not attempt.gaps:  # the run was stored by an earlier version
        yield f": {attempt.unclaimed}"
    yield from (f": {gap.note}" for gap in attempt.gaps)
    foreign = sum(not supports_script(labeler, each.claim) for each in report.claims)
    if foreign:
        yield (
            f": {foreign} of {len(report.claims)} claims are in a script that "
            f"{labeler.name} was not trained on; their labels are unreliable"
        )
    yield from _notes_on_pairs([pair for each in report.claims for pair in each.labels])


def _notes_on_refuted(last: Attempt, looks: Iterable[SecondLook]) -> Iterator[str]:
    """Yield a note if the final answer still makes claims that documents refute.

    Without the note, "fully checked" might be taken to mean "correct". A scored answer has no such
    note, since its scores mark these claims.
    """
    report = last.report
    if report is None or is_json(last.answer.text):  # notes on disputed values already say so
        return
    disputed = [report.evidence(number) for number in sorted(report.disputed)]
    refuted = [each for each in disputed if report.why_disputed(each) == "refuted"]
    if not refuted:
        return
    claim, others = refuted[0].claim.text, len(refuted) - 1
    numbers = ", ".join(map(str, refuted[0].contradicts))
    cleared = (each for each in looks if each.outcome in _CLEARED)
    why = next((each.why for each in cleared if each.candidates[0].statement == claim), "")
    verb, end = ("seem to contradict", f": {why}") if why else ("contradict", "")
    more = f" ({others} more such claim{'s' if others > 1 else ''})" if others else ""
    yield (
        f"documents {numbers} {verb} {quoted(claim)}, and none supports it, but the answer still"
        f" says it{more}{end}"
    )


def _looks(state: RagState) -> Iterator[SecondLook]:
    return (look for change in changes_of(state) for look in change.looks)


def _notes_on_pairs(pairs: Sequence[EvidenceLabel]) -> Iterator[str]:
    """Yield notes on pairs that have no label, and on documents that the judge saw only in part."""
    errors = [pair.error for pair in pairs if pair.label is Label.UNLABELLED]
    if errors:
        yield f": {len(errors)} of {len(pairs)} pairs have no label ({errors[0]})"
    for number in sorted({pair.document for pair in pairs if pair.document_cut}):
        yield f": the judge saw only part of document {number}, because it was too long"


def _records_in(state: Mapping[str, Any]) -> dict[str, tuple[Record, ...]]:
    """Return the records that the steps of a run share, by field; none for any other state."""
    if not isinstance(state, StateOfRecords) or not state.get("run_id"):
        return {}
    return {name: read(state) for name, read in _READERS.items() if state.get(name)}


def run_of(state: Mapping[str, Any]) -> Run:
    """Read the run, finished or not, from a state."""
    records = _records_in(state)
    # a field that is None gets the default of its record
    state = {name: field for name, field in state.items() if field is not None}
    fields = {name: state[name] for name in Run.model_fields if name in state} | records
    if "run_id" not in fields:  # the documents are as passed by the caller, without numbers
        fields.pop("documents", None)
    fields.setdefault("asked", fields.get("question"))
    run = Run.model_validate(fields)
    answers = [*(attempt.answer for attempt in run.attempts)]
    if state.get("draft"):
        answers.append(Answer.model_validate(state["draft"]))
    texts = {"first_answer": answers[0].text, "answer": answers[-1].text} if answers else {}
    run = run.model_copy(update={name: text for name, text in texts.items() if name not in state})
    is_finished = "flipped" in state  # record, the last step, sets this field
    return run.model_copy(update={"status": _status(run) if is_finished else RunStatus.UNFINISHED})


def _status(run: Run) -> RunStatus:
    """Return the status of a finished run, by the first rule that applies.

    A changed answer is CORRECTED even if it was not fully checked. Answers that state nothing, and
    answers without a score, are PASSED_THROUGH, since there was nothing to check.
    """
    report = run.report
    if report is None:
        return RunStatus.PASSED_THROUGH
    if report.error or (report.claims and report.cs_c is None):
        return RunStatus.FAILED
    if run.flipped:
        return RunStatus.CORRECTED
    if _states_nothing(run):
        return RunStatus.PASSED_THROUGH
    if run.checked == "no":
        return RunStatus.FAILED
    if report.conflicting or report.disputed:
        return RunStatus.KEPT
    return RunStatus.PARTLY_SCORED if run.is_partial else RunStatus.SCORED


def _states_nothing(run: Run) -> bool:
    gap = run.examined.main_gap if run.examined else None
    return gap is not None and gap.kind is GapKind.STATES_NOTHING
