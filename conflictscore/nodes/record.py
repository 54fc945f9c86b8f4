"""record: the answer that stands, whether it was changed and checked, and the run of a state."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage

from conflictscore.answering.json_claims import disputed_values
from conflictscore.labelers.protocol import Labeler, supports_script
from conflictscore.loop.examining import examined_of
from conflictscore.loop.rounds import flipped_by
from conflictscore.loop.state import (
    RagState,
    RunRuntime,
    attempts_of,
    changes_of,
    documents_of,
    draft_of,
)
from conflictscore.records import (
    Answer,
    Attempt,
    ConflictReport,
    Examined,
    Gap,
    GapKind,
    Label,
    Run,
    RunStatus,
)
from conflictscore.retrieval.voices import copies, one_voice

_log = logging.getLogger(__name__)

_QUOTE = frozenset({GapKind.UNCLAIMED, GapKind.CLAIM_BEYOND_ANSWER})
"""Gaps whose notes quote the answer."""


async def record(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Sum up the run from its attempts."""
    attempts = attempts_of(state)
    if not attempts:
        return (update := _empty(state)) | _spoken(state, update, runtime)
    first, last = attempts[0], attempts[-1]
    changed = flipped_by(attempts)
    if changed is not None:
        applied = [change.to_json() for change in changes_of(state) if change.applied]
        before, after = first.answer.text, last.answer.text
        flip = {"before": before, "after": after, "changes": applied}
        runtime.stream_writer({"event": "flip", **flip})
    examined = _examined(state, last, runtime)
    update = {
        "answer": last.answer.text,
        "first_answer": first.answer.text,
        "flipped": changed is not None,
        "checked": examined.checked,
        "examined": examined.to_json(),
        "justification": (changed or last).answer.justification,
        "report": first.report.summary() if first.report else None,
        "final_report": last.report.summary() if last.report and last.round else None,
        "notes": [
            *state["notes"],
            *_notes(attempts, runtime.context.labeler),
            *(gap.note for gap in examined.gaps if gap.kind is GapKind.ONE_DOCUMENT),
            *disputed_values(last),
        ],
    }
    return update | _spoken(state, update, runtime)


def _spoken(state: RagState, update: Mapping[str, Any], runtime: RunRuntime) -> dict[str, Any]:
    """The answer as a message of the conversation, unless a caller's own model gave it there."""
    if runtime.context.answerer is not None or not state.get("messages"):
        return {}
    verdict = run_of({**state, **update}).verdict()  # the run itself is in the state already
    name = f"conflictscore/{runtime.context.generator.name}"
    metadata = {"conflictscore": verdict, "model_name": name}
    return {"messages": [AIMessage(update["answer"], response_metadata=metadata)]}


def _held_against_one(state: RagState, last: Attempt, runtime: RunRuntime) -> bool:
    """Whether no disagreement was seen, and all documents speak with one voice.

    The paper's loop, which has no least coverage, does not ask.
    """
    report = last.report
    asks = runtime.context.settings.min_coverage is not None and report and report.claims
    if not asks or (report and report.conflicting):  # copies that were altered disagree
        return False
    documents = documents_of(state)
    return len(documents) - len(one_voice(documents, copies(documents))) == 1


def _empty(state: RagState) -> dict[str, Any]:
    text, note = draft_of(state).text, "the answer is empty, and has no score"
    examined = Examined(gaps=(Gap(kind=GapKind.EMPTY_ANSWER, note=note),))
    return {
        "answer": text,
        "first_answer": text,
        "flipped": False,
        "checked": examined.checked,
        "examined": examined.to_json(),
        "attempts": [],
        "reason": note,
        "notes": [*state["notes"], note],
        **dict.fromkeys(("justification", "report", "final_report")),
    }


