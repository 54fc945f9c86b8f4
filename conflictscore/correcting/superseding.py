"""Finds, by words and labels, the documents that say that they replace a different statement.

Embedded models are too small to weigh two sides. But a document that corrects or replaces a
different statement says so in a few words near its value. Its labels tell which statement it
replaced: the document contradicts the old statement and supports the new one. If the labels are not
so clear, a labeler judges whether the document supports "A was replaced by B".

If only one side has such a document, that settles a dispute that the vote left open. Such a
document also prevents a claim from being outvoted by a statement that the claim replaced. A rival
with such a document still needs as much support as the claim, since anyone can write "correction"
at the top of a page. A rival with less support can win, too, since copies of an old rule often
outnumber the notices of the new rule. This rival needs two witnesses, and its document must be
newer than the documents that gave the claim.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable, Sequence

from conflictscore.correcting.looking import Looking
from conflictscore.correcting.vote import WITNESSES
from conflictscore.correcting.weigh import newer_side
from conflictscore.labelers.quotes import passage_of
from conflictscore.labelers.table import label_table
from conflictscore.prompts import material_line
from conflictscore.records import (
    Candidate,
    Claim,
    Document,
    EvidenceLabel,
    Ground,
    Label,
    Ruling,
    Weighing,
)

# Characters that are searched before and after the passage with the value: a sentence or two. Words
# of correction further away are likely to be about something else.
_AROUND = 240
_COMPARED = 60  # Number of characters by which a passage is located in the document.
_MOST_STATED = 300  # Maximum number of characters of a statement in the claim to label.
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
# Repetitions are bounded, so that a search through a hostile text takes linear time.
_SAYS_SO = re.compile(
    r"\b(?:supersed(?:es?|ed|ing)|replac(?:es|ed|ing)|restat(?:es?|ed|ing|ement)"
    r"|correct(?:ion|ions|ed)|errat(?:um|a)|corrigend(?:um|a)|retract(?:s|ed|ion)?"
    r"|withdr(?:awn|ew)|revok(?:ed|es)|repeal(?:ed|s)?|revis(?:ed|ion)|amended"
    r"|no longer|not any ?more|any ?more|until now|up to now|formerly|previously|used to"
    r"|instead of|(?:was|were) wrong|wrongly|mistakenly|in error|misprint"
    r"|berichtig(?:t|ung)|korrigiert|korrektur|ersetzt|nicht mehr|bisher|statt"
    r"|ne plus|remplace|rectificatif|jusqu'ici|ya no|sustituye|corrección|finora|non più|rettifica)"
    rf"\b|\b(?:from|as of|as from|since|effective|starting|with effect from)"
    rf" (?:\w{{1,9}} )?(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}\b|{_MONTH}\b(?! onwards?\b))"
    # The pattern excludes "from May to September", which is a season, and "the pages from August
    # onward", which may describe past events. "From 1 August onward" is a rule.
    r"(?! ?(?:to|until|till|through|[-\u2013]) )"
    r"|\b(?:(?:from|starting|as of) (?:tomorrow|now on|(?:the )?next (?:day|week|month|term|season"
    r"|year))|with (?:immediate effect|the new year))\b"
    r"|\bab (?:(?:dem )?\d{1,2}\. ?\w|(?:morgen|sofort|nächste[mnrs]?)\b)"
    r"|\b(?:à (?:partir|compter) d[eu]|a partir del?|a partire dal|vanaf) \d{1,2}",
    re.IGNORECASE,
)


def says_it_replaces(document: Document, statement: str) -> bool:
    """Return whether a document has words of correction near the sentence that makes a statement.

    Examples of such words are "restated", "supersedes", "no longer", "instead of" and "from 1
    June". In a long document, only the text around the sentence nearest to the statement is
    searched.
    """
    # passage_of needs a verdict that takes a side; the side makes no difference here
    label = EvidenceLabel(claim=1, document=document.number, label=Label.SUPPORTS)
    nearest = material_line(passage_of(Claim(number=1, text=statement), document, label) or "")
    text = material_line(document.text)
    at = text.find(nearest[:_COMPARED]) if nearest else -1
    near = nearest if at < 0 else text[max(0, at - _AROUND) : at + len(nearest) + _AROUND]
    return bool(_SAYS_SO.search(f"{document.title[:_AROUND]}\n{near}"))


async def replaced_by_document(
    candidates: Sequence[Candidate], rival: int, looking: Looking
) -> Weighing | None:
    """Return the side that replaced the other; None unless documents say so for exactly one side.

    Raise ProviderError if no such statement could be labelled.
    """
    sides = (0, rival)
    behind = [_saying(candidates[place], looking) for place in sides]
    if bool(behind[0]) == bool(behind[1]):
        return None
    place = sides[0] if behind[0] else sides[1]
    winner, loser = candidates[place], candidates[rival if place == 0 else 0]
    saying = await _that_say_so(loser, winner, behind[0] or behind[1], looking)
    if place and winner.worth < loser.worth:
        saying = _newer(saying, loser, looking) if winner.witnesses >= WITNESSES else []
    if not saying:
        return None
    reason = f"Document {saying[0]} itself says that its statement replaced the other."
    ruling = Ruling(shown=sides, chosen=place, ground=Ground.SUPERSEDES, reason=reason)
    return Weighing(sides=sides, rulings=(ruling,), chosen=place, ground=Ground.SUPERSEDES)


async def is_corrected_by_dissenter(
    candidates: Sequence[Candidate], rival: int, looking: Looking
) -> bool:
    """Return whether a rival's document says that the rival replaced the claim.

    Return False if a document for the claim says that it corrects something too. If more documents
    support the claim, such a rival does not win. But the answer should not hide the rival, since
    the copies of an old rule often outnumber the notice of the new rule.

    Raise ProviderError if no such statement could be labelled.
    """
    claim, new = candidates[0], candidates[rival]
    behind = _saying(new, looking)
    if not behind or _saying(claim, looking):
        return False
    return bool(await _that_say_so(claim, new, behind, looking))


async def _that_say_so(
    loser: Candidate, winner: Candidate, documents: Sequence[Document], looking: Looking
) -> list[int]:
    """Return those of these documents whose labels say that the winner replaced the loser."""
    sided = {*loser.evidence.contradicts}.intersection(winner.evidence.supports)
    if clear := [each.number for each in documents if each.number in sided]:
        return clear
    texts = [_replacement(loser, winner), _replacement(winner, loser)]
    forwards, backwards = await label_table(
        looking.labeler,
        [Claim(number=number, text=text) for number, text in enumerate(texts, start=1)],
        documents,
        meter=looking.reader.meter,
        cache=looking.cache,
        seconds=looking.seconds,
    )
    pairs = zip(forwards.labels, backwards.labels, strict=True)
    return [forward.document for forward, backward in pairs if _is_likelier(forward, backward)]


def _newer(saying: Sequence[int], loser: Candidate, looking: Looking) -> list[int]:
    """Return those of these documents that are newer than every document that gave the loser."""
    older = [number for number in loser.given_by if number in loser.votes] or loser.votes
    documents = looking.documents_by_number
    return [number for number in saying if newer_side([older, [number]], documents) == 1]


def _saying(candidate: Candidate, looking: Looking) -> list[Document]:
    """Return the documents of a candidate that claim to correct or replace another statement."""
    numbers: Iterable[int] = candidate.votes or candidate.evidence.supports
    documents = looking.documents_by_number
    behind = [documents[number] for number in numbers if number in documents]
    return [each for each in behind if says_it_replaces(each, candidate.statement)]


def _replacement(loser: Candidate, winner: Candidate) -> str:
    return f"“{_short(loser.statement)}” was replaced by “{_short(winner.statement)}”."


def _is_likelier(forward: EvidenceLabel, backward: EvidenceLabel) -> bool:
    """Return whether a document supports "A was replaced by B" more than "B was replaced by A".

    The two claims are so long that only the comparison of P(SUPPORTS) is meaningful, not its value.
    """
    if forward.p_supports is None or backward.p_supports is None:
        return forward.label is Label.SUPPORTS and backward.label is not Label.SUPPORTS
    return forward.p_supports > backward.p_supports


def _short(statement: str) -> str:
    return statement[:_MOST_STATED].rstrip(" .")
