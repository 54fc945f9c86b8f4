"""Which parts of an answer stand in no claim, and which claims say what the answer does not.

A splitter that lists what it likes decides nothing here: each number, name, negation and telling
word of a passage has to stand in a claim about that passage. Code, headings, quotations,
alternative texts and comments are read like any other text. Time is linear in the lengths of the
answer and its claims.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from conflictscore.answering.claim_places import Placed
from conflictscore.answering.word_lists import (
    COURTESIES,
    FUNCTION_WORDS,
    REFUSALS,
    STEM,
    negations_in,
)
from conflictscore.json_answers import said_by
from conflictscore.markdown import Passage, passages
from conflictscore.records import Gap, GapKind
from conflictscore.records.examined import quoted
from conflictscore.scripts import fold, spaced_out, terms_in, words_in

_MOST_LOOSE, _LOOSE_SHARE = 1, 0.2
"""Telling words of a passage, and their share of it, that its claims may leave out."""
_MOST_OF_A_LABEL = 4  # telling words of a heading, or of a question, that need no claim
_WORDS_OF_A_VALUE = 3
_SMALL = 20  # numbers up to this are often written as words
_NUMBER = re.compile(r"\d+(?:[.,:/\u066b\u066c]\d+)*")
_THOUSANDS = re.compile(r"[,.\u066c\u00a0\u202f'](?=\d{3}(?:\D|$))")
_SPACED_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0\u202f'](?=\d{3}(?:\D|$))")
_CITATION = re.compile(
    r"\[\^?\d{1,3}(?:[ ,;\u2013-]{1,3}\d{1,3}){0,20}\](?!:)"
    r"|[\[(](?:see |per )?(?:documents?|docs?|sources?|passages?|refs?|cites?|quellen?|dokumente?)"
    r"[ .:#]{0,3}\d{1,3}(?:[ ,;&#\u2013-]{1,4}(?:and )?#?\d{1,3}){0,20}[\])]",
    re.IGNORECASE,
)
_SOURCE = re.compile(
    r"\b(?:documents?|docs?|sources?|passages?|texts?) ?#?\d{1,3}\b"
    r"(?:(?:, | and |, and )#?\d{1,3}\b){0,20}",
    re.IGNORECASE,
)
"""A document that the answer names by its number, which is none of its facts."""
_TARGET = re.compile(r"(?<=\])\([^()\s]{1,2000}\)|\bhttps?://[^\s)>\]]{1,2000}")
_HEADING = re.compile(r"(?:^|\n)[ ]{0,3}#{1,6}[ \t]{1,4}$")
_TABLE_RULE = re.compile(r"\|?[ \t]{0,9}\r?\n[ \t]{0,9}\|?[ \t]{0,9}:?-")
_QUESTION_MARKS = "?\u037e\u061f\uff1f"
_PROSE = re.compile(r"(?<![\w'\u2019-])\w[\w'\u2019-]*+(?:,? \w[\w'\u2019-]*+){2,}+")
_PROGRAM = re.compile(
    r"(?:public|private|static|const|let|var|import|from|def|class|return|select|insert|update"
    r"|create|for|while|if|else|elif|with|int|void|float|double|pip|npm|git|sudo|apt|cd|export)\b",
    re.IGNORECASE,
)
_WORD_OR_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_][\w'\u2019-]*")
_WORD = re.compile(r"\w[\w'\u2019-]*")
_LABEL = re.compile(r"(?<!\w)([^\W\d_]{1,20})(\d{1,3})(?!\w)")
_NUMBER_WORDS = dict(
    zip(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"  # noqa: SIM905
        " fifteen sixteen seventeen eighteen nineteen twenty".split(),
        map(str, range(_SMALL + 1)),
        strict=True,
    )
) | {"first": "1", "second": "2", "third": "3", "once": "1", "twice": "2"}
_MOST_PLACES = 50  # passages that a word may tell
_MOST_LISTED = 5  # words that a sentence names
_MANY_CAPITALS = 0.4
"""Share of capitals among the words within sentences from which they tell no names (German)."""


class UnclaimedPart(NamedTuple):
    """A passage of the answer that no claim covers fully."""

    start: int
    end: int
    words: tuple[str, ...]
    """The numbers, names, negations and telling words that no claim about it has."""


class Beyond(NamedTuple):
    """A claim, by its index, and the numbers, names or negations that the answer has not."""

    claim: int
    words: tuple[str, ...]


def unclaimed_in(
    answer: str, placed: Sequence[Placed], question: str = ""
) -> tuple[UnclaimedPart, ...]:
    """:func:`unclaimed_parts` of claims that stand with their places."""
    return unclaimed_parts(answer, [t for t, _ in placed], [s for _, s in placed], question)


def gaps_of(
    answer: str, placed: Sequence[Placed], question: str = "", failure: str = ""
) -> tuple[Gap, ...]:
    """Parts of an answer that stand in none of its claims, and claims that go beyond it.

    Args:
        answer: The answer.
        placed: Its claims with their places.
        question: What was asked.
        failure: Why the splitter could not be asked about the rest, as the end of a sentence.
    """
    if not placed:
        if states_nothing(answer, question):
            note = "it states nothing that a document could support or contradict"
            return (Gap(kind=GapKind.STATES_NOTHING, note=note),)
        note = f"it states something, and no claims were read from it{failure}"
        return (Gap(kind=GapKind.NO_CLAIMS, note=note),)
    claims, spans = [text for text, _ in placed], [span for _, span in placed]
    unclaimed = [
        Gap(
            kind=GapKind.UNCLAIMED,
            note=f"{_listed(part.words)} in {quoted(answer[part.start : part.end])} stands in no"
            f" claim{failure}",
            passage=(part.start, part.end),
        )
        for part in unclaimed_parts(answer, claims, spans, question)
    ]
    beyond = [
        Gap(
            kind=GapKind.CLAIM_BEYOND_ANSWER,
            note=f"the claim {quoted(claims[index])} has {_listed(words)}, which the answer has"
            " not",
            passage=spans[index],
        )
        for index, words in claims_beyond(answer, claims, spans, question)
    ]
    return (*unclaimed, *beyond)


def _listed(words: Sequence[str]) -> str:
    few = ", ".join(f"“{word}”" for word in words[:_MOST_LISTED])
    return f"{few}, …" if len(words) > _MOST_LISTED else few


class _Terms(NamedTuple):
    numbers: frozenset[str]
    names: frozenset[str]
    negations: frozenset[str]
    words: frozenset[str]  # telling words, by their stems; names are among them

    @property
    def of_a_place(self) -> frozenset[str]:
        """Words by which a claim is assigned to a passage."""
        return self.words | self.numbers


def unclaimed_parts(
    answer: str, claims: Sequence[str], spans: Sequence[tuple[int, int] | None], question: str = ""
) -> tuple[UnclaimedPart, ...]:
    """The passages of an answer that no claim covers fully, in their order.

    Args:
        answer: The answer, in Markdown.
        claims: Its claims.
        spans: For each claim the passage that it was read from, as start and end; None where that
            is not known.
        question: What was asked. Its words need no claim where they name the thing that is asked
            about; numbers and negations do.
    """
    parts = passages(answer)
    names = _tells_names(answer)
    claim_terms = [_terms(claim, names=names) for claim in claims]
    about = _claims_about(answer, parts, claim_terms, spans)
    asked = _terms(question, names=names).words
    found = (
        _unclaimed(answer, part, [claim_terms[n] for n in about[number]], asked, names=names)
        for number, part in enumerate(parts)
    )
    return tuple(part for part in found if part is not None)


def claims_beyond(
    answer: str, claims: Sequence[str], spans: Sequence[tuple[int, int] | None], question: str = ""
) -> tuple[Beyond, ...]:
    """The claims with a number, a name or a negation that the answer has not."""
    names = _tells_names(answer)
    claims = _without_labels(claims, answer)
    whole, asked = _terms(_plain(answer), names=False), _terms(question, names=False)
    small = _small_numbers(answer) | _small_numbers(question)
    found = []
    for index, claim in enumerate(claims):
        terms = _terms(claim, names=names)
        extra = {n for n in terms.numbers - whole.numbers - asked.numbers if n not in small}
        extra |= terms.names - whole.words - asked.words
        span = spans[index]
        said = answer[slice(*span)] if span else answer
        if terms.negations and not negations_in(said) and not negations_in(question):
            extra |= terms.negations
        if extra:
            found.append(Beyond(index, tuple(sorted(extra))))
    return tuple(found)


def _without_labels(claims: Sequence[str], answer: str) -> list[str]:
    """The claims without a label that counts them: one word in all, with a rising number.

    Splitters write "Fact F1 …", "Fact F2 …". Where the answer has such words itself, as of roads
    or rooms, they are no labels.
    """
    labels = [{match[1]: match[2] for match in _LABEL.finditer(claim)} for claim in claims]
    if len(claims) < 2:
        return list(claims)
    counting = {
        word
        for word in labels[0].keys() - {match[1] for match in _LABEL.finditer(answer)}
        if all(word in of_claim for of_claim in labels)
        and all(int(a[word]) < int(b[word]) for a, b in pairwise(labels))
    }
    return [
        _LABEL.sub(lambda match: "" if match[1] in counting else match[0], claim)
        for claim in claims
    ]


def states_nothing(answer: str, question: str) -> bool:
    """Whether nothing in an answer can be checked: a greeting, a refusal, a question back.

    That is decided by what stands in it: no number and no name beyond the question's, no negation
    but a refusal's, and no telling word that greetings, refusals and questions do not have.
    """
    names = _tells_names(answer)
    asked = _terms(question, names=names)
    for part in passages(answer):
        terms = _terms(_text_of(answer, part), names=names)
        if terms.numbers - asked.numbers or terms.names - asked.words:
            return False
        own = terms.words - asked.words - COURTESIES
        if answer[part.end - 1] in _QUESTION_MARKS and len(own) <= _MOST_OF_A_LABEL:
            continue
        refuses = bool(terms.words & REFUSALS)
        if own and not (refuses and len(own) <= _MOST_LOOSE):
            return False
        if terms.negations and not refuses:
            return False
    return True


def _unclaimed(
    answer: str, part: Passage, about: Sequence[_Terms], asked: frozenset[str], *, names: bool
) -> UnclaimedPart | None:
    text = _text_of(answer, part)
    own = _terms(text, names=names)
    claimed = frozenset[str]().union(*(terms.words for terms in about))
    numbers = frozenset[str]().union(*(terms.numbers for terms in about))
    missing = (own.numbers - numbers) | (own.names - claimed - asked)
    if own.negations and not any(terms.negations for terms in about):
        missing |= own.negations
    loose = own.words - claimed - asked - COURTESIES
    is_label = _is_label(answer, part)
    if answer[part.end - 1] in _QUESTION_MARKS or is_label:
        enough = len(loose) > _MOST_OF_A_LABEL
        if is_label and not about:  # a heading's names are what it is about
            missing -= own.names if not own.numbers else frozenset()
    else:
        enough = len(loose) > _MOST_LOOSE or len(loose) > _LOOSE_SHARE * len(own.words)
    if not missing and not enough:
        return None
    return UnclaimedPart(
        part.start, part.end, _as_written(missing | (loose if enough else set()), text)
    )


def _as_written(terms: Iterable[str], text: str) -> tuple[str, ...]:
    """Numbers and stems as they stand in a text, in its order; those that do not, at the end."""
    left = dict.fromkeys(sorted(terms))
    written = []
    for match in _WORD_OR_NUMBER.finditer(text):
        term = match[0]
        forms = (term, _stem(term), fold(term), *_numbers(term))
        if form := next((form for form in forms if form in left), None):
            written.append(term)
            del left[form]
    return (*written, *left)


def _claims_about(
    answer: str,
    parts: Sequence[Passage],
    claims: Sequence[_Terms],
    spans: Sequence[tuple[int, int] | None],
) -> list[set[int]]:
    """For each passage the claims about it: read from it, or with half of its words or of theirs.

    A word that very many passages have tells none of them, which also keeps the time linear.
    """
    words = [_terms(_text_of(answer, part), names=False).of_a_place for part in parts]
    places: dict[str, list[int]] = defaultdict(list)
    for number, passage_words in enumerate(words):
        for word in passage_words:
            places[word].append(number)
    telling = {word: numbers for word, numbers in places.items() if len(numbers) <= _MOST_PLACES}
    sizes = [sum(word in telling for word in passage_words) for passage_words in words]
    starts = [part.start for part in parts]
    about: list[set[int]] = [set() for _ in parts]
    for index, terms in enumerate(claims):
        span = spans[index] or (0, 0)
        for number in range(bisect_left(starts, span[0]), bisect_left(starts, span[1])):
            about[number].add(index)
        shared = Counter(n for word in terms.of_a_place for n in telling.get(word, ()))
        for number, count in shared.items():
            if 2 * count >= min(sizes[number], len(terms.of_a_place)):
                about[number].add(index)
    return about


def _is_label(answer: str, part: Passage) -> bool:
    """Whether a passage is a heading or the head of a table."""
    if part.kind == "row":
        return bool(_TABLE_RULE.match(answer[part.end : part.end + 200]))
    return bool(_HEADING.search(answer[max(0, part.start - 12) : part.start]))


def _text_of(answer: str, part: Passage) -> str:
    """The text of a passage that may state something.

    Of code that is what reads like prose; of JSON a text of several words, since what stands for
    itself ("en", true, a score) was asked about value by value.
    """
    text = answer[part.start : part.end]
    if part.kind == "value":
        value = said_by(text)
        return _plain(value) if len(words_in(value)) >= _WORDS_OF_A_VALUE else ""
    if part.kind != "code" or text.lstrip().startswith("<"):
        return _plain(text)
    lines = text.removeprefix("```").removesuffix("```").splitlines()
    prose = (run[0] for line in lines for run in _PROSE.finditer(line))
    return " . ".join(run for run in prose if not _PROGRAM.match(run))


def _plain(text: str) -> str:
    """A text without its citations, the targets of its links and numbers of its sources."""
    return _SOURCE.sub(" ", _CITATION.sub(" ", _TARGET.sub(" ", text)))


def _terms(text: str, *, names: bool) -> _Terms:
    plain = _plain(text)
    numbers = frozenset(_numbers(plain))
    capitals = frozenset(_stem(word) for word in _capitals(plain)) if names else frozenset[str]()
    words = frozenset(_telling_words(plain))
    return _Terms(numbers, capitals & words, negations_in(plain), words)


def _telling_words(text: str) -> Iterator[str]:
    for term in terms_in(_NUMBER.sub(" ", text)):
        if len(term) > 1 and term not in FUNCTION_WORDS:
            yield _stem(term)


def _stem(word: str) -> str:
    return spaced_out(fold(word)).strip("'")[:STEM]


def _numbers(text: str) -> Iterator[str]:
    """The numbers of a text in one form: 2,140, 2.140 and 2 140 are 2140, and ½ is 1/2."""
    closed_up = _SPACED_THOUSANDS.sub("", fold(text))
    for match in _NUMBER.finditer(closed_up):
        yield _THOUSANDS.sub("", match[0]).replace(",", ".")
    for word in _WORD.findall(closed_up):
        if word in _NUMBER_WORDS and word not in ("one", "first", "second", "once"):
            yield _NUMBER_WORDS[word]


def _small_numbers(text: str) -> frozenset[str]:
    words = _WORD.findall(fold(text))
    return frozenset(_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS)


def _capitals(text: str) -> Iterator[str]:
    """The words with a capital that do not open a sentence."""
    end = 0
    opens = True
    for match in _WORD.finditer(text):
        between = text[end : match.start()]
        opens = opens or any(mark in between for mark in '.!?:;\n"\u201c\u201e(*_|>#')
        if not opens and match[0][0].isupper():
            yield match[0]
        opens, end = False, match.end()


def _tells_names(text: str) -> bool:
    """Whether capitals tell names in this text: not where every noun has one."""
    within = [word for word in _within_sentences(text) if fold(word) not in FUNCTION_WORDS]
    capitals = sum(word[0].isupper() for word in within)
    return capitals <= _MANY_CAPITALS * len(within) or len(within) < 8


def _within_sentences(text: str) -> Iterable[str]:
    words = [match[0] for match in _WORD.finditer(text)]
    return (word for word in words[1:] if word[0].isalpha())
