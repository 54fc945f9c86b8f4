"""A scripted model that counts as embedded, and reads like a small model.

From a document that does not answer a question, a small model reads an answer nevertheless: it puts
a value of the document into the statement that the question asks for. So with this model, the rules
for embedded models can be measured in minutes, without the embedded model.
"""

from collections.abc import Sequence

from conflictscore.answering.statements import answer_span, telling_terms
from conflictscore.correcting.wording import can_stand_for
from conflictscore.labelers.nli.word_for_word import sentences_of
from conflictscore.values import StatedValue, all_values_in, values_beyond, values_in
from measurements.scripted_model import ScriptedModel

SILENT = "The document does not say."
_MOST_WORDS = 5  # a longer answer is a statement, not a name
_VALUE_QUESTION = "What exactly is"  # the beginning of the question about a rival's value


class ScriptedSmallModel(ScriptedModel):
    """A scripted model that counts as embedded."""

    @property
    def _llm_type(self) -> str:
        return "local"  # names the endpoint of a model that has no address


def meaning_read(question: str, text: str) -> str | None:
    """Return the sentence with the value whose meaning a question asks for; None if it asks none.

    This is the question by which the second look tests a rival that only one document gives.
    """
    if not question.startswith(_VALUE_QUESTION):
        return None
    value = question.split('"')[1]
    return next((each for each in sentences_of(text) if value in each), SILENT)


def statement_with(claim: str, answer: str, question: str) -> str | None:
    """Return a claim with its value or name replaced by that of an answer; None if impossible."""
    own, new = values_beyond(claim, question), values_in(answer)
    if len(own) == 1 and new:
        return _with_value(claim, own[0], answer[slice(*new[0].span)])
    span = answer_span(claim, question)
    if span and len(answer.split()) <= _MOST_WORDS and answer[:1].isupper():
        return claim[: span[0]] + answer + claim[span[1] :]
    return None


def misread(claim: str, question: str, text: str) -> str:
    """Return a claim with the value of the same kind from a text's most similar sentence.

    Return that the document does not say, if the claim has no value or the text has none like it.
    """
    own = values_beyond(claim, question)
    values = [] if len(own) != 1 else [*_values_like(own[0], claim, text)]
    if not values:
        return SILENT
    _, value = max(values, key=lambda each: each[0])
    return _with_value(claim, own[0], value)


def _values_like(own: StatedValue, claim: str, text: str) -> Sequence[tuple[int, str]]:
    """Return the values of a text that can stand for a value, with the words shared around it."""
    terms = telling_terms(claim)
    return [
        (len(terms & telling_terms(sentence)), sentence[slice(*each.span)])
        for sentence in sentences_of(text)
        for each in all_values_in(sentence)
        if can_stand_for(own, each) and own.is_year == each.is_year
    ]


def _with_value(claim: str, own: StatedValue, value: str) -> str:
    start, end = own.span
    return claim[:start] + value + claim[end:]
