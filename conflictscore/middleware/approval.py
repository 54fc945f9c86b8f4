"""Asks a person to decide on a changed answer before it replaces the first answer."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage, message_to_dict, messages_from_dict
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt

from conflictscore.answering.evidence_text import sourced_details
from conflictscore.errors import InputError
from conflictscore.loop.examining import examined_of
from conflictscore.middleware.run_views import whole, with_verdict
from conflictscore.prompts import PromptSet, material_line
from conflictscore.records import (
    Change,
    Examined,
    Gap,
    GapKind,
    RevisionAction,
    Run,
    RunStatus,
)

Proposal = dict[str, Any]
"""A flip that awaits a decision, as plain JSON. ``replaces`` is the id of the first answer's
message, ``message`` is the message with the new answer, and ``run`` is the run."""


_OF_THE_RUN = frozenset(
    {
        GapKind.ONE_DOCUMENT,
        GapKind.EVIDENCE_LEFT_OUT,
        GapKind.UNFINISHED_ANSWER,
        GapKind.NOT_RECONSIDERED,
    }
)
"""Kinds of gaps that concern the whole run, so the attempts do not record them."""
_WORDS = (
    "resume with 'approve', 'reject', {'edit': 'the answer to give'}, or {'decisions':"
    " [{'type': 'approve'}]}, where type is 'approve', 'reject' or 'edit' (with 'edited_action')"
)


def propose(first: BaseMessage, message: BaseMessage, run: Run) -> Proposal:
    """Return a flip as a proposal; until a person decides on it, the first answer is kept."""
    return {"replaces": first.id, "message": message_to_dict(message), "run": run.to_json()}


def decide_on(
    proposal: Proposal, first: BaseMessage, prompts: PromptSet, min_coverage: float | None
) -> dict[str, Any]:
    """Ask for the decision on a proposal, and turn it into an update of the agent's state.

    An invalid decision raises an InputError that lists the valid decisions; the flip keeps waiting.
    """
    run = Run.model_validate(proposal["run"])
    request = _request(run, prompts)
    reply = interrupt(request)
    while (decision := _read(reply)) is None:
        no_decision = reply
        try:  # the checkpoint replays invalid decisions too, so read the next decision
            reply = interrupt(request)
        except GraphInterrupt:
            # the beginning suffices to recognise the decision, which may have any length
            raise InputError(f"{no_decision!r:.100} is not a decision; {_WORDS}") from None
    word, text = decision
    if word == "reject":
        run = _rejected(run, text, min_coverage)
        return _update(run, with_verdict(first, run))
    [message] = messages_from_dict([proposal["message"]])
    if word == "edit" and text != run.answer:
        run = _edited(run, text)
        message = message.model_copy(update={"content": text})
    # the message gets a new id, since streaming clients already have a message with the first id
    return _update(run, RemoveMessage(id=proposal["replaces"]), with_verdict(message, run))


def _update(run: Run, *messages: BaseMessage) -> dict[str, Any]:
    return {"messages": list(messages), "conflict": whole(run), "conflict_proposal": None}


def _request(run: Run, prompts: PromptSet) -> dict[str, Any]:
    """Return a flip as shown to a person, in our format and in LangChain's review format."""
    summary = run.summary(texts=False)
    report = run.final_report or run.report
    weights = report.weights if report else {}
    claims = {c.claim.text: c for change in run.applied_changes for c in change.claims}
    if not claims:
        raise ValueError("an answer changed without a claim to reconsider")
    return {
        "action": "approve_flip",
        "question": run.question,
        "before": run.first_answer,
        "after": run.answer,
        "justification": run.justification,
        "changes": [change.to_json() for change in run.applied_changes],
        "evidence": "\n\n".join(
            f"{material_line(text)}\n{sourced_details(claim, run.documents, prompts, weights)}"
            for text, claim in claims.items()
        ),
        "documents": summary["documents"],
        "cs_c": summary["report"]["cs_c"],
        "cs_r": summary["report"]["cs_r"],
        **({"weighted": summary["report"]["weighted"]} if weights else {}),
        "choices": ["approve", "reject", {"edit": "the answer to give instead"}],
        # LangChain's review format, for its user interfaces
        "action_requests": [{"name": "approve_flip", "args": {"answer": run.answer}}],
        "review_configs": [
            {"action_name": "approve_flip", "allowed_decisions": ["approve", "edit", "reject"]}
        ],
    }


