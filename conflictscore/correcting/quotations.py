"""Removes quotations that a document adds to its answer.

The time of every function is linear in the length of its text.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Callable

from conflictscore.answering.statements import telling_terms

CONJUNCTION = (
    r"(?:and|but|so|while|whereas|though|although|because|since|as|who|which|whose|whom|where|if"
    r"|after|before|once|und|aber|weil|wobei|während|doch|denn|nachdem|bevor|et|mais|car|qui|dont|y"
    r"|pero|porque|que|quien|e|ma|però|perché|che|mas|en|maar|omdat"
    r"|unless|until|when|whenever|provided|wenn|sofern|lorsque|quand|cuando|quando)"
)
"""Words that may lead to a further clause, as a group of a regular expression."""

# Quotation marks by kind. A quotation can contain marks of other kinds.
_MARKS = (
    '"\u201c-\u201f\uff02\u301d-\u301f\u275d\u275e\u2e42\U0001f676-\U0001f678',
    "\u00ab\u00bb\u2039\u203a\u276e\u276f",
    "\u3008-\u300b\ufe3d-\ufe40\u27e8-\u27eb",
    "\u300c-\u300f\ufe41-\ufe44\uff62\uff63",
)
_SINGLE_MARKS = "'\u2018-\u201b\u275b\u275c\uff07`\u00b4"  # some are apostrophes, too
_SINGLE_CHARS = 200  # Maximum number of characters in single quotation marks.
_QUOTATION = re.compile(
    rf"(?:(?:\s{{0,4}},)?\s{{1,4}}{CONJUNCTION}\b)?(?:\s{{1,4}}also)?"
    r"(?:\s{1,4}(?:called|known|named|titled|entitled|says|said|wrote|writes))?"
    r"(?:\s{1,4}(?:as|at|by|for|from|in|of|on|to|with))?(?:(?:\s{0,4},)?\s{1,4}(?:an?|the))?"
    "[\\s,:;\u2013\u2014\uff0c\u3001\uff1b\uff1a\u060c-]{0,4}(?:"
    # a mark between a number and a space stands for inches; a quotation may lack its last mark
    + "|".join(
        rf"[{marks}](?<!\d[{marks}](?=\s))(?P<kind{n}>[^{marks}]*+)[{marks}]?"
        for n, marks in enumerate(_MARKS)
    )
    + rf"|(?<!\w)[{_SINGLE_MARKS}](?P<single>(?:[^{_SINGLE_MARKS}]|[{_SINGLE_MARKS}](?=\w))"
    rf"{{1,{_SINGLE_CHARS}}}+)[{_SINGLE_MARKS}])",
    re.IGNORECASE,
)
"""Matches a quotation and the words that lead to it, such as "and", "known as" or "who says:"."""
_ASKS_FOR_WORDING = re.compile(
    r"\b(?:says?|said|call(?:s|ed)?|named?|titled?|motto|slogan|reads?|wr(?:itt|ot)en?|heißt|steht"
    r"|lautet|titel|s'appelle|titre|dit|llama|título|dice|chiama|titolo)\b",
    re.IGNORECASE,
)
"""Matches a word of a question that may ask for a title or for the text of a sign."""


def asks_for_wording(question: str) -> bool:
    """Return whether a question may ask for a title or for the text of a sign."""
    return bool(_ASKS_FOR_WORDING.search(question))


def quoted_whole(text: str) -> str:
    """Return what is in the quotation marks around a whole text, or an empty string."""
    quotation = _QUOTATION.fullmatch(text)
    has_lead = quotation is None or quotation.start(quotation.lastgroup or 0) != 1
    return "" if quotation is None or has_lead else _inside(quotation)


def _inside(quotation: re.Match[str]) -> str:
    return quotation[quotation.lastgroup or 0]


class Quotations:
    """The quotations of a statement, with a test for what each adds to the answer.

    Args:
        text: The statement.
        known_terms: The terms of the claim and the question.
        is_further: Returns whether a text says something new in ordinary words.
        is_ordered: Returns whether a text is an instruction that says something new.
    """

    def __init__(
        self,
        text: str,
        known_terms: frozenset[str],
        is_further: Callable[[str, frozenset[str]], bool],
        is_ordered: Callable[[str, frozenset[str]], bool],
    ) -> None:
        self._text, self._known_terms = text, known_terms
        self._is_further, self._is_ordered = is_further, is_ordered
        rest = self._without(self._adds)
        self._rest_terms = telling_terms(rest)
        self.hold_the_answer = rest != text and not self._rest_terms - known_terms
        """Whether everything new in the statement is in its quotations."""

    def removed(self, *, only_orders: bool) -> str:
        """Return the statement without the quotations that add something new.

        A quotation is kept if the rest of the statement says nothing new. It is also kept if it
        shares more words with the claim and the question than the rest does. In both cases the
        answer is in the quotation. Quoted instructions are always removed. If ``only_orders`` is
        set, nothing else is removed.
        """
        if only_orders or self.hold_the_answer:
            return self._without(self._orders)
        most = len(self._rest_terms & self._known_terms)
        return self._without(
            lambda quoted: (
                self._orders(quoted)
                or (self._adds(quoted) and len(telling_terms(quoted) & self._known_terms) <= most)
            )
        )

    def _adds(self, quoted: str) -> bool:
        return self._is_further(quoted, self._known_terms)

    def _orders(self, quoted: str) -> bool:
        return self._is_ordered(quoted, self._known_terms)

    def _without(self, test: Callable[[str], bool]) -> str:
        return _QUOTATION.sub(lambda match: "" if test(_inside(match)) else match[0], self._text)
