"""Detects linguistic traps: passages on which an NLI model is often both sure and wrong.

A small model notices whether a passage contains a claim's words, but largely misses how they are
used. The passage may be a question or a plan, contain a double negation, have the words in a
different order, or state a number in a different unit. The functions below search the sentences
nearest to the claim for such traps. The functions use cue words in seven languages
(``pitfalls.toml``), and patterns that work in any language with spaces between words.
"""

import re
import tomllib
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import NamedTuple

from conflictscore.records import Label
from conflictscore.scripts import fold, word_set
from conflictscore.sentences import sentence_starts
from conflictscore.units import UNITS

_MOST_CHARS, _MOST_OF_CLAIM = 4_000, 500
"""Maximum number of characters of a passage, and of a claim, that are read. An NLI window has about
400 characters. The claim is compared with each sentence of the passage, so both numbers bound the
time.
"""
_STEM, _SHORTEST = 4, 3
"""Number of letters of a stem, and of the shortest word that is compared. In the seven languages,
most inflected forms of a word have the same first four letters, so no stemmer is needed."""
_ALL_BUT = 0.75
"""A sentence with at least this share of the claim's words is searched for swapped words; chosen by
hand."""

# A number, perhaps with thousands separators and decimal places.
_NUMBER = r"\d+(?:[.,'\u00a0\u2009\u202f ]\d{3}(?!\d))*(?:[.,]\d+)?"
_WORD = re.compile(rf"{_NUMBER}|[^\W\d_]+")
# A separator before three digits: "12,500".
_SEPARATOR = re.compile(r"[.,'\u00a0\u2009\u202f ](?=\d{3}(?!\d))")
# Repetitions are bounded, so that a search through a hostile text takes linear time.
_QUANTITY = re.compile(
    r"(?P<before>[€$£¥])\s?\d"
    r"|\d(?:[ \u00a0\u2009\u202f-]?(?P<unit>[^\W\d_]{1,14}[²³]?|[%‰€$£¥]|°[CF]?))"
)
# Ratios such as "3 in 4".
_RATIO = re.compile(r"\d (?:in|of|out of|von|sur|de|su|van de) (?:\w+ )?\d")
# Ranges ("10–12"), decades ("1930s"), signs such as "~" and "≥", and centuries.
_INEXACT = re.compile(
    r"\d\s?(?:[-–—~]|\.\.\.?|…)\s?\d|\d0(?:er|s|ies|['’]s)\b|[~≈±<>≤≥]\s?\d|\d(?:th|st|nd|rd)? cent"
)
# A question mark at the end, perhaps followed by closing marks.
_ASKED = re.compile(r"[?\uff1f\u061f][\"'”’»)\]*_\s]{0,9}$")
_CELLS = re.compile(r"[|\t]| {3,}|^[^,;.]{1,30}[,;][^,;.]{1,30}$")
"""Matches a row of a table: pipes, tabs or wide gaps, or two short cells with one separator."""
# A list of names and values, such as "Height: 12 m; Width: 5 m".
_LISTED = re.compile(r"[:—–] [^;:]{1,40}; [^;:]{1,40}[:—–] [^;:]{1,40}(?:;|$)")
# Years from 1000 to 2099.
_YEAR = re.compile(r"1\d{3}|20\d\d")
# The beginnings of months in English and other European languages. Stems have at most four letters,
# so "mar[scz]?$" matches "March", but not "mark".
_MONTH = re.compile(
    "jan|feb|fev|ene|gen|mar[scz]?$|maar|mrt|apr|abr|avr|may|mai|mei|mag|jun|jui|giu|jul|lug|aug|aou"
    "|ago|sep|set|oct|okt|ott|outu|nov|dec|dez|dic"
)
_IN_WORDS = 20
"""Largest number that is often written as a word."""


# Words that express a bound only before a number: "above 540 m", but not "540 m above the Earth".
# Cues are stored with spaces around them.
_OF_PLACE = frozenset((" above ", " below ", " over ", " under ", " über ", " unter "))
_BEFORE_NUMBER = re.compile(
    r"\b(?:above|below|over|under|über|unter) (?:[^\W\d_]{1,8} )?[€$£¥]?\d", re.IGNORECASE
)


