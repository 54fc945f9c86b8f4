"""correct: rewrite disputed passages in place, or the whole answer."""

from typing import Any

from conflictscore.answering.answerer import announce
from conflictscore.correcting.anew import write_anew
from conflictscore.correcting.in_place import write_in_place
from conflictscore.json_answers import is_json
from conflictscore.loop.rounds import unexplained
from conflictscore.loop.state import RagState, RunRuntime, attempts_of, spent, with_changes
from conflictscore.loop.time_budget import timed
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Attempt


async def correct(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Reconsider the disputed claims of the last answer in view of their evidence.

    Free-form answers are edited passage by passage, and JSON answers value by value. If a question
    has options, the model chooses again. If the run follows the paper, free-form answers are
    rewritten as a whole. Each reconsidered passage becomes a Change, even if its text stays the
    same, so that the run shows what was examined. If every reconsideration failed, the earlier
    answer is kept.
    """
    context, attempts, meter = runtime.context, attempts_of(state), UsageMeter()
    last = attempts[-1]
    if last.report is None or not last.report.disputed:
        raise ValueError("correct was reached without a disputed claim")
    # The answer to a multiple-choice question is an option, so no part of it can be replaced, even
    # if it is JSON. Other JSON is always edited value by value, even in the paper's loop: a
    # rewritten answer might no longer have the fields that the caller's program reads.
    as_paper = context.settings.regeneration == "paper" and not is_json(last.answer.text)
    write = write_anew if state["options"] or as_paper else write_in_place
    new_version = await write(last, state, context, meter)
    update: dict[str, Any] = {
        "changes": with_changes(state, new_version.changes),
        "usage": spent(state, meter.usage),
    }
    if new_version.answer is None:
        # All reconsiderations failed, so the reason of the first one is reported. An earlier round
        # may have changed the answer without a reason; ``justify`` then asks for one.
        failure = str(new_version.changes[0].note)
        note = f"the earlier answer was kept, because no new answer could be generated: {failure}"
        return update | {
            "decision": "justify" if unexplained(attempts) else "record",
            "reason": note,
            "regeneration_error": failure,
            "notes": [*state["notes"], note, *new_version.notes],
        }
    number = last.round + 1
    announce(runtime, number, new_version.answer)
    if not context.check_last and number >= context.settings.max_rounds:
        # without ``check_last``, this answer needs no score
        attempt = Attempt(round=number, answer=new_version.answer)
        update |= {"decision": "record", "attempts": [*state["attempts"], attempt.to_json()]}
    else:
        # Even an unchanged answer becomes an attempt, so that its round counts towards max_rounds.
        # If it was edited in place, it keeps its claims and labels; only pairs without a label cost
        # a further call.
        update["decision"] = "decompose"
    return update | {
        "draft": new_version.answer.to_json(),
        "notes": [*state["notes"], *new_version.notes],
        "timings": timed(state, "correct", new_version.seconds),
    }
