"""Turning second looks at a passage's disputed claims into what is to take its place."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from conflictscore.nodes.second_look.look import Looking, look_again_at
from conflictscore.nodes.second_look.wording import hedged, replaced
from conflictscore.records import ClaimEvidence, SecondLook
from conflictscore.threads import at_once

_MOST_CLAIMS = 4
"""Disputed claims of a passage that are looked at, those with most at stake first."""


class Correction(NamedTuple):
    """Claim of a passage, and the statement that replaces it."""

    wrong: str
    right: str


class NewPassage(NamedTuple):
    """The text in a passage's place, itself where nothing changes, and a look at each claim."""

    text: str
    looks: tuple[SecondLook, ...]

    @property
    def reason(self) -> str:
        """Why, for each claim."""
        return " ".join(dict.fromkeys(look.why for look in self.looks))


async def propose(
    passage: str,
    disputed: Sequence[ClaimEvidence],
    others: Sequence[str],
    looking: Looking,
    write: Callable[[str, Sequence[Correction]], Awaitable[str]],
    *,
    alone: bool = False,
) -> NewPassage:
    """Look again at each disputed claim of a passage, and write what that comes to into it.

    Claims are looked at side by side. Winners are put in first, by changing the span in which they
    differ or by their own sentence; those that fit in neither way by asking for the passage.
    Disputes that nothing settles are then told in it.
    """
    claims = disputed[:_MOST_CLAIMS]
    looks = await at_once(partial(look_again_at, claim, passage, looking) for claim in claims)
    said = [claim.claim.text for claim in disputed]
    text, pending = passage, list[Correction]()
    for look in looks:
        if look.decision != "replace" or look.rival is None:
            continue
        own, winner = look.candidates[0].statement, look.candidates[look.rival].statement
        rest = [*others, *(claim for claim in said if claim != own)]
        changed = replaced(text, look, rest, alone=alone)
        if changed is None:
            pending.append(Correction(own, winner))
        else:
            text = changed
    if pending:
        text = await write(text, pending)
    for look in looks:
        if look.decision == "hedge":
            own = look.candidates[0].statement
            rest = [*others, *(claim for claim in said if claim != own)]
            text = hedged(text, look, looking.documents, rest)
    return NewPassage(text, looks)