class _Sentence(NamedTuple):
    """A sentence in several forms, which are searched for traps; each form is computed once."""

    text: str
    spoken: str
    """The words in lower case, each between spaces, so that phrases can be matched."""
    names_and_nouns: tuple[str, ...]
    """The words as written, without function words and numbers."""
    stems: tuple[str, ...]
    """The same words, folded and stemmed, together with the numbers, all in order."""
    numbers: frozenset[str]
    """The numbers, without thousands separators."""

    def cues(self, kind: str) -> frozenset[str]:
        return frozenset(cue for cue in _CUES[kind] if cue in self.spoken)


# Frequent words in several languages that say nothing about a subject. The words have three letters
# or more, since shorter words are left out anyway.
_FUNCTION_WORDS = word_set(
    """the and was has had for are were its been being from with that this than then their there
    der die das den dem des ein eine einen einer und von vom war ist hat sind wurde les des une est
    dans par pour sur aux los las una uno del con por para fue era che non gli nel della dello stato
    uma dos das com foi het een van werd zijn"""
)


# Loaded on import, since the first use may be on an event loop.
_TABLE: dict[str, dict[str, list[str]]] = {
    kind: {key: [" ".join(one.split()) for one in row.split(",")] for key, row in rows.items()}
    for kind, rows in tomllib.loads(
        (resources.files(__package__) / "pitfalls.toml").read_text("utf-8")
    ).items()
}
_CUES = {
    kind: tuple(f" {cue} " for listed in rows.values() for cue in listed)
    for kind, rows in _TABLE.items()
}
NEGATIONS = frozenset(cue.strip() for cue in _CUES["negation"])
_UNITS = {unit: kind for kind, listed in _TABLE["units"].items() for unit in listed}
# "m" and "metre" are the same unit; UNITS has its size
_SAME_UNIT = {name: f"{UNITS[name]}" for name in _UNITS if name in UNITS}


@lru_cache(maxsize=512)  # each sentence is compared with several others
def _read(text: str) -> _Sentence:
    tokens = _WORD.findall(text)
    words, stems, numbers = list[str](), list[str](), list[str]()
    for word in tokens:
        if word[0].isdigit():
            numbers.append(_SEPARATOR.sub("", word))
            stems.append(numbers[-1])
        elif len(word) >= _SHORTEST and (plain_word := fold(word)) not in _FUNCTION_WORDS:
            words.append(word)
            stems.append(plain_word[:_STEM])
    spoken_text = f" {' '.join(tokens).casefold()} "
    return _Sentence(text, spoken_text, tuple(words), tuple(stems), frozenset(numbers))


def pitfall(claim: str, passage: str, label: Label) -> str | None:
    """Return why a model's label for a passage is doubtful; None if no trap is recognised.

    IRRELEVANT is never doubted: it is the correct label for passages that only ask, plan or allege,
    and no trap is known that makes these models miss a side.
    """
    if label not in (Label.SUPPORTS, Label.CONTRADICTS):
        return None
    claim, passage = claim[:_MOST_OF_CLAIM], passage[:_MOST_CHARS]
    rows = sum(bool(_CELLS.search(line)) for line in passage.splitlines())
    # a single line of this form may be prose, such as "Yes, in 1871"
    if rows > 1 or _LISTED.search(passage):
        return "a table"
    claim_sentence = _read(claim)
    whys = (
        _doubt(claim_sentence, sentence, label) for sentence in _nearest(claim_sentence, passage)
    )
    return next(filter(None, whys), None)


def is_stated_plainly(claim: str, sentence: str) -> bool:
    """Return whether a sentence states something plainly, not as a question or a plan."""
    return _doubt_of_mood(_read(claim[:_MOST_OF_CLAIM]), _read(sentence[:_MOST_CHARS])) is None


def has_bound(claim: str) -> bool:
    """Return whether a claim's number is a bound or rounded, so that other numbers can agree."""
    sentence = _read(claim[:_MOST_OF_CLAIM])
    cues = sentence.cues("loose")
    if cues and cues <= _OF_PLACE and not _BEFORE_NUMBER.search(sentence.text):
        return bool(_INEXACT.search(sentence.text))
    return _inexact(sentence) or " than " in sentence.spoken


def explained(trap: str) -> str:
    """Return the note on a label that a trap makes doubtful, as a sentence for readers."""
    return f"doubtful: {_EXPLANATIONS[trap]}"


