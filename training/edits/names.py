"""Another name in the place of one, where only one can be right, or as another subject."""

import re
from collections.abc import Sequence
from random import Random

from training.edits.edit import MONTHS, asserts, denies

__all__ = ["Names", "change_name", "change_subject", "collect_names"]

_NAME = r"[A-Z][\w'’.-]*[\w](?: (?:(?:of|de|van|von|the) )?[A-Z][\w'’.-]*[\w])*"
_PLACE = re.compile(
    r"\b((?:born|died|buried|raised|located|situated|based|headquartered|built|held|filmed)"
    r" (?:in|at)|capital of|native of|mayor of|king of|queen of|president of)"
    rf" ({_NAME})"
)
_MAKER = re.compile(
    r"\b((?:founded|written|directed|designed|invented|discovered|composed|painted|produced|won"
    r"|created|built|developed|published|developed|succeeded|defeated|killed|owned|led) by|son of"
    rf"|daughter of|married to) ({_NAME})"
)
_SUBJECT = re.compile(rf"^((?:The )?{_NAME})(?= (?:is|was|has|became|opened|received)\b)")
_SEVERAL = re.compile(r"\s*(?:,|and|or|&|/)\s*(?:the )?[A-Z]")
_NO_NAME_WORDS = """
    I It He She They We This That These Those There In On At The A An Each Every Another Other
    Many Most Some All Both One Two Three First Second Third Fourth Last Also Today Now Here What
    Who
"""
_NO_NAME = frozenset(_NO_NAME_WORDS.split())


class Names:
    """Names that texts put in a place of one kind, to be exchanged for one another."""

    def __init__(
        self, places: Sequence[str], makers: Sequence[str], subjects: Sequence[str]
    ) -> None:
        self.places = sorted(set(places))
        self.makers = sorted(set(makers))
        self.subjects = sorted(set(subjects))


def collect_names(sentences: Sequence[str]) -> Names:
    """The names that stand in the places that the edits of this module change."""
    places: list[str] = []
    makers: list[str] = []
    subjects: list[str] = []
    for sentence in sentences:
        places += [found[2] for found in _named(_PLACE, sentence)]
        makers += [found[2] for found in _named(_MAKER, sentence)]
        subjects += [found[1] for found in _SUBJECT.finditer(sentence) if _is_name(found[1])]
    return Names(places, makers, subjects)


def change_name(sentence: str, rng: Random, names: Names) -> str | None:
    """Put another place or maker where there is but one: "born in", "written by".

    Elsewhere both can be true: who has a house in Vienna may have one in Rome.
    """
    if not asserts(sentence) or denies(sentence):
        return None
    found = [(match, names.places) for match in _named(_PLACE, sentence)]
    found += [(match, names.makers) for match in _named(_MAKER, sentence)]
    found = [one for one in found if not _SEVERAL.match(sentence[one[0].end() :])]
    if not found:
        return None
    match, pool = rng.choice(found)
    other = _other(match[2], pool, sentence, rng)
    return None if other is None else sentence[: match.start(2)] + other + sentence[match.end(2) :]


def change_subject(sentence: str, rng: Random, names: Names) -> str | None:
    """Say the same of somebody else, of whom the passage then says nothing.

    Not where there can be only one, as with a first, a largest or a winner: that is contradicted.
    """
    if re.search(r"\b(?:first|only|last|won|winner|capital|\w+est|most|the same)\b", sentence):
        return None
    match = _SUBJECT.match(sentence)
    if match is None or not _is_name(match[1]):
        return None
    other = _other(match[1], names.subjects, sentence, rng)
    return None if other is None else other + sentence[match.end() :]


def _named(where: re.Pattern[str], sentence: str) -> list[re.Match[str]]:
    """Where a name stands; "built in March" has none."""
    return [found for found in where.finditer(sentence) if found[2].split()[0] not in MONTHS]


def _is_name(text: str) -> bool:
    words = text.split()
    return words[0] not in _NO_NAME or (words[0] == "The" and len(words) > 2)


def _other(name: str, pool: Sequence[str], sentence: str, rng: Random) -> str | None:
    """Another name of about as many words that shares no word with the sentence."""
    said = {word.lower() for word in re.findall(r"\w+", sentence)} - {"the", "of", "de", "van"}
    for _ in range(8):
        if not pool:
            return None
        other = rng.choice(pool)
        words = {word.lower() for word in re.findall(r"\w+", other)}
        alike = abs(len(other.split()) - len(name.split())) <= 1
        if alike and not words & said and other.startswith("The ") == name.startswith("The "):
            return other
    return None
