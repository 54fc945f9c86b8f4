"""correct and justify: write again what is disputed, in place or anew, and ask why it changed.

The paper asks for a reason in multiple choice only (Table 16; 17 in arXiv v1), and small models
leave it out even there. A flip without a reason cannot be reviewed, so one short question of our
own follows it.
"""

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
    """Have the disputed claims of the last answer looked at again, with their evidence.

    Free-form answers are written in place, passage by passage, and JSON value by value; a choice
    between options, and every text where the run follows the paper, anew. Each passage that was
    looked at is a Change, also where it is kept. If no look succeeded, the earlier answer stands.
    """
    context, attempts, meter = runtime.context, attempts_of(state), UsageMeter()
    last = attempts[-1]
    if last.report is None or not last.report.disputed:
        raise ValueError("correct was reached without a disputed claim")
    anew = context.settings.regeneration == "paper" or state["options"]
    write = write_anew if anew and not is_json(last.answer.text) else write_in_place
    written = await write(last, state, context, meter)
    update: dict[str, Any] = {
        "changes": with_changes(state, written.changes),
        "usage": spent(state, meter.usage),
    }
    if written.answer is None:
        failure = str(written.changes[0].note)
        note = f"the earlier answer stands, because it could not be regenerated: {failure}"
        return update | {
            "decision": "justify" if unexplained(attempts) else "record",
            "reason": note,
            "regeneration_error": failure,
            "notes": [*state["notes"], note, *written.notes],
        }
    number = last.round + 1
    announce(runtime, number, written.answer)
    if not context.check_last and number >= context.settings.max_rounds:
        unscored = Attempt(round=number, answer=written.answer)
        update |= {"decision": "record", "attempts": [*state["attempts"], unscored.to_json()]}
    else:
        update["decision"] = "decompose"
    return update | {
        "draft": written.answer.to_json(),
        "notes": [*state["notes"], *written.notes],
        "timings": timed(state, "correct", written.seconds),
    }