def _examined(state: RagState, last: Attempt, runtime: RunRuntime) -> Examined:
    """The ledger of the answer that stands; what it lacks is logged, unless nothing is stated."""
    least = runtime.context.settings.min_coverage
    examined = examined_of(
        last,
        documents_of(state),
        runtime.context.labeler.name,
        least=least,
        alone=_held_against_one(state, last, runtime),
    )
    gap = examined.main_gap
    if gap is None or least is None or gap.kind is GapKind.STATES_NOTHING:
        return examined
    how = "only in part" if examined.checked == "partly" else "not"
    # each row of a file says it in its notes, and a million warnings would help nobody
    quiet = gap.kind is GapKind.ONE_DOCUMENT and not state.get("question")
    level = logging.INFO if quiet else logging.WARNING
    # words of an answer stay out of logs: another part of the program may have to redact them
    why = gap.kind.value if gap.passage or gap.kind in _QUOTE else gap.note
    _log.log(level, "run %s: the answer was %s checked: %s", state["run_id"], how, why)
    return examined


def _notes(attempts: tuple[Attempt, ...], labeler: Labeler) -> list[str]:
    """Notes on the scores of a run's answers, for its reader."""
    notes = []
    for attempt in attempts:
        which = "the first answer" if attempt.round == 0 else f"regenerated answer {attempt.round}"
        if attempt.report is not None:
            notes += [f"{which}{note}" for note in _notes_on(attempt, attempt.report, labeler)]
    return notes


def _notes_on(attempt: Attempt, report: ConflictReport, labeler: Labeler) -> Iterator[str]:
    """Gaps in the score of one answer, as ends of sentences about it."""
    if report.error:
        yield f" has no score: {report.error}"
    if attempt.unclaimed and not attempt.gaps:  # of a run that an earlier version stored
        yield f": {attempt.unclaimed}"
    yield from (f": {gap.note}" for gap in attempt.gaps)
    foreign = sum(not supports_script(labeler, each.claim) for each in report.claims)
    if foreign:
        yield (
            f": {foreign} of {len(report.claims)} claims are in a script that {labeler.name} has"
            " not learned; their labels mean little"
        )
    pairs = [pair for claim in report.claims for pair in claim.labels]
    missing = [pair.error for pair in pairs if pair.label is Label.UNLABELLED]
    if missing:
        yield f": {len(missing)} of {len(pairs)} pairs have no label ({missing[0]})"
    for number in sorted({pair.document for pair in pairs if pair.document_cut}):
        yield f": the judge saw document {number} cut, for want of room"


def run_of(state: Mapping[str, Any]) -> Run:
    """The run of a state, final or from any time before."""
    state = {name: value for name, value in state.items() if value is not None}
    known = {name: state[name] for name in Run.model_fields if name in state}
    if "run_id" not in known:  # until documents have their numbers they are as the caller gave them
        known.pop("documents", None)
    known.setdefault("asked", known.get("question"))
    run = Run.model_validate(known)
    answers = [*(attempt.answer for attempt in run.attempts)]
    if state.get("draft"):
        answers.append(Answer.model_validate(state["draft"]))
    texts = {"first_answer": answers[0].text, "answer": answers[-1].text} if answers else {}
    run = run.model_copy(update={name: text for name, text in texts.items() if name not in state})
    return run.model_copy(update={"status": _status(run, finished="flipped" in state)})


def _status(run: Run, *, finished: bool) -> RunStatus:
    report = run.report
    if report is None:
        return RunStatus.PASSED_THROUGH if finished else RunStatus.UNFINISHED
    if not finished:
        return RunStatus.UNFINISHED
    if report.error or (report.claims and report.cs_c is None):
        return RunStatus.FAILED
    if run.flipped:
        return RunStatus.CORRECTED
    gap = run.examined.main_gap if run.examined else None
    if gap is not None and gap.kind is GapKind.STATES_NOTHING:
        return RunStatus.PASSED_THROUGH
    if run.checked == "no":
        return RunStatus.FAILED
    if report.conflicting or report.disputed:
        return RunStatus.KEPT
    return RunStatus.PARTLY_SCORED if run.is_partial else RunStatus.SCORED
