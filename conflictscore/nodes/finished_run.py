"""Make a ``Run`` of the state of the loop, or of scoring alone."""

from collections.abc import Mapping
from typing import Any

from conflictscore.records import Answer, Run, RunStatus


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
