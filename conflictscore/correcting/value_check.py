"""Asks the document behind a rival what the rival's value refers to.

A small reader answers every question. Asked how high a dam is, it turns "the gates of its spillway
are 7 metres high" into "the dam is 7 metres high". An encoder does not notice, since the
document has all the words. The opposite question does not suggest an answer: asked what "7 metres"
is, the reader says "the height of the gates". So if only one document gives a rival, the opposite
question is put to this document. The rival counts only if the answer supports the claim with the
rival's value.
"""

from collections.abc import Mapping, Sequence

from conflictscore.answering.languages import language_of
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.readers import ask_documents
from conflictscore.correcting.vote import WITNESSES
from conflictscore.labelers.table import label_table
from conflictscore.records import Claim, Document, Label, SecondLook
from conflictscore.values import StatedValue, all_values_in, values_beyond

# Minimum P(SUPPORTS) of the claim with the rival's value, given the answer to the opposite
# question. With the embedded models and 80 values from the training corpus, the threshold keeps 21
# of 40 values that contradict a claim, and 6 of 40 values of the same kind that are about something
# else.
_LEAST_SUPPORT = 0.3
_QUESTIONS: Mapping[str, str] = {
    "en": 'What exactly is "{value}" in this document, and of what?',
    "de": "Was genau ist „{value}“ in diesem Dokument, und wovon?",
    "fr": "Que désigne exactement « {value} » dans ce document, et de quoi ?",
    "es": "¿Qué es exactamente «{value}» en este documento, y de qué?",
    "it": "Che cosa indica esattamente «{value}» in questo documento, e di che cosa?",
    "pt": "O que é exatamente “{value}” neste documento, e de quê?",
    "nl": "Wat is „{value}” precies in dit document, en waarvan?",
}
"""The opposite question for each language. For any other language, the English question is used,
which the readers understand.
"""


async def is_misread(look: SecondLook, looking: Looking) -> bool:
    """Return whether the only document behind a look's rival seems to mean something else.

    The check applies only to embedded models, and only to a rival with a value of its own. If the
    document gives no usable answer, return True: when in doubt, assume that there is no dispute. A
    rival that two independent documents give is not checked: they are seldom misread in the same
    way.

    Raises:
        ProviderError: The document could not be asked, or its answer could not be labelled.
    """
    rival, claim = look.candidates[look.rival or 0], look.candidates[0].statement
    if not looking.is_read_by_embedded or rival.witnesses >= WITNESSES:
        return False
    own_values = values_beyond(rival.statement, f"{looking.question}\n{claim}")
    # numbers begin at 1, so a rival without votes has no document
    document = looking.documents_by_number.get(min(rival.votes, default=0))
    if not own_values or document is None:
        return False
    value = _as_written(own_values, document) or rival.statement[slice(*own_values[0].span)]
    form = _QUESTIONS.get(language_of(document.text, rival.statement) or "en", _QUESTIONS["en"])
    reply = await ask_documents(form.format(value=value), [document], looking.reader)
    if not reply.rivals:
        return True
    evidence = await label_table(
        looking.labeler,
        [Claim(number=1, text=_with_value(claim, value, looking.question) or rival.statement)],
        [Document(number=1, text=reply.rivals[0].statement)],
        meter=looking.reader.meter,
        cache=looking.cache,
    )
    [verdict] = evidence[0].labels
    if verdict.p_supports is None:  # the labeler gives no probabilities
        return verdict.label is not Label.SUPPORTS
    return verdict.p_supports < _LEAST_SUPPORT


def _with_value(claim: str, value: str, question: str) -> str | None:
    """Return a claim with its only value replaced; None if it has no value or several.

    The rival's own words are not used, since a small reader takes them from the document: "the
    bridge is 2.5 metres wide" does not answer how long it is.
    """
    own_values = values_beyond(claim, question)
    if len(own_values) != 1:
        return None
    start, end = own_values[0].span
    return f"{claim[:start]}{value}{claim[end:]}"


def _as_written(values: Sequence[StatedValue], document: Document) -> str | None:
    """Return the first of these values that a document states, in the document's notation."""
    for stated in all_values_in(document.text):
        if any(stated.agrees(value) for value in values):
            return document.text[slice(*stated.span)]
    return None
