"""A person's word on a flip, before it takes the place of the first answer."""

from collections.abc import Mapping
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, RemoveMessage, message_to_dict, messages_from_dict
from langgraph.types import interrupt

from conflictscore.middleware.entrypoints import whole
from conflictscore.nodes.conflict_details import sourced_details
from conflictscore.prompts import PromptSet, material_line
from conflictscore.records import Change, RevisionAction, Run, RunStatus

__all__ = ["Proposal", "decide_on", "propose", "with_run"]

Proposal = dict[str, Any]
"""A flip that waits for a person, as plain JSON: ``replaces`` (the id of the first answer's
message), ``message`` (the new answer's) and ``run``."""


Message = TypeVar("Message", bound=BaseMessage)


def with_run(message: Message, run: Run) -> Message:
    """The message with its run, in brief, in ``response_metadata["conflictscore"]``."""
    metadata = {
        **message.response_metadata,
        "conflictscore": run.summary("reason", texts=False),
    }
    return message.model_copy(update={"response_metadata": metadata})


def propose(first: BaseMessage, message: BaseMessage, run: Run) -> Proposal:
    """Keep a flip for a person to decide on; the first answer stands until then."""
    return {"replaces": first.id, "message": message_to_dict(message), "run": run.to_json()}


def decide_on(proposal: Proposal, first: BaseMessage, prompts: PromptSet) -> dict[str, Any]:
    """Ask for the decision, and turn it into an update of the agent's state.

    A decision in another form than the three is asked for again.

    Args:
        proposal: What :func:`propose` kept.
        first: The first answer, as it stands in the history.
        prompts: Where the ``evidence`` templates are.
    """
    run = Run.model_validate(proposal["run"])
    request = _request(run, prompts)
    decision = interrupt(request)
    while not _usable(decision):
        decision = interrupt({**request, "refused": "that was not one of the choices"})
    if decision == "reject":
        run = _rejected(run)
        return _update(run, with_run(first, run))
    [message] = messages_from_dict([proposal["message"]])
    if isinstance(decision, Mapping) and decision["edit"] != run.answer:
        run = _edited(run, decision["edit"])
        message = message.model_copy(update={"content": decision["edit"]})
    # Not under the first one's id: whoever streams messages was shown that one already.
    return _update(run, RemoveMessage(id=proposal["replaces"]), with_run(message, run))


def _update(run: Run, *messages: BaseMessage) -> dict[str, Any]:
    return {"messages": list(messages), "conflict": whole(run), "conflict_proposal": None}


def _request(run: Run, prompts: PromptSet) -> dict[str, Any]:
    shown = run.summary(texts=False)
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
        "documents": shown["documents"],
        "cs_c": shown["report"]["cs_c"],
        "cs_r": shown["report"]["cs_r"],
        **({"weighted": shown["report"]["weighted"]} if weights else {}),
        "choices": ["approve", "reject", {"edit": "the answer to give instead"}],
    }


def _usable(decision: object) -> bool:
    if isinstance(decision, Mapping):
        edit = decision.get("edit")
        return set(decision) == {"edit"} and isinstance(edit, str) and bool(edit.strip())
    return decision in ("approve", "reject")


def _rejected(run: Run) -> Run:
    note = "a person rejected the new answer, and the first one stands"
    update = {
        "answer": run.first_answer,
        "changes": _refused(run, note),
        "justification": None,
        "notes": (*run.notes, note),
        "status": RunStatus.KEPT,
    }
    return run.model_copy(update=update)


def _edited(run: Run, text: str) -> Run:
    note = "a person edited the new answer, and the edited text has no score"
    edited = run.model_copy(update={"answer": text, "notes": (*run.notes, note)})
    if edited.flipped:
        return edited.model_copy(update={"changes": _as_edited(run, text)})
    return edited.model_copy(update={"changes": _refused(run, note), "status": RunStatus.KEPT})


def _refused(run: Run, note: str) -> tuple[Change, ...]:
    update = {"accepted": False, "note": note}
    return tuple(one.model_copy(update=update) if one.applied else one for one in run.changes)


def _as_edited(run: Run, text: str) -> tuple[Change, ...]:
    """The changes with one more, from the answer that was proposed to the edited text."""
    last = max(change.round for change in run.changes)
    proposed = run.answer or ""
    claims = {c.claim.text: c for change in run.applied_changes for c in change.claims}
    edit = Change(
        round=last + 1,
        start=0,
        end=len(proposed),
        before=proposed,
        after=text,
        action=RevisionAction.REPLACE,
        whole=True,
        claims=tuple(claims.values()),
        reason="a person edited the answer",
    )
    return (*run.changes, edit)
