"""Pairs made of passages alone, whose labels follow from how they were made.

An edit that makes a sentence false is put in the claim in one pair and in the document in another,
with the sentence that is left against it. So no word, "not" or "never" or a round number, tells the
label by itself: a claim has to be read against the document.
"""

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from training.edits import comparisons, names, numbers, polarity, rewording
from training.edits.edit import Edit
from training.neighbours import Neighbours
from training.pairs import Label, Pair, claim_key
from training.passages import Passage
from training.sentences import coverage, is_claim, sentences_of

__all__ = ["contradictions", "reworded", "synthetic_pairs"]

_LENGTHS = (0, 0, 0, 0, 20, 20, 30, 30, 45, 60)
"""Words of a document, at least; 0 for the sentence alone."""
_NEIGHBOURS = 20
_DECIDED = 0.5
"""A document that has this share of a claim's words may decide it."""
_ON_TOPIC = 0.1
_REWORDED = 0.7
_EDITED = 0.4
"""Share of the undecided claims that are edited: an edit must not tell that a claim is false."""

_REWORDINGS: tuple[Edit, ...] = (
    rewording.strip_report,
    rewording.drop_aside,
    rewording.drop_adjunct,
    rewording.move_adjunct,
    rewording.swap_words,
)


class _Read(NamedTuple):
    """A passage as sentences.

    Attributes:
        source: Where it is from.
        sentences: All of them.
        claims: The places of those that can stand as a claim.
    """

    source: str
    sentences: list[str]
    claims: list[int]


def synthetic_pairs(passages: Sequence[Passage], *, seed: int, rounds: int) -> Iterator[Pair]:
    """Pairs of every passage, as many of each label as it has contradictions, and at least one.

    Args:
        passages: What to learn from, each text once.
        seed: Of all that is left to chance.
        rounds: How often each passage is gone through, each time with other chances.
    """
    read = [_read(passage) for passage in passages]
    pool = names.collect_names([r.sentences[place] for r in read for place in r.claims])
    neighbours = Neighbours([passage.text for passage in passages])
    for place, one in enumerate(read):
        others = [read[other] for other in neighbours.of(place, _NEIGHBOURS)]
        for turn in range(rounds):
            rng = Random(f"{seed}:{turn}:{passages[place].text}")  # noqa: S311 - no secret
            yield from _balanced(_of_passage(one, others, pool, rng), rng)


def contradictions(sentence: str, rng: Random, pool: names.Names) -> Iterator[tuple[str, str]]:
    """Sentences that cannot be true where this one is, with the name of the edit of each."""
    edits: dict[str, Edit] = {
        "change_date": numbers.change_date,
        "change_number": numbers.change_number,
        "break_bound": numbers.break_bound,
        "turn_comparison": comparisons.turn_comparison,
        "change_polarity": polarity.change_polarity,
        "change_name": lambda text, chance: names.change_name(text, chance, pool),
    }
    for name, edit in edits.items():
        if changed := edit(sentence, rng):
            yield name, changed


def reworded(sentence: str, rng: Random, *, bounds: bool = False) -> tuple[str, str]:
    """A sentence that follows from this one, and how it came about; perhaps itself, as ``own``.

    Args:
        sentence: The sentence.
        rng: Decides how.
        bounds: Whether a number may become a bound that it keeps. What contradicts the number may
            agree with the bound.
    """
    if rng.random() > _REWORDED:
        return sentence, "own"
    edits = [*_REWORDINGS, *([numbers.keep_bound] if bounds else [])]
    done: list[str] = []
    for edit in rng.sample(edits, len(edits)):
        if len(done) < 2 and (changed := edit(sentence, rng)):
            sentence = changed
            done.append(edit.__name__)
    return sentence, "+".join(sorted(done)) or "own"


def _read(passage: Passage) -> _Read:
    found = sentences_of(passage.text)
    return _Read(passage.source, found, [at for at, one in enumerate(found) if is_claim(one)])


