"""Decides whether words of a passage that are in no claim state something.

A heading, a question or the lead-in of a list may have some such words without stating anything.
Time is linear in the length of the passage. In doubt, words state something: the answer then counts
as "partly" checked.
"""

import re

from conflictscore.answering.claim_terms import Terms, telling_words
from conflictscore.markdown import Passage
from conflictscore.word_lists import COURTESIES, REMARKS, YES

_LOOSE_SHARE = 0.2
"""Largest share of a passage's informative words that may be missing from its claims. Models reword
claims, so some words are missing from complete claims too. The limits in this module were chosen by
hand.
"""
_LOOSE_IN_A_ROW = 2
"""Number of consecutive missing words that state something. A single missing word merely connects
words of a claim.
"""
# Maximum number of informative words in an unclaimed heading or question. A longer one is likely to
# state something, even if the patterns below do not show it.
MOST_OF_A_LABEL = 4
_PRESUMING = re.compile(
    r"\W*(?:(?:so|but|and) )?(?:why|how come|did(?:n['\u2019]t)? you know|warum|wieso|weshalb"
    r"|pourquoi|por qu\u00e9|perch\u00e9)\b",
    re.IGNORECASE,
)
"""Matches a question that presupposes something: "Why is it deadly?"."""
_STATING = re.compile(
    r"\W*(?!(?:what|when|where|which|who|why|how|if|was|wann|wo|wer|warum|wie|welche\w?|que|quand"
    r"|o\u00f9|qui|pourquoi|comment|qu\u00e9|cu\u00e1ndo|d\u00f3nde|qui\u00e9n|c\u00f3mo)\b)"
    r"[^\n]{1,80}?\b(?:is|are|was|were|has|have|had|can|cannot|may|must|will|does|did|should"
    r"|ist|sind|war|waren|wird|wurde|hat|kann|darf|muss|est|sont|\u00e9tait|peut|doit|es|era|fue"
    r"|puede|debe)\b",
    re.IGNORECASE,
)
"""Matches a heading that is a statement: "The tablet is deadly"."""
# An adjective or participle that says something of its subject.
_QUALITY = (
    r"(?:\w{2,20}(?:ful|less|ous|ible)|deadly|fatal|lethal|safe|unsafe|toxic|harmful|illegal|legal|free"
    r"|dead|good|bad|better|worse|best|worst|true|false|available|unavailable|banned|forbidden"
    r"|approved|made|built|sold|born|invented|founded|discovered|designed|caused|produced|written"
    r"|closed|open|opened|cancelled|killed|lost|won|held|cured|linked|owned|recalled|withdrawn"
    r"|allowed|prohibited|permitted"
    r"|t\u00f6dlich|giftig|sicher|unsicher|gef\u00e4hrlich|harmlos|verboten|erlaubt|kostenlos|gut|schlecht"
    r"|erfunden|gebaut|gegr\u00fcndet|geschlossen|mortel(?:le)?|dangereu(?:x|se)|toxique|s\u00fbre?"
    r"|interdite?|gratuite?|invent\u00e9e?|fond\u00e9e?|ferm\u00e9e?|mortal|peligros[oa]|t\u00f3xic[oa]|segur[oa]"
    r"|prohibid[oa]|gratuit[oa]|inventad[oa]|fundad[oa]|cerrad[oa])"
)
_QUALIFYING = re.compile(
    r"(?:[:\u2013\u2014]\s|\s-\s)(?:a|an|ein|eine|un|une|una)\s\w"
    rf"|(?:^\W{{0,9}}|[:\u2013\u2014]\s|\s-\s)(?:(?:\w{{2,12}}\s)?{_QUALITY}(?:\s(?:for|in|by|to|at|from|against|since|until|with|under|without"
    r"|f\u00fcr|bei|von|ab|seit|durch|pour|en|par|aux?|\u00e0|depuis|para|por|desde)\b|\W{0,9}$))",
    re.IGNORECASE,
)
"""Matches a heading that says something without a verb: "Deadly for children"."""
# The marks before the text of a Markdown heading: "## ".
_HEADING = re.compile(r"(?:^|\n)[ ]{0,3}#{1,6}[ \t]{1,4}$")
# What follows the head of a Markdown table: "| ---".
_TABLE_RULE = re.compile(r"\|?[ \t]{0,9}\r?\n[ \t]{0,9}\|?[ \t]{0,9}:?-")
# A group, so that splitting keeps the punctuation.
_CLAUSE_END = re.compile(r"([,;:()\u2013\u2014])")
# The question mark, and the Greek, Arabic and full-width ones.
QUESTION_MARKS = "?\u037e\u061f\uff1f"


def says_something(
    answer: str, part: Passage, text: str, own: Terms, loose: frozenset[str]
) -> bool:
    """Return whether the informative words that no claim contains are enough to state something."""
    is_question = answer[part.end - 1] in QUESTION_MARKS
    if is_question or is_label(answer, part):
        states = _PRESUMING.match(text) if is_question else _is_stating(text)
        return len(loose) > (0 if states else MOST_OF_A_LABEL)
    # a colon introduces the text that follows, and a single missing word may be reworded
    if text.rstrip().endswith(":"):
        return len(loose) > 1
    if len(loose) > _LOOSE_SHARE * len(own.words) or _has_own_clause(text, loose):
        return True
    return _most_in_a_row(text, loose) >= _LOOSE_IN_A_ROW


def _is_stating(heading: str) -> bool:
    line = heading.strip()
    return bool(_STATING.match(line) or _QUALIFYING.search(line))


def _has_own_clause(text: str, loose: frozenset[str]) -> bool:
    """Return whether a clause has informative words, and none of them is in a claim.

    Words before a colon do not count, since they introduce what follows.
    """
    clauses = _CLAUSE_END.split(text)
    for clause, end in zip(clauses[::2], [*clauses[1::2], ""], strict=True):
        words = frozenset(telling_words(clause)) - COURTESIES - REMARKS - YES
        if end != ":" and words and words <= loose:
            return True
    return False


def _most_in_a_row(text: str, loose: frozenset[str]) -> int:
    """Return the length of a text's longest sequence of words that are in no claim.

    Words that state nothing do not interrupt the sequence.
    """
    most = count = 0
    for term in telling_words(text):
        if term in loose:
            count += 1
            most = max(most, count)
        elif term not in COURTESIES:
            count = 0
    return most


def is_label(answer: str, part: Passage) -> bool:
    """Return whether a passage is a heading or the header row of a table."""
    if part.kind == "row":
        # the pattern looks only at the beginning of the next line; the slice limits the time
        return bool(_TABLE_RULE.match(answer[part.end : part.end + 200]))
    # 12 characters hold a line break, 3 spaces, 6 signs and 2 blanks; few heading marks are longer
    return bool(_HEADING.search(answer[max(0, part.start - 12) : part.start]))