def _nearest(claim: _Sentence, passage: str) -> Iterator[_Sentence]:
    bounds = [*sentence_starts(passage), len(passage)]
    sentences = [_read(passage[start:end].strip()) for start, end in pairwise(bounds)]
    words = frozenset(claim.stems)
    shared_counts = [len(words.intersection(sentence.stems)) for sentence in sentences]
    most = max(shared_counts)
    # keep sentences with at least half as many shared words as the best one; chosen by hand
    return (s for s, n in zip(sentences, shared_counts, strict=True) if 2 * n >= max(most, 1))


def _doubt(claim: _Sentence, sentence: _Sentence, label: Label) -> str | None:
    """Return why a sentence is doubtful evidence for a side; None if no trap is recognised.

    Only the first reason is returned. Reasons that depend on the sentence alone come first, since a
    closer comparison may refute the other reasons.
    """
    return (
        _doubt_of_mood(claim, sentence)
        or _doubt_of_numbers(claim, sentence)
        or _doubt_of_names(claim, sentence, label)
    )


def _doubt_of_mood(claim: _Sentence, sentence: _Sentence) -> str | None:
    """Return why a sentence, unlike the claim, is not a plain statement; otherwise None."""
    if _ASKED.search(sentence.text) and not _ASKED.search(claim.text):
        return "a question"
    for kind, reason in _CUED.items():
        if sentence.cues(kind) - claim.cues(kind):
            return reason
    if sum(word in NEGATIONS for word in sentence.spoken.split()) > 1:
        return "a double negation"
    return None


def _doubt_of_numbers(claim: _Sentence, sentence: _Sentence) -> str | None:
    """Return why numbers that look different may be equal, or the reverse; otherwise None."""
    if not (claim.numbers and sentence.numbers):
        return None
    if _other_unit(claim, sentence):
        return "another unit"
    exact = claim.numbers <= sentence.numbers
    if _inexact(claim) != _inexact(sentence) or (not exact and _inexact(claim)):
        return "a range or a round number"
    return None


def _doubt_of_names(claim: _Sentence, sentence: _Sentence, label: Label) -> str | None:
    """Return why roles or names in a sentence may differ from those in the claim; else None."""
    if _roles_swapped(claim, sentence):
        return "the same words in another order"
    # if only the name differs, that may be the contradiction; if a number differs as well, the
    # sentence is about something else
    exact = claim.numbers <= sentence.numbers
    if (label is Label.SUPPORTS or not exact) and _renamed(claim, sentence):
        return "another name"
    return None


_CUED = {
    "doubt": "a doubt",
    "condition": "a condition",
    "plan": "a plan",
    "attribution": "an attribution",
    "until": "a state that ended or began",
    "denial": "a double negation",
}
_EXPLANATIONS = {
    "a table": "the passage is a table, which this model may misread",
    "a question": "the passage asks about the claim, and may not state it",
    "a doubt": "the passage calls the claim uncertain",
    "a condition": "the passage states the claim only under a condition",
    "a plan": "the passage describes a plan, which may have failed",
    "an attribution": "the passage reports what someone says",
    "a state that ended or began": "the passage says when a state ended or began, and the claim may"
    " mean another time",
    "a double negation": "the passage has a double negation",
    "another unit": "the passage and the claim use different units",
    "a range or a round number": "a number in the passage or the claim is a range, or rounded",
    "the same words in another order": "the passage has the claim's words in a different order, so"
    " the roles may be swapped",
    "another name": "the passage names a different person or thing than the claim",
}


def _inexact(sentence: _Sentence) -> bool:
    return bool(sentence.cues("loose") or _INEXACT.search(sentence.text))


def _other_unit(claim: _Sentence, sentence: _Sentence) -> bool:
    """Return whether sentence and claim state the same kind of quantity in different units.

    A word such as "million" in only one of them counts as a different unit too.
    """
    ours, theirs = _quantities(claim.text), _quantities(sentence.text)
    kinds = {kind for kind, _ in ours} & {kind for kind, _ in theirs}
    return any(
        {unit for of, unit in ours if of == kind}.isdisjoint(u for of, u in theirs if of == kind)
        for kind in kinds
    ) or any(kind == "scale" for kind, _ in ours ^ theirs)


def _quantities(text: str) -> frozenset[tuple[str, str]]:
    quantities = set()
    for match in _QUANTITY.finditer(text):
        unit = (match["before"] or match["unit"]).casefold()
        unit_name = next((u for u in (unit, unit.removesuffix("s")) if u in _UNITS), None)
        if unit_name is not None:
            quantities.add((_UNITS[unit_name], _SAME_UNIT.get(unit_name, unit_name)))
    if _RATIO.search(text):
        quantities.add(("share", "ratio"))
    return frozenset(quantities)


