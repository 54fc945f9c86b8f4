"""Reads the statement that a short answer, such as "Yes." or "1871", makes about its question.

Limits without a stated reason were chosen by hand.
"""

import re

from conflictscore.answering.claim_roles import exchanged_roles
from conflictscore.answering.languages import yes_or_no
from conflictscore.answering.meta_claims import about_the_world
from conflictscore.answering.statements import affirms, denies, numbers_in, opposite, telling_terms
from conflictscore.labelers.denials import denial_of
from conflictscore.scripts import words_in

_AFFIRMS, _DENIES = ("yes", "true", "correct"), ("no", "false", "incorrect")
# Minimum number of words in a short answer's claim. "False" or "In 1871" is not a claim.
_LEAST_WORDS = 3
_TRUE_OR_FALSE = re.compile(
    r"\s*(?:is (?:it|this|the following)(?: statement)? )?(?:true or (?:is it )?false|true that)"
    r"[:?,]?\s+(?P<statement>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches a question that contains the statement it asks about: "True or false: the lamp burns"."""


def statement_of_yes_or_no(question: str, answer: str) -> str | None:
    """Return the statement that a bare yes or no makes, if its question contains it; else None."""
    match = _TRUE_OR_FALSE.fullmatch(question)
    if match is None or opposite(answer) is None:
        return None
    statement = match["statement"].rstrip(" ?")
    return statement if affirms(answer, question) else denial_of(statement)


def read_statement(question: str, reply: str, answer: str) -> tuple[str, ...]:
    """Read the single sentence of a reply; it must say what the short answer says.

    The sentence must contain the answer's numbers and at least half of its informative words. A
    bare yes or no has no such words; the sentence must then contain an informative word from the
    question. The sentence must contain a denial if and only if the answer does. If a model writes
    the statement that a bare "No." denies, the denial of that statement is returned. Raise
    ValueError for any other reply.
    """
    line = next(filter(None, map(str.strip, reply.splitlines())), "")
    line = line.removeprefix("Sentence:").strip('"“” ')
    statement = about_the_world(line, answer, question)
    if statement is None:
        raise ValueError(f"“{line}” is about the answer, not about its subject")
    if len(words_in(statement)) < max(_LEAST_WORDS, len(words_in(answer))):
        raise ValueError(f"“{statement}” is not a full sentence that answers the question")
    if exchanged_roles(statement, answer):
        raise ValueError(f"“{statement}” exchanges the roles in the answer")
    if missing := numbers_in(answer) - numbers_in(statement):
        raise ValueError(f"“{statement}” leaves out {', '.join(sorted(missing))}")
    own_terms = _terms_beside_yes_or_no(answer, question)
    needed_terms = own_terms or telling_terms(question)
    shared_terms = needed_terms & telling_terms(statement)
    if needed_terms and 2 * len(shared_terms) < max(1, len(own_terms)):
        raise ValueError(f"“{statement}” is not what the answer says")
    side = _side_of(words_in(answer)[0], question)
    if side is None or affirms(statement, question) == side:
        return (statement,)
    if own_terms or side or denies(statement):
        raise ValueError(f"“{statement}” is the opposite of what the answer says")
    # for a bare "No.", small models write the statement that it denies
    return (denial_of(statement),)


def _terms_beside_yes_or_no(answer: str, question: str) -> frozenset[str]:
    """Return the informative words of an answer, leaving out "yes" and "no"."""
    first = words_in(answer)[0]
    terms = telling_terms(answer) - {*_AFFIRMS, *_DENIES}
    return terms if yes_or_no(first, question) is None else terms - telling_terms(first)


def _side_of(word: str, question: str) -> bool | None:
    """Return whether an answer's first word means yes; None if it means neither yes nor no."""
    side = yes_or_no(word, question)
    # an English word counts even if the question is in another language
    if side is None and word in (*_AFFIRMS, *_DENIES):
        return word in _AFFIRMS
    return side
