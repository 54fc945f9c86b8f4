"""Repairs the claims that an embedded model reads from an answer.

A small model may reword a claim, copy the question, invent numbers, or repeat itself until its
reply is cut off. Claims that add nothing, or have terms that the answer lacks, are therefore left
out. A sentence that no claim covers afterwards becomes a claim, word for word. Such a claim may
make several statements, but at least the sentence is checked, whereas text without a claim is not.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable, Sequence

from conflictscore.answering.claim_coverage import UnclaimedPart, claims_beyond
from conflictscore.answering.claim_places import Placed, place_order
from conflictscore.answering.statements import telling_terms
from conflictscore.markdown import passages
from conflictscore.scripts import word_set, words_in

_FEWEST_WORDS = 4  # A shorter text is seldom a sentence that a document can support; by hand.
# A sentence that begins with one of these words cannot be understood without the text before it.
_NEEDS_CONTEXT = word_set(
    """it he she they this that these those its his her their such here there then
    er sie es dieser diese dieses dies dort il elle ils elles ce cela ça él ella ellos esto eso lui
    lei loro esso questo questa"""
)
# Marks and words that may join several statements in a sentence. A sentence with "that" or "since"
# may also make only one, but then the model is asked.
_JOINTS = re.compile(
    r"(?!(?<=\d)[,:]\d)[,;:()\[\]\u2013\u2014?\uff0c\u3001\uff1b\uff1a\uff08\uff1f\u060c\u061b]"
)
_JOINTS_IN_WORDS = word_set(
    """and or but nor so if when while whereas because since although though that which who whom
    whose where und oder aber denn weil wenn da dass obwohl sowie et ou mais donc car si que qui
    dont y o e u pero porque aunque ma che perché se quando en of maar omdat als dat och eller
    men"""
)
_MOST_WORDS = 25  # A longer sentence seldom makes a single statement.
_FIRST_CHARS = 40  # Enough for the first word.
# Full stops and exclamation marks, also Chinese, Hindi and Urdu ones; a question states nothing.
_FULL_STOPS = (".", "!", "\u3002", "\u0964", "\u06d4", "\uff01")
_CLOSING = "\"'”’»)*_ "
# Characters that begin or divide headings, tables, code and links.
_MARKUP = frozenset("#|`[\n")


def without_idle_claims(
    answer: str, located_claims: Sequence[Placed], question: str
) -> list[Placed]:
    """Leave out claims that are not the answer's own, and claims that only repeat others.

    A claim is not the answer's own if it has a number, name, negation or hedge that neither the
    answer nor the question has. A claim repeats another claim of its passage if all its informative
    words occur in that claim or in the question. The claim with more of these words is kept.
    """
    beyond = claims_beyond(
        answer, [text for text, _ in located_claims], [span for _, span in located_claims], question
    )
    invented = {each.claim for each in beyond}
    own = [each for n, each in enumerate(located_claims) if n not in invented]
    asked = telling_terms(question)
    terms = [telling_terms(text) for text, _ in own]

    def repeats(n: int, other: int) -> bool:
        """Return whether a claim adds nothing to a longer claim, or to an earlier equal one."""
        is_fuller = (len(terms[other]), n) > (len(terms[n]), other)
        same_place = own[n][1] == own[other][1]
        return same_place and is_fuller and terms[n] <= terms[other] | asked

    # every pair is compared, but a reply has room for at most a few hundred claims
    return [
        each
        for n, each in enumerate(own)
        if not any(repeats(n, other) for other in range(len(own)) if other != n)
    ]


def with_uncovered_sentences(
    located_claims: Sequence[Placed], answer: str, parts: Iterable[UnclaimedPart]
) -> list[Placed]:
    """Add the uncovered parts of an answer that are full sentences as claims, word for word."""
    new = _sentences_among(answer, [(part.start, part.end) for part in parts])
    return sorted([*located_claims, *new], key=place_order)


def sentences_as_claims(answer: str) -> list[Placed]:
    """Return the full sentences of an answer as claims, word for word."""
    return _sentences_among(answer, [(part.start, part.end) for part in passages(answer)])


def _sentences_among(answer: str, spans: Iterable[tuple[int, int]]) -> list[Placed]:
    texts = [(answer[slice(*span)].strip(), span) for span in spans]
    return [(text, span) for text, span in texts if stands_alone(text, answer)]


def sole_statement(answer: str) -> Placed | None:
    """Return an answer that is one plain sentence as its only claim; None for any other answer.

    A small model only repeats such a sentence, or rewords it and loses words.
    """
    places = [(part.start, part.end) for part in passages(answer)]
    sentences = _sentences_among(answer, places) if len(places) == 1 else []
    if not sentences or sentences[0][0] != answer.strip():
        return None
    words = words_in(answer)
    is_joined = _JOINTS.search(answer) or not _JOINTS_IN_WORDS.isdisjoint(words)
    return sentences[0] if not is_joined and len(words) <= _MOST_WORDS else None


def stands_alone(text: str, answer: str = "") -> bool:
    """Return whether a text is a sentence that can be checked without the text around it.

    A sentence needs a full stop, unless it is the whole ``answer``: a heading has none.
    """
    words = words_in(text)
    if len(words) < _FEWEST_WORDS or not _MARKUP.isdisjoint(text):
        return False
    is_ended = text.rstrip(_CLOSING).endswith(_FULL_STOPS) or text == answer.strip()
    return is_ended and not needs_context(text)


def needs_context(text: str) -> bool:
    """Return whether a text begins with a pronoun, so that its subject is in the text before it."""
    first = next(iter(words_in(text[:_FIRST_CHARS])), "")
    return first in _NEEDS_CONTEXT  # not folded, since Spanish "él" is a pronoun and "el" is not