def _roles_swapped(claim: _Sentence, sentence: _Sentence) -> bool:
    """Return whether a sentence has the claim's words with two words swapped.

    If only one of the two texts is passive, the roles are swapped as well. If the words are swapped
    and only one text is passive, the roles are unchanged. Words that only move to the front ("In
    the final, …") do not change roles.
    """
    ours = list(dict.fromkeys(claim.stems))
    # reversed order keeps the first position of a repeated word
    places = {word: place for place, word in reversed(list(enumerate(sentence.stems)))}
    order = [places[word] for word in ours if word in places]
    if len(order) < max(2, _ALL_BUT * len(ours)):
        return False
    both = places.keys() & ours
    voices = _is_passive(claim, both) != _is_passive(sentence, both)
    if _exchanged(order):
        return not voices
    # a swap takes two participants and a verb, so three words; "the museum opened" has only two, so
    # "by" in "the museum opened by the river" swaps nothing
    return voices and len(order) == len(ours) > 2


def _is_passive(sentence: _Sentence, shared_stems: Container[str]) -> bool:
    """Return whether "by", or its equivalent, is one or two words before a shared word."""
    words = sentence.spoken.split()
    return any(
        f" {word} " in _CUES["passive"] and any(fold(w)[:_STEM] in shared_stems for w in after)
        for word, after in zip(words, pairwise([*words[1:], ""]), strict=False)
    )


def _exchanged(order: Sequence[int]) -> bool:
    """Return whether two words swap places around a third, or just two words are out of place."""
    reversed_ = any(a > b > c for a, b, c in zip(order, order[1:], order[2:], strict=False))
    out_of_place = [
        place
        for place, right_place in zip(order, sorted(order), strict=True)
        if place != right_place
    ]
    return reversed_ or len(out_of_place) == 2


def _renamed(claim: _Sentence, sentence: _Sentence) -> bool:
    """Return whether a different name takes the place of the claim's name next to the same word.

    For example, the claim has "Mayor Holm" and the sentence "Mayor Dal", without the word "Holm".
    """
    ours, theirs = (list(pairwise(("", *side.names_and_nouns, ""))) for side in (claim, sentence))
    their_words = {word.casefold() for pair in theirs for word in pair}

    def replaced(place: int) -> bool:
        names = {
            (p[1 - place].casefold(), p[place].casefold()) for p in ours if p[place][:1].isupper()
        }
        beside = {p[1 - place].casefold() for p in theirs if p[place][:1].isupper()}
        return any(word in beside and word and name not in their_words for word, name in names)

    return replaced(0) or replaced(1)


def number_replaced(claim: str, document: str) -> str | None:
    """Return a number of the claim that a document replaces with a different one; else None.

    The number can be a year, a day of the month, or a count of things. The document must have other
    numbers of the same kind: other years, other days, or other counts of the same things. Round
    numbers, ranges and numbers with different units are ignored, since they may be equivalent.
    """
    claim_sentence, document_sentence = _read(claim), _read(document)
    ours, theirs = _counted(claim_sentence), _counted(document_sentence)
    if not ours or _inexact(claim_sentence) or _other_unit(claim_sentence, document_sentence):
        return None
    document_numbers = document_sentence.numbers
    missing = (
        number
        for what, numbers in ours.items()
        if what in theirs
        for number in sorted(numbers - document_numbers)
    )
    return next(missing, None)


def _counted(text: _Sentence) -> dict[str, set[str]]:
    """Return a text's numbers by what they count: "year", "day", or the adjacent word."""
    numbers_by_kind: dict[str, set[str]] = {}
    words = ["", *text.stems, ""]
    for before, number, after in zip(words, words[1:], words[2:], strict=False):
        if not number[:1].isdigit():
            continue
        if _YEAR.fullmatch(number):
            what = "year"
        elif _MONTH.match(after) or _MONTH.match(before):
            what = "day"
        elif number.isdecimal() and int(number) <= _IN_WORDS:
            continue
        else:
            what = after if after and not after[0].isdigit() else before
        if what:
            numbers_by_kind.setdefault(what, set()).add(number)
    return numbers_by_kind