def _read(decision: object) -> tuple[str, str] | None:
    """Read a decision and its text in our format or LangChain's; return None if it is invalid."""
    if isinstance(decision, str):
        decision = {"type": decision.strip().casefold()}
    if isinstance(decision, Mapping) and isinstance(decision.get("decisions"), list):
        [decision, *more] = decision["decisions"] or [None]
        if more:
            return None
    if not isinstance(decision, Mapping):
        return None
    if set(decision) == {"edit"}:
        decision = {"type": "edit", "text": decision["edit"]}
    kind = decision.get("type")
    if kind in ("approve", "reject"):
        return str(kind), str(decision.get("message") or "")
    text = _edited_text(decision) if kind == "edit" else None
    return None if text is None else ("edit", text)


def _edited_text(decision: Mapping[str, Any]) -> str | None:
    """Read the text of an edit in our format or LangChain's; return None if there is no text."""
    action = decision.get("edited_action")
    fields = action.get("args") if isinstance(action, Mapping) else decision
    if not isinstance(fields, Mapping):
        return None
    texts = [fields[key] for key in ("answer", "text") if key in fields]
    if len(texts) != 1 or not isinstance(texts[0], str) or not texts[0].strip():
        return None
    return texts[0]


def _rejected(run: Run, message: str, min_coverage: float | None) -> Run:
    """Return the run with its first answer, and with the ledger of the first answer."""
    before = run.examined or Examined()
    labelers = [name for document in before.documents for name in document.read_by]
    ledger = examined_of(
        run.attempts[0], run.documents, next(iter(labelers), ""), least=min_coverage
    )
    # the positions in these gaps, if any, refer to the rejected answer
    of_run = [gap for gap in before.gaps if gap.kind in _OF_THE_RUN]
    ledger = ledger.with_gaps(*(gap.model_copy(update={"passage": None}) for gap in of_run))
    note = "a person rejected the new answer, so the first one was kept"
    note += f": {material_line(message)}" if message.strip() else ""
    update = {
        "answer": run.first_answer,
        "changes": _refused(run, note),
        "checked": ledger.checked,
        "examined": ledger,
        "justification": None,
        "notes": (*run.notes, note),
        "status": RunStatus.KEPT,
    }
    return run.model_copy(update=update)


def _edited(run: Run, text: str) -> Run:
    note = "a person edited the new answer, and the edited text has no score"
    edited_run = run.model_copy(update={"answer": text})
    edited_run = edited_run.with_gaps(Gap(kind=GapKind.EDITED, note=note))
    if edited_run.flipped:
        return edited_run.model_copy(update={"changes": _as_edited(run, text)})
    return edited_run.model_copy(update={"changes": _refused(run, note), "status": RunStatus.KEPT})


def _refused(run: Run, note: str) -> tuple[Change, ...]:
    update = {"accepted": False, "note": note}
    return tuple(
        change.model_copy(update=update) if change.applied else change for change in run.changes
    )


def _as_edited(run: Run, text: str) -> tuple[Change, ...]:
    """Return the run's changes, plus the change from the proposed answer to the edited text."""
    last = max(change.round for change in run.changes)
    proposed_answer = run.answer or ""
    claims = {c.claim.text: c for change in run.applied_changes for c in change.claims}
    edit = Change(
        round=last + 1,
        start=0,
        end=len(proposed_answer),
        before=proposed_answer,
        after=text,
        action=RevisionAction.REPLACE,
        whole=True,
        claims=tuple(claims.values()),
        reason="a person edited the answer",
    )
    return (*run.changes, edit)
