"""Claims that read like instructions to the judge that labels them."""

import re

from conflictscore.prompts import neutral
from conflictscore.records import Claim

_CLAIM_WORDS = (
    r"(?:ids?|claims?|supports?|supported|contradicts?|contradicted|irrelevant|true|false)"
)
# Repetitions are bounded, so that a search through a hostile text takes linear time.
_ORDER = re.compile(
    r"SUPPORTS|CONTRADICTS|IRRELEVANT"  # labels in capitals, which do not occur in prose
    r"|(?i:\b(?:all|any|each|every|other|these|those|following|previous)(?: of the)?"
    r" (?:other )?(?:claims?|ids?|verdicts?|labels?)\b"
    r"|\bto (?:the|any|every) (?:judge|grader|labell?er|checker|model|assistant)\b"
    r"|\b(?:ignore|disregard|override|forget)\b.{0,60}"
    r"\b(?:above|instructions?|rules?|documents?|claims?|prompt)\b"
    r"|(?:^|[.:;,!?—–-] ?|\bplease |\bmust |\bshould |\bto )"
    r"(?:label|mark|answer|reply|respond|output|treat|rate|rule)\b.{0,60}\b" + _CLAIM_WORDS + r"\b)"
)


def reads_like_an_order(claim: Claim) -> bool:
    """Return whether a claim may address the judge: it says how to label, or mentions other claims.

    A false positive costs one call. A false negative lets the claim influence the verdicts on other
    claims of its batch.
    """
    return _ORDER.search(neutral(claim.text)) is not None
