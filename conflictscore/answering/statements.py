"""Functions that test whether short statements are equivalent, empty or opposite.

The time of every function is linear in the length of its texts.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, Self

from conflictscore.answering.languages import (
    denies_in_any,
    language_of,
    opposite_word,
    yes_or_no,
)
from conflictscore.answering.roles import differs_in_order
from conflictscore.prompts import without_invisibles
from conflictscore.scripts import terms_in, word_set
from conflictscore.values import (
    StatedValue,
    all_values_in,
    values_beyond,
    values_in,
)
from conflictscore.word_lists import STEM

_FUNCTION_WORDS = word_set(
    """a an and are as at be been being but by can could did do does for from had has have he her
    his how i if in into is it its may might of on or our shall she should so such than that the
    their them then there these they this those to too under until up was we were what when where
    which while who whom whose why will with would you your said says according also"""
)
"""English function words.

In languages without such a list, every word counts as informative, so fewer answers count as the
same.
"""
# Words that may precede the only name or value in an answer, as in "in 1871".
_LEADING = word_set("a an at by for from in on the to with")
# Words in lower case that occur within names, as in "Bank of England".
_WITHIN_A_NAME = word_set("and de la of the van von")
_NEGATIONS = frozenset(["no", "not", "never", "none", "neither", "nor", "cannot", "without"])
# A word that denies, including "isn't" and the like.
_DENIAL = re.compile(
    rf"\b(?:{'|'.join(sorted(_NEGATIONS))}|false|untrue|incorrect|wrong)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_OF_A_QUESTION = re.compile(
    r"^\W{0,4}\w{2,9}n['\u2019]t\b|\btrue or (?:is it )?false\b", re.IGNORECASE
)
"""Matches negative questions, which deny nothing: "Isn't a bat a mammal?" asks whether it is."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"\w+")
_SMALL = 20
"""Largest number that is often written as a word, so a document need not contain its digits."""
_MOST_COMPARED = 2000  # Number of characters of a statement to read; sentences are far shorter.
_OF_A_DOCUMENT = (
    r"\b(?:document|text|passage|source|article|excerpt|material|page|report|information)s?\b"
)
# Words that say that a source lacks something.
_DENIED = (
    r"\b(?:do|does|did|is|are|was|were|can|could|has|have)(?: not|n['\u2019]t) (?:\w+ ){0,2}"
    r"(?:say|state|mention|specif|provide|contain|give|tell|indicate|include|discuss|address|answer"
    r"|determin|reveal|explicit|clear|known|available|find|offer|disclose|found)"
)
_NOTHING = re.compile(
    rf"{_OF_A_DOCUMENT}[^.!?\n]{{0,60}}{_DENIED}|{_DENIED}[^.!?\n]{{0,80}}{_OF_A_DOCUMENT}"
    r"|\bno (?:\w+ ){0,2}(?:information|mention|indication)\b"
    r"|\b(?:unspecified|insufficient information)\b"
    r"|\bI (?:cannot|can't|can\u2019t|do not|don't|don\u2019t|am unable|am sorry|apologi[sz]e)\b",
    re.IGNORECASE,
)
"""Matches a reply that says the document has no answer, but not "it contains no alcohol"."""
_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_OPPOSITES |= {"correct": "incorrect", "incorrect": "correct"}
# A reply that consists of one of these words, possibly framed, as in "It is true."
_BARE = re.compile(
    r"[\s*_\"'\u201c]{0,8}(?:(?:it|this|that|the (?:statement|claim|answer)) (?:is|would be) )?"
    rf"(?P<word>{'|'.join(_OPPOSITES)})[\s*_\"'\u201d.!]{{0,8}}",
    re.IGNORECASE,
)
# A single word, perhaps in quotation marks or Markdown: "**Nein.**".
_FOREIGN = re.compile(r"[\s*_\"'\u201c]{0,8}(?P<word>[^\W\d_]{1,12})[\s*_\"'\u201d.!\u3002]{0,8}")
# A reply that begins with one of these words: "No, it closed in 1931."
_LED = re.compile(
    rf"[\s*_\"'\u201c]{{0,8}}(?P<word>{'|'.join(_OPPOSITES)})[*_]{{0,2}}[,:;.] {{1,2}}\w",
    re.IGNORECASE,
)
# A reply that repeats the statement: "The statement that … is false."
_FRAMED = re.compile(
    rf"\s{{0,8}}the (?:statement|claim)\b.{{1,{_MOST_COMPARED}}}"
    rf" is (?P<word>{'|'.join(_OPPOSITES)})"
    r"[.!]?\s{0,8}",
    re.IGNORECASE | re.DOTALL,
)
# Stems of the words that frame the statement. A stem has at most six letters.
_OF_THE_FRAME = frozenset(["statem", "claim"])
# "The answer is …", "The correct answer was …".
_ANSWER_FRAME = re.compile(r"\s{0,8}the (?:\w{1,12} )?answer (?:to|is|was)\b", re.IGNORECASE)
# Stems of the words of that frame, which say nothing about the subject.
_OF_THE_ANSWER_FRAME = frozenset(["answer", "questi"])
# A question that offers two answers, such as "Is it red or blue?"; "or not" offers no second one.
_CHOICE = re.compile(
    r"\s{0,8}(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b"
    rf"[^?]{{0,{_MOST_COMPARED}}}[ ,](?P<first>\w+),? or "
    r"(?:(?:an?|the|in|on|at|by|from|to) ){0,2}(?!not\b)(?P<second>\w+)",
    re.IGNORECASE,
)
# A choice that only says how to answer; the answer may be any statement.
_CHOICE_OF_FORM = re.compile(r"\b(?:true or (?:is it )?false|yes or no)\b", re.IGNORECASE)
_AFFIRMING = frozenset(["yes", "true", "correct"])


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers of a text, without thousands separators: 2,140 becomes 2140."""
    return frozenset(re.sub(r",(?=\d{3}(?:\D|$))", "", number) for number in _NUMBER.findall(text))


@lru_cache(maxsize=512)  # the statements of an answer are compared with one another
def telling_terms(text: str) -> frozenset[str]:
    """Return the stems and numbers of a text, without its function words."""
    plain = without_invisibles(text[:_MOST_COMPARED])
    numbers = numbers_in(plain)
    words = terms_in(_NUMBER.sub(" ", plain))
    # single letters say little: they are initials, options or units
    stems = {word[:STEM] for word in words if word not in _FUNCTION_WORDS and len(word) > 1}
    # whole negations are needed for comparison with the list; "without" is longer than a stem
    return frozenset(stems | numbers | _NEGATIONS.intersection(words))


def _outside(statement: str, question: str) -> frozenset[str]:
    return telling_terms(statement) - telling_terms(question)


def answer_span(statement: str, question: str, *, alone: bool = False) -> tuple[int, int] | None:
    """Return the span of the only name or number with which a statement answers a question.

    Return None if the statement gives no name or number, or several, as in "by Ida Reeve in 1871".
    If ``alone`` is true, only words such as "by" may precede the name or number, and nothing may
    follow it, as in "By Ada Lowe."
    """
    question_terms = telling_terms(question)
    words = [*_WORD.finditer(statement[:_MOST_COMPARED])]
    telling = [n for n, word in enumerate(words) if telling_terms(word[0]) - question_terms]
    answering = [n for n in telling if words[n][0][0].isupper() or words[n][0][0].isdigit()]
    if not answering:
        return None
    first, last = answering[0], answering[-1]
    within = all(n in answering or words[n][0] in _WITHIN_A_NAME for n in range(first, last + 1))
    led = last + 1 == len(words) and all(w[0].casefold() in _LEADING for w in words[:first])
    return (words[first].start(), words[last].end()) if within and (led or not alone) else None


def same_answer(first: str, second: str, question: str) -> bool:
    """Return whether two statements give the same answer to a question.

    The answers are the same if one statement contains all the informative words that the other adds
    to the question, and their values agree. So "in 1874" is the same as "on 14 October 1874", and
    "1.2 km" the same as "1,200 m".

    The answers differ if only one of the statements denies, or if two names are swapped. They also
    differ if a word of direction differs ("until 9", "from 9"), or if only one of them names an
    owner ("Ida Reeve", "Ida Reeve's sister"). If the question offers a choice ("Is it red or
    green?"), equal answers must not choose different options. If a statement adds nothing to the
    question, only another such statement gives the same answer.
    """
    if denies(first) != denies(second) or differs_in_order(first, second):
        return False
    sides = {_side_of(first, question), _side_of(second, question)} - {None}
    if len(sides) > 1:
        return False
    first_facts, second_facts = _Facts.of(first, question), _Facts.of(second, question)
    if first_facts.is_bare != second_facts.is_bare:
        return False
    return first_facts.is_within(second_facts) or second_facts.is_within(first_facts)


class _Facts(NamedTuple):
    """The words and values that a statement adds to its question, and all its words and values.

    If a value occurs more often in the statement than in the question ("The Osk 200 has 200 laps"),
    it counts as added. ``is_bare`` means that the statement adds nothing.
    """

    words: frozenset[str]
    values: tuple[StatedValue, ...]
    all_words: frozenset[str]
    all_values: tuple[StatedValue, ...]
    is_bare: bool

    @classmethod
    def of(cls, statement: str, question: str) -> Self:
        words, new_values = words_beside_values(statement), values_beyond(statement, question)
        if _ANSWER_FRAME.match(statement):
            words -= _OF_THE_ANSWER_FRAME
        new_words, of_question = words - telling_terms(question), values_in(question)
        is_bare = not new_words and all(
            any(v.is_said_by(each) for each in of_question) for v in new_values
        )
        return cls(new_words, new_values, words, values_in(statement), is_bare)

    def is_within(self, whole: "_Facts") -> bool:
        """Return whether a different statement says everything that this one says."""
        # a statement without new values may repeat a value of its question
        whole_values = whole.values or whole.all_values
        agreeing = (any(v.agrees(w) for w in whole_values) for v in self.values)
        return self.words <= whole.all_words and all(agreeing)


def _side_of(statement: str, question: str) -> str | None:
    """Return the option that a statement chooses, such as "green" for "Is it red or green?".

    Return None if the question offers no choice, or if the statement names both options or neither.
    """
    choice = _CHOICE.match(_CHOICE_OF_FORM.sub(" ", question[:_MOST_COMPARED]))
    if choice is None:
        return None
    terms = telling_terms(statement)
    sides = [choice[side] for side in ("first", "second")]
    own_sides = [side for side in sides if terms & telling_terms(side)]
    return own_sides[0] if len(own_sides) == 1 else None


def _repeats(reply: str, question: str) -> bool:
    """Return whether a reply only repeats its question; a choice between options does more."""
    if _outside(reply, question) or values_beyond(reply, question):
        return False
    return _side_of(reply, question) is None


@lru_cache(maxsize=512)  # the statements of an answer are compared with one another
def words_beside_values(statement: str) -> frozenset[str]:
    """Return the informative words of a statement, without its values and their units."""
    plain, end = list[str](), 0
    text = statement[:_MOST_COMPARED]
    for start, value_end in (each.span for each in values_in(text)):
        plain.append(text[end:start])
        end = value_end
    plain.append(text[end:])
    return frozenset(term for term in telling_terms(" ".join(plain)) if not term.isdecimal())


def denies(statement: str) -> bool:
    """Return whether a statement denies something, as with "not", "isn't" or "ne … pas"."""
    return bool(_DENIAL.search(statement[:_MOST_COMPARED])) or denies_in_any(statement)


def affirms(reply: str, question: str) -> bool:
    """Return whether a reply to a yes/no question means yes, judged by its first word or denials.

    If the question contains a denial ("Is it true that bats are not blind?"), a reply with the same
    denial affirms it.
    """
    words = reply[:_MOST_COMPARED].casefold().replace(",", " ").split()
    first = words[0].strip("*_\"'.!\u201c\u201d") if words else ""
    if first in _OPPOSITES:
        return first in _AFFIRMING
    if (side := yes_or_no(first, question)) is not None:
        return side
    return _denials(reply) == _denials(question)


def _denials(text: str) -> list[str]:
    """Return the words of denial in a text, including repetitions, since two denials affirm."""
    plain = _OF_A_QUESTION.sub("", text[:_MOST_COMPARED])
    return sorted(word.casefold() for word in _DENIAL.findall(plain))


def answers_nothing(reply: str, question: str) -> str | None:
    """Return the reason why a reply gives no answer; None if it gives one.

    A reply gives no answer if it says that the document says nothing, or only repeats the question.
    """
    if _NOTHING.search(reply[:_MOST_COMPARED]):
        return "the document says nothing about it"
    # a bare yes or no answers, although it adds no word to the question
    if _repeats(reply, question) and not _BARE.fullmatch(reply):
        return "it repeats the question"
    return None


def invented_numbers(statement: str, source: Iterable[str]) -> frozenset[str]:
    """Return the numbers in a statement that are in no source.

    Small numbers are ignored, since a source may write them as words. A number is not invented if a
    source states it in a different country's notation or in a different unit.
    """
    texts = tuple(source)
    source_numbers = frozenset[str]().union(*map(numbers_in, texts))
    new = {
        number
        for number in numbers_in(statement) - source_numbers
        # the length is tested first, since converting a very long number fails
        if not (number.isdecimal() and len(number) <= 2 and int(number) <= _SMALL)
    }
    if not new:
        return frozenset()
    source_values = [each for text in texts for each in all_values_in(text)]
    for own_value in values_in(statement):
        if any(own_value.agrees(each) for each in source_values):
            new -= numbers_in(statement[slice(*own_value.span)])
    return frozenset(new)


def is_about(claim: str, question: str) -> bool:
    """Return whether a claim has most of a question's informative words."""
    terms = telling_terms(question)
    return not terms or 2 * len(terms & telling_terms(claim)) > len(terms)


def restates(claim: str, statement: str, question: str) -> bool:
    """Return whether a claim gives the same answer as a statement, and does not merely mention it.

    The claim must answer the question in the same way, and contain most of the question's
    informative words.
    """
    return claim == statement or (
        same_answer(claim, statement, question) and is_about(claim, question)
    )


def opposite(answer: str, question: str = "") -> str | None:
    """Return the opposite of a yes-or-no or true-or-false answer, in the same form.

    The opposite is a single word if the rest of the answer only repeats the words of the question.
    For "Are bats blind?", such answers are "Yes, bats are blind." and "The statement that bats are
    blind is true." A bare yes or no in a different
    language becomes the opposite word of that language. If the word belongs to several languages,
    the question decides.

    Return None for any other answer, such as "Yes, since 1871."
    """
    bare = _BARE.fullmatch(answer)
    if bare is None:
        foreign = _FOREIGN.fullmatch(answer[:_MOST_COMPARED])
        word = foreign and opposite_word(foreign["word"], [question])
        if foreign and word:
            opposite_form = word.capitalize() if foreign["word"][0].isupper() else word
            return answer[: foreign.start("word")] + opposite_form + answer[foreign.end("word") :]
        return _opposite_of_led(answer, question)
    if (word := opposite_word(bare["word"], [question])) and _is_foreign(question):
        opposite_form = word.capitalize() if bare["word"][0].isupper() else word
    else:
        opposite_form = _turned(bare["word"])
    return answer[: bare.start("word")] + opposite_form + answer[bare.end("word") :]


def _is_foreign(question: str) -> bool:
    """Return whether a question is certainly in a language other than English."""
    return language_of(question) not in (None, "en")


def _opposite_of_led(answer: str, question: str) -> str | None:
    """Return the opposite of an answer that consists of “yes” or “no” and the question's words."""
    frame = _FRAMED.fullmatch(answer)
    led = frame or _LED.match(answer)
    if led is None:
        return None
    word = led["word"].casefold()
    more = _outside(answer, question) - {word[:STEM]} - (_OF_THE_FRAME if frame else set())
    # after "no", the rest may repeat the question with a negation: "No, the lamp does not burn."
    denials = telling_terms(" ".join(_NEGATIONS))
    if more - (denials if word not in _AFFIRMING and not frame else set()):
        return None
    return f"{_turned(word).capitalize() if frame else _turned(led['word'])}."


def _turned(word: str) -> str:
    """Return the opposite of an English yes or no, capitalised in the same way."""
    plain = _OPPOSITES[word.casefold()]
    if word.isupper():
        return plain.upper()
    return plain.capitalize() if word[0].isupper() else plain
