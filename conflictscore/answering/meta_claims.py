"""Recognises claims about the answer itself ("The answer is about a lamp").

Small models list such sentences among the claims of an answer. Such sentences say nothing about the
world, so no document can support or contradict them. A claim that only reports a statement ("The
passage states that the lamp was lit in 1874") is replaced by the statement. Time is linear in the
length of the claim.

Limits without a stated reason were chosen by hand.
"""

import re

from conflictscore.scripts import fold
from conflictscore.word_lists import stem

# Words for an answer, for a part of an answer, and for its question.
_NOUN = (
    r"(?:answer|passage|text|statement|response|reply|sentence|question|claim|paragraph"
    r"|antwort|textstelle|abschnitt|aussage|satz|frage|absatz"
    r"|reponse|extrait|phrase|affirmation|paragraphe|texte"
    r"|respuesta|pasaje|texto|afirmacion|pregunta|frase|parrafo)"
)
_ARTICLE = (
    r"(?:the|this|that|your|der|die|das|diese[rs]?|le|la|cette|ce|l['\u2019]|el|esta|este|una?|an?"
    r"|une)"
)
_ADJECTIVE = r"(?:given|above|short|first|original|following|whole|entire|obige|kurze|gegebene)"
_OF_QUESTION = (
    r"(?:to (?:the|this) question|auf (?:die|diese) frage|a (?:la|cette) question"
    r"|a (?:la|esta) pregunta)"
)
# "The second passage", "An answer to the question".
_SUBJECT = re.compile(
    rf"\W{{0,3}}{_ARTICLE}\s?(?:{_ADJECTIVE}\s)?(?P<noun>{_NOUN})\b(?:\s{_OF_QUESTION})?\s?"
)
# Verbs that introduce a reported statement.
_REPORTS = (
    r"(?:states?|stated|says?|said|claims?|claimed|asserts?|asserted|mentions?|mentioned|explains?"
    r"|explained|indicates?|indicated|notes?|noted|reports?|reported|suggests?|confirms?|implies"
    r"|concludes?|adds?|tells us"
    r"|besagt|sagt|behauptet|erwahnt|erklart|gibt an|stellt fest|lautet|berichtet|bestatigt"
    r"|dit|affirme|indique|mentionne|explique|precise|declare|rapporte|confirme|conclut"
    r"|dice|afirma|indica|menciona|explica|senala|declara|informa|confirma|concluye)"
)
# "says that", "states: \"" and the like, up to the reported statement.
_REPORTED = re.compile(
    rf"\b{_REPORTS}(?:\s(?:that|que|qu['\u2019])(?=[\s\w])|,\sdass\b|\s?:)\s?['\"\u201c\u201e\u00ab]?\s?"
)
# Verbs by which a sentence describes an answer; they follow the noun at once.
_DESCRIBES = re.compile(
    rf"(?:{_REPORTS}\b"
    r"|(?:is|was|are|were)\s(?:not\s)?(?:about|(?:given|provided)(?=\s(?:to|as|for|here|above)\b"
    r"|\W*$)|asked|answered|complete|incomplete|correct|clear|unclear|short|empty)\b"
    r"|(?:is|was)\s(?:not\s)?an?\s(?:\w{1,20}\s)?(?:answer|statement|claim|question|response|reply"
    r"|sentence|summary|refusal|greeting|passage|list)\b"
    r"|(?:does|did|do|makes?|made|has|have|contains?|provides?|gives?|describes?|discusses"
    r"|concerns?|addresses|answers?|responds?|repl(?:y|ies)|refers?|lists?|asks?|consists?"
    r"|includes?|deals|talks?|speaks?|focuses|begins?|ends?|covers?)\b"
    r"|(?:handelt|beschreibt|enthalt|bezieht|nennt|macht|behandelt|geht|beantwortet|liefert|spricht"
    r"|fragt|betrifft|besteht)\b"
    r"|(?:ist|war|wurde)\s(?:auf\s(?:die|diese)\sfrage\s)?(?:k?eine?\s(?:aussage|antwort|frage)"
    r"|gegeben|gestellt|uber)\b"
    r"|(?:porte|parle|decrit|contient|concerne|repond|fournit|donne|traite|evoque|enonce"
    r"|ne\s\w{1,12}|n['\u2019]\w{1,12}|a\sete\s(?:donnee?|posee?|fournie?)"
    r"|est\s(?:donnee?|une\s(?:reponse|affirmation|question)))\b"
    r"|(?:trata|habla|describe|contiene|responde|proporciona|da|no\s\w{1,12}|se\s(?:refiere|dio|trata)"
    r"|fue\s(?:dada|hecha|dado)|es\s(?:sobre|una\s(?:respuesta|afirmacion|pregunta)))\b)"
)
# ", and it", "; but he": the start of a clause that may not be reported.
_NEXT_CLAUSE = re.compile(r"[,;]\s(?:(?:and|but|und|aber|et|mais|y|pero)\s)?(?=\w)")
_WORD = re.compile(r"[^\W\d_]+")
# The beginning of a claim that is searched first, to save time. The longest subject that the
# pattern matches is shorter.
_SUBJECT_CHARS = 80

# A statement with one of these subjects cannot be understood without the sentence before it.
_PRONOUN = re.compile(
    r"(?:it|he|she|they|this|these|those|es|er|sie|dies|il|elle|ils|elles|cela|ello|\u00e9l|ella)\b",
    re.IGNORECASE,
)
# Minimum number of words in a reported statement: a subject, a verb and an object.
_LEAST_WORDS = 3
# Maximum number of nested reports, as in "The answer says that the passage states that …". A claim
# with more of them is left out, like one that reports nothing.
_NESTED = 3
_ENDS = " \t\n'\"\u201c\u201d\u00bb\u00ab"


def about_the_world(claim: str, *texts: str) -> str | None:
    """Return what a claim says about the world; None if it only describes the answer.

    A claim describes the answer if its subject is the answer, a passage or the question, followed
    directly by a verb such as "states" or "is about". If the answer or its question (the ``texts``)
    uses the same noun, the claim is returned unchanged. So "The passage through the Alps opened in
    1905" remains a claim.
    """
    subject = _SUBJECT.match(_same_length(claim[:_SUBJECT_CHARS]))
    if subject is None:
        return claim
    own_stems = {stem(word) for text in texts for word in _WORD.findall(fold(text))}
    for _ in range(_NESTED):
        folded = _same_length(claim)
        subject = _SUBJECT.match(folded)
        if subject is None or stem(subject["noun"]) in own_stems:
            return claim
        verb = _DESCRIBES.match(folded, subject.end())
        if verb is None:
            return claim
        statement = _statement_in(claim, folded, subject.end())
        if statement is None:
            return None
        claim = statement
    return None


def _statement_in(claim: str, folded: str, start: int) -> str | None:
    """Return the statement that a sentence about the answer reports or adds; None if there is none.

    A statement that begins with a pronoun is not returned, since it cannot be understood alone.
    """
    reported = _REPORTED.search(folded, start)
    joint = None if reported else _NEXT_CLAUSE.search(folded, start)
    match = reported or joint
    if match is None:
        return None
    statement = claim[match.end() :].strip(_ENDS)
    if len(statement.split()) < _LEAST_WORDS or _PRONOUN.match(statement):
        return None
    return statement[:1].upper() + statement[1:]


def _same_length(text: str) -> str:
    """Fold a text letter by letter, so that offsets stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(fold(sign)[:1] or sign for sign in text)
