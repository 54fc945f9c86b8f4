"""Definition of an edit, and sentences that no edit touches."""

import re
from collections.abc import Callable
from random import Random

__all__ = ["MONTHS", "NEGATION", "Edit", "asserts", "denies", "match_case"]

Edit = Callable[[str, Random], str | None]
"""From a sentence to the changed one, or None where it does not apply."""

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
NEGATION = re.compile(
    r"\b(?:not|no|neither|nor|none|without|cannot|hardly|fail(?:ed|s)? to)\b|n['’]t\b",
    re.IGNORECASE,
)
_NEVER = re.compile(r"\bnever\b", re.IGNORECASE)
_NOT_STATED = re.compile(
    r"""\b(?: if | whether | unless | would | might | may | could | should | perhaps | possibly
        | maybe | probably | likely | unlikely | seems? | appears? | suspect(?:ed)? | alleged(?:ly)?
        | claim(?:s|ed)? | believe[ds]? | argue[ds]? | aim(?:s|ed)? | hypothesi[sz]\w* | unclear
        | unknown | investigat\w* | assess(?:ed)? | evaluat\w* | determine | examine[ds]? | question
        | myth | false(?:ly)? | wrong(?:ly)? | den(?:y|ies|ied) | rumou?r\w* | contrary | let's
    )\b | \? | [“”"]""",
    re.IGNORECASE | re.VERBOSE,
)


def asserts(sentence: str) -> bool:
    """Whether a sentence states something itself.

    A change within what is only asked, supposed, hedged or quoted does not make it false.
    """
    return not _NOT_STATED.search(sentence)


def denies(sentence: str) -> bool:
    """Whether a sentence denies something.

    What was not so in one year was perhaps not so in another: a detail that is changed within does
    not make it false.
    """
    return bool(NEGATION.search(sentence) or _NEVER.search(sentence))


def match_case(word: str, like: str) -> str:
    """The word with a capital where the word it stands for has one."""
    return word[0].upper() + word[1:] if like[:1].isupper() else word
