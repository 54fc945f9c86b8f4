"""Finds the earlier answers that a request of the Responses API names only by their ids.

Clients such as the Vercel AI SDK send an answer's text once. In later turns they send an
``item_reference`` with the id of the message, which contains the id of its run.

Limits without a stated reason were chosen by hand.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from conflictscore.middleware.service.kept_runs import RUNNING, KeptRuns
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.records import RunStatus
from conflictscore.threads import in_thread

MESSAGE_PREFIX = "msg_"
"""The start of a message's id; the id of its run follows."""

_MOST_REFERENCES = 200
"""The maximum number of earlier answers that one request may name."""
_LOOKS, _LOOK_AGAIN_S = 40, 0.05
"""How many times to look up a run that is still being stored, and the seconds between look-ups."""
_NOT_SENT = frozenset({RunStatus.FAILED.value, RunStatus.UNFINISHED.value})
"""The statuses of runs whose answer was not sent."""


async def earlier_answers(body: Mapping[str, Any], runs: KeptRuns, owner: str) -> dict[str, str]:
    """Return the texts of the earlier answers that a body refers to.

    The keys are the ids of the messages. Only the owner's own runs are read. Answers that are no
    longer stored are left out.

    Raises:
        RefusedError: The body has too many references.
    """
    ids = {*_references(body)}
    if len(ids) > _MOST_REFERENCES:
        raise RefusedError(
            400,
            f"input: at most {_MOST_REFERENCES} items may be references; send the items themselves",
            code="invalid_value",
            param="input",
        )
    texts = {item_id: await _sent_text(item_id, runs, owner) for item_id in ids}
    return {item_id: text for item_id, text in texts.items() if text is not None}


def _references(body: Mapping[str, Any]) -> list[str]:
    """Return the ids of the messages of this service that a body refers to."""
    turns = body.get("input")
    if not isinstance(turns, list):
        return []
    ids = [
        turn.get("id")
        for turn in turns
        if isinstance(turn, dict) and turn.get("type") == "item_reference"
    ]
    return [name for name in ids if isinstance(name, str) and name.startswith(MESSAGE_PREFIX)]


async def _sent_text(item_id: str, runs: KeptRuns, owner: str) -> str | None:
    """Return the text that was sent for a run; wait briefly for a run that is still being stored.

    For a failed run, that is the text sent in place of the answer, if there was one.
    """
    run_id = item_id.removeprefix(MESSAGE_PREFIX)
    for _ in range(_LOOKS):
        run = await in_thread(lambda: runs.look_up(run_id, owner))
        if run is not RUNNING:
            break
        await asyncio.sleep(_LOOK_AGAIN_S)
    if not run:  # there is no such run, or it is still RUNNING
        return None
    text = run.get("sent") or (None if run.get("status") in _NOT_SENT else run.get("answer"))
    return text if isinstance(text, str) and text else None