def _of_passage(
    one: _Read, others: Sequence[_Read], pool: names.Names, rng: Random
) -> Iterator[Pair]:
    def pair(claim: str, document: str, label: Label, kind: str) -> Pair:
        return Pair(claim, document, label, one.source, kind)

    for at in one.claims:
        sentence = one.sentences[at]
        first, last = _window(one.sentences, at, rng)
        before, after = one.sentences[first:at], one.sentences[at + 1 : last]
        document = " ".join([*before, sentence, *after])
        said, how = reworded(sentence, rng, bounds=True)
        yield pair(said, document, "SUPPORTS", how)
        if (merged := _merged(one.sentences, at, last, rng)) is not None:
            yield pair(merged, document, "SUPPORTS", "merge")
        rest = " ".join([*before, *after])
        for name, changed in contradictions(sentence, rng, pool):
            both = _both_reworded(sentence, changed, rng)
            if both is None:
                continue
            true, false = both
            if not _says(rest, changed, sentence):
                yield pair(false, document, "CONTRADICTS", name)
            if not _says(rest, sentence, changed):
                altered = " ".join([*before, changed, *after])
                yield pair(true, altered, "CONTRADICTS", f"{name}_in_document")
                yield pair(reworded(changed, rng)[0], altered, "SUPPORTS", f"{name}_in_both")
        for claim, kind in _undecided(one, others, at, document, pool, rng):
            yield pair(claim, document, "IRRELEVANT", kind)


def _undecided(
    one: _Read,
    others: Sequence[_Read],
    at: int,
    document: str,
    pool: names.Names,
    rng: Random,
) -> Iterator[tuple[str, str]]:
    """Claims on the topic that a document neither bears out nor rules out."""
    found: list[tuple[str, str]] = []
    apart = [place for place in one.claims if abs(place - at) > 1]
    if apart:
        found.append((one.sentences[rng.choice(apart)], "elsewhere"))
    near = [other for other in others if other.claims]
    if near:
        other = rng.choice(near)
        found.append((other.sentences[rng.choice(other.claims)], "neighbour"))
    for claim, kind in found:
        if _ON_TOPIC <= coverage(claim, document) < _DECIDED:
            said = reworded(claim, rng)[0]
            changed = [text for _, text in contradictions(claim, rng, pool)]
            if changed and rng.random() < _EDITED:
                said = rng.choice(changed)
            yield said, kind
    swapped = names.change_subject(one.sentences[at], rng, pool)
    if swapped and not set(re.findall(r"\w+", swapped)) <= set(re.findall(r"\w+", document)):
        yield swapped, "change_subject"


def _balanced(pairs: Iterator[Pair], rng: Random) -> Iterator[Pair]:
    by_label: dict[Label, list[Pair]] = {"SUPPORTS": [], "CONTRADICTS": [], "IRRELEVANT": []}
    for pair in pairs:
        by_label[pair.label].append(pair)
    most = max(1, len(by_label["CONTRADICTS"]))
    for found in by_label.values():
        yield from rng.sample(found, min(most, len(found)))


def _window(sentences: Sequence[str], at: int, rng: Random) -> tuple[int, int]:
    """Sentences in a row around one, of a length left to chance."""
    words, first, last = rng.choice(_LENGTHS), at, at + 1
    while sum(len(one.split()) for one in sentences[first:last]) < words:
        sides = [side for side, room in ((-1, first > 0), (1, last < len(sentences))) if room]
        if not sides:
            break
        if rng.choice(sides) < 0:
            first -= 1
        else:
            last += 1
    return first, last


def _merged(sentences: Sequence[str], at: int, last: int, rng: Random) -> str | None:
    if at + 1 >= last or rng.random() > 0.15 or not is_claim(sentences[at + 1]):
        return None
    return rewording.merge(sentences[at], sentences[at + 1])


def _both_reworded(sentence: str, changed: str, rng: Random) -> tuple[str, str] | None:
    """A sentence and its opposite in other words, None where these leave out what tells them apart.

    A clause that is dropped may be the one that was made false. Reworded by the same chances, both
    would then read the same.
    """
    seed = rng.random()
    true, false = (
        reworded(text, Random(seed))[0]  # noqa: S311 - no secret
        for text in (sentence, changed)
    )
    if claim_key(true) == claim_key(false):
        return None
    return true, false


def _says(rest: str, said: str, instead: str) -> bool:
    """Whether the rest of a document has the numbers or names that one sentence has of two."""
    own = set(_TELLING.findall(said)) - set(_TELLING.findall(instead))
    return bool(own & set(_TELLING.findall(rest)))


_TELLING = re.compile(r"\d[\d.,]*\d|\d|[A-Z]\w+")
