"""record: the answer that stands, whether it was changed and checked, and the run of a state."""

import logging
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage

from conflictscore.answering.json_claims import disputed_values
from conflictscore.labelers.protocol import Labeler, supports_script
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
    Checked,
    ConflictReport,
    Label,
    Run,
    RunStatus,
)
from conflictscore.retrieval.voices import copies, one_voice

_log = logging.getLogger(__name__)

_ALONE = "it was held against one document alone, so no disagreement of sources could be seen"


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
    alone = _held_against_one(state, last, runtime)
    update = {
        "answer": last.answer.text,
        "first_answer": first.answer.text,
        "flipped": changed is not None,
        "checked": _checked(last, runtime, state, alone=alone),
        "justification": (changed or last).answer.justification,
        "report": first.report.summary() if first.report else None,
        "final_report": last.report.summary() if last.report and last.round else None,
        "notes": [
            *state["notes"],
            *_notes(attempts, runtime.context.labeler),
            *([_ALONE] if alone else []),
            *disputed_values(last),
        ],
    }
    return update | _spoken(state, update, runtime)


def _spoken(state: RagState, update: Mapping[str, Any], runtime: RunRuntime) -> dict[str, Any]:
    """The answer as a message of the conversation, unless a caller's own model gave it there."""
    if runtime.context.answerer is not None or not state.get("messages"):
        return {}
    run = run_of({**state, **update}).summary("reason", texts=False)
    name = f"conflictscore/{runtime.context.generator.name}"
    metadata = {"conflictscore": run, "model_name": name}
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
    return {
        "answer": text,
        "first_answer": text,
        "flipped": False,
        "checked": "no",
        "attempts": [],
        "reason": note,
        "notes": [*state["notes"], note],
        **dict.fromkeys(("justification", "report", "final_report")),
    }


class _GapKind(Enum):
    """A reason that keeps an answer from being fully checked."""

    UNCLAIMED = auto()  # a part of it gave no claims
    ALONE = auto()  # there is one document alone, so sources cannot disagree
    UNLABELLED = auto()  # pairs of claim and document have no label


class _Gap(NamedTuple):
    kind: _GapKind
    text: str


def _checked(last: Attempt, runtime: RunRuntime, state: RagState, *, alone: bool) -> Checked:
    """Whether the final answer was checked; it is logged if it was not."""
    least = runtime.context.settings.min_coverage
    checked, gap = _check_of(last, least or 0, alone=alone)
    if gap is not None and least is not None:
        how = "only in part" if checked == "partly" else "not"
        # each row of a file says it in its notes, and a million warnings would help nobody
        is_row = gap.kind is _GapKind.ALONE and not state.get("question")
        level = logging.INFO if is_row else logging.WARNING
        _log.log(level, "run %s: the answer was %s checked: %s", state["run_id"], how, gap.text)
    return checked


def _check_of(last: Attempt, least: float, *, alone: bool) -> tuple[Checked, _Gap | None]:
    """How far an answer was checked, and what is missing; ``least`` is the least coverage."""
    report = last.report
    coverage = report.coverage if report else None
    if coverage == 1 or (report and not report.claims and not report.error):
        if last.unclaimed:
            return "partly", _Gap(_GapKind.UNCLAIMED, last.unclaimed)
        return ("partly", _Gap(_GapKind.ALONE, _ALONE)) if alone else ("fully", None)
    is_scored = report is not None and report.error is None
    share = f"{coverage or 0:.0%} of its pairs of claim and document have a label (see its notes)"
    checked: Checked = "partly" if is_scored and coverage and coverage >= least else "no"
    return checked, _Gap(_GapKind.UNLABELLED, share)


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
    if attempt.unclaimed:
        yield f": {attempt.unclaimed}"
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
    if run.checked == "no":
        return RunStatus.FAILED
    if report.conflicting or report.disputed:
        return RunStatus.KEPT
    return RunStatus.PARTLY_SCORED if run.is_partial else RunStatus.SCORED
