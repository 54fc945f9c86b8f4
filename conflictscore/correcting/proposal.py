"""Rewrites a disputed passage according to the second looks at its claims.

Winners of disputes are put into the passage first. Then one unsettled dispute, or one name that
several things share, is explained.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from conflictscore.answering.languages import Language
from conflictscore.correcting.look import look_again_at
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.telling import (
    explained_things,
    hedged,
    language_to_tell_in,
    tellable,
)
from conflictscore.correcting.wording import exchanged, replaced
from conflictscore.records import ClaimEvidence, LookOutcome, SecondLook
from conflictscore.threads import at_once

# Maximum number of disputed claims of a passage that get a second look. A passage is one sentence,
# which seldom makes more claims, and each look queries up to 12 documents.
_MOST_CLAIMS = 4


class Correction(NamedTuple):
    """A claim from a passage, and the statement that replaces it."""

    wrong: str
    right: str


class NewPassage(NamedTuple):
    """The new text of a passage, and the looks that led to it.

    Attributes:
        text: The new text, or the old text if nothing changes.
        looks: The second look at each claim.
        not_examined: The number of disputed claims without a second look.
    """

    text: str
    looks: tuple[SecondLook, ...]
    not_examined: int = 0

    @property
    def reason(self) -> str:
        """The distinct reasons of all looks, and whether disputed claims were not examined."""
        reasons = [look.why for look in self.looks]
        if self.not_examined:
            reasons.append(
                f"{self.not_examined} more claims of the passage are disputed, but at most"
                f" {_MOST_CLAIMS} claims get a second look."
            )
        return " ".join(dict.fromkeys(reasons))


async def propose(
    passage: str,
    disputed_claims: Sequence[ClaimEvidence],
    others: Sequence[str],
    looking: Looking,
    write: Callable[[str, Sequence[Correction]], Awaitable[str]],
    *,
    alone: bool = False,
) -> NewPassage:
    """Take a second look at each disputed claim of a passage, and rewrite the passage accordingly.

    The looks run concurrently. First, winners are put into the passage. A winner is inserted by
    changing the span that differs or by replacing the sentence; if neither works, a model is asked
    to rewrite the passage. Two claims whose winners replace the same span count as one correction.
    Then an explanation is added if a dispute is unsettled, or if several things have the same name.
    Only one explanation is added, since a second one would overwrite the first.

    Args:
        passage: The passage, a sentence of the answer.
        disputed_claims: The disputed claims of the passage.
        others: The other claims of the passage, which the new text must still state.
        looking: What the second looks need.
        write: Asks a model to rewrite a passage with corrections.
        alone: Whether the passage is the whole answer. A passage that is the whole answer may be a
            phrase rather than a sentence.
    """
    claims = disputed_claims[:_MOST_CLAIMS]
    looks = await at_once(partial(look_again_at, claim, passage, looking) for claim in claims)
    disputed_texts = [claim.claim.text for claim in disputed_claims]

    def beside(look: SecondLook) -> list[str]:
        own = look.candidates[0].statement
        return [*others, *(text for text in disputed_texts if text != own)]

    text, pending = _with_winners(passage, looks, beside, looking, alone=alone)
    if pending:
        text = await write(text, pending)
    proposal = _with_dispute_told(text, looks, beside, looking)
    return proposal._replace(not_examined=len(disputed_claims) - len(claims))


def _with_winners(
    passage: str,
    looks: Sequence[SecondLook],
    beside: Callable[[SecondLook], Sequence[str]],
    looking: Looking,
    *,
    alone: bool,
) -> tuple[str, list[Correction]]:
    """Insert the winners that need no model; return the text and the corrections that need one."""
    text, pending, done = passage, list[Correction](), set[tuple[str, str]]()
    exchanges = {look.candidates[0].statement: exchanged(look) for look in looks}
    for look in looks:
        if look.decision != "replace" or look.rival is None:
            continue
        own, winner = (look.candidates[place].statement for place in (0, look.rival))
        exchange = exchanges[own]
        if exchange in done:
            continue
        # claims whose winners replace the same span, so it may be replaced in all of them
        twins = [text for text, other in exchanges.items() if other and other == exchange]
        new_text = replaced(
            text, look, beside(look), twins=twins, documents=looking.documents, alone=alone
        )
        if new_text is None:
            pending.append(Correction(own, winner))
        else:
            text = new_text
            done |= {exchange} if exchange else set()
    return text, pending


def _with_dispute_told(
    text: str,
    looks: Sequence[SecondLook],
    beside: Callable[[SecondLook], Sequence[str]],
    looking: Looking,
) -> NewPassage:
    """Reword a passage to explain its first unsettled dispute or its first ambiguous name.

    If further looks also found several answers, their claims are kept, and their outcomes record
    this.
    """
    look_to_tell = next((look for look in looks if look.tells_several), None)
    if look_to_tell is None:
        return NewPassage(text, tuple(looks))
    language = language_to_tell_in(text, looking.answer, looking.question)
    told_look = tellable(look_to_tell, language)
    new_text = _passage_told_anew(text, told_look, beside(look_to_tell), looking, language)
    is_told = new_text is not None
    final_looks = tuple(
        told_look
        if look is look_to_tell and is_told
        else _untold(look)
        if look.tells_several
        else look
        for look in looks
    )
    return NewPassage(text if new_text is None else new_text, final_looks)


def _passage_told_anew(
    passage: str,
    look: SecondLook,
    others: Sequence[str],
    looking: Looking,
    language: Language | None,
) -> str | None:
    """Reword a passage to report a look's dispute; return None if its language is unsupported."""
    if look.decision == "explain":
        return explained_things(passage, look, others, language)
    return hedged(passage, look, looking.documents, others, language)


def _untold(look: SecondLook) -> SecondLook:
    """Return the look with its claim kept, because no passage explains the dispute."""
    outcomes = {"hedge": LookOutcome.UNSETTLED, "explain": LookOutcome.ANOTHER_THING}
    return look.model_copy(update={"decision": "keep", "outcome": outcomes[look.decision]})
