"""Finds the words that name what a question asks for, and looks for them in claims.

Words are compared by their base forms. The time of every function is linear in the length of its
texts.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from conflictscore.answering.languages import language_of
from conflictscore.answering.statements import telling_terms
from conflictscore.scripts import fold
from conflictscore.word_lists import IRREGULAR, STEM

_LEAST_STEM = 3  # A stem with at most this number of letters keeps its ending.
_MOST_COMPARED = 2000  # Number of characters of a statement to read, to keep the time linear.
# Maximum number of words to compare, since a comparison takes quadratic time. Questions and claims
# are single sentences, so they are shorter.
_MOST_MATCHED = 80
_WORD = re.compile(r"\w+")
# Words by which a question asks for the present state. Beside a date, some of them ask for an
# earlier state: "as of May 2019", "Was it still open in 1931?".
_CURRENT = re.compile(
    r"\b(?:current(?:ly)?|latest|newest|nowadays|now|today|presently|these days"
    r"|as of(?! (?:\w{1,12},? ){0,3}\d)|up[- ]to[- ]date|most recent(?:ly)?|at the moment"
    r"|at present|still(?![^?\n]{0,80} (?:in|by|on|until|during) (?:\w{1,12},? ){0,3}\d)|so far"
    r"|this (?:year|month|week|season))\b",
    re.IGNORECASE,
)
_KINDS_OF_ANSWER = frozenset(
    word[:STEM]
    for word in fold(
        "year years day days date month time number amount name person people place city country"
        " many much long wann wer was wo wie welche quand qui que cuándo quién qué"
        " tell me please know exactly"
    ).split()
)
"""Stems of the words in a question that an answer need not repeat."""
# Nouns and adjectives of the same family as a verb or adjective, since records name facts by nouns
# ("Place of birth", "Height"). The first word represents the others.
_FAMILIES = (
    "birth bear bore|choose choice|deep depth|fly flight|grow growth|high height|live life lives"
    "|lose loss|marry marriage|sell sale|weigh weight heavy|wide width"
)
_BASES = {form[:STEM]: base[:STEM] for form, base in IRREGULAR.items()} | {
    form[:STEM]: base[:STEM]
    for base, *forms in map(str.split, _FAMILIES.split("|"))
    for form in forms
}
"""The representing stem of the stems of irregular English words."""


def answers_question(claim: str, question: str) -> bool:
    """Return whether a claim contains everything that a question asks about, and so may answer it.

    "It was closed in 1931" does not answer the question when something was opened. Words that
    specify only the kind of answer, such as "in which year", are ignored.
    """
    if language_of(question) not in (None, "en"):
        return True  # question words are known only for English
    terms = base_forms(telling_terms(question) - _KINDS_OF_ANSWER)
    return terms <= base_forms(telling_terms(claim))


def answers_loosely(claim: str, question: str, answer: str) -> bool:
    """Return whether a claim of the answer's first passage may answer the user's question.

    Such a claim has a word for what the question asks for. Other words of the question may be
    missing from the claim, but only if the whole answer lacks them. For example, "Entry to the
    museum is free on Sundays" answers on which day admission is free. If a different part of the
    answer had the missing word, that part might be the one that answers the question.
    """
    terms = base_forms(telling_terms(question) - _KINDS_OF_ANSWER)
    missing = terms - base_forms(telling_terms(claim))
    common, subject = _common_and_subject(question, claim)
    asked = [term for term in common - subject if not term[0].isdigit()]
    return bool(asked) and missing.isdisjoint(base_forms(telling_terms(answer)))


def base_forms(terms: Iterable[str]) -> frozenset[str]:
    """Return English stems without their endings: "opened" becomes "open", "lit" becomes "light".

    An irregular form becomes the first word of its line in the list. The results are for
    comparison, not for display.
    """
    return frozenset(_without_ending(_BASES.get(term, term)) for term in terms)


def _without_ending(term: str) -> str:
    """Remove a final "s", "ed" or "e" from a stem, unless fewer than three letters would remain."""
    for ending in ("s", "d", "e"):
        if len(term) > _LEAST_STEM and term.endswith(ending) and not term.endswith("ss"):
            if ending == "d" and not term.endswith("ed"):
                continue
            term = term[:-1]
    return term


def predicate_terms(question: str, claim: str) -> frozenset[str]:
    """Return the base forms of words that name what a question asks for, if the claim has them.

    For "When was the Ostrow paper mill opened?" this is only "open". Three kinds of words are left
    out: names, words that accompany a name in both the claim and the question, and words that
    specify only the kind of answer. If no word remains, the words that accompany a name are used.
    """
    common, subject = _common_and_subject(question, claim)
    return common - subject or common


def _common_and_subject(question: str, claim: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the base forms that a question and a claim share, and those that belong to a name.

    Names, and words that specify only the kind of answer, are not among the shared forms.
    """
    words, claim_words = (_WORD.findall(text[:_MOST_COMPARED]) for text in (question, claim))
    is_name = [place > 0 and word[0].isupper() for place, word in enumerate(words)]
    subject = list[str]()
    for start, _, length in _runs_in_common(words, claim_words):
        if any(is_name[start : start + length]):
            subject += words[start : start + length]
    names = [word for word, is_one in zip(words, is_name, strict=True) if is_one]
    terms = telling_terms(question) - _KINDS_OF_ANSWER - telling_terms(" ".join(names))
    common = base_forms(terms) & base_forms(telling_terms(claim))
    return common, base_forms(telling_terms(" ".join(subject)))


def _runs_in_common(first: Sequence[str], second: Sequence[str]) -> Iterable[tuple[int, int, int]]:
    """Yield the word sequences that two statements share: the position in each, and the length."""
    first_words, second_words = (
        [word.casefold() for word in words[:_MOST_MATCHED]] for words in (first, second)
    )
    return SequenceMatcher(None, first_words, second_words, autojunk=False).get_matching_blocks()


def asks_for_current(question: str) -> bool:
    """Return whether a question asks about the current state, so that newer documents win."""
    return bool(_CURRENT.search(question[:_MOST_COMPARED]))
