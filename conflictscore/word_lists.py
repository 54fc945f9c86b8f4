"""Words that deny and words that state nothing, in many languages; see ``word_lists.toml``.

All exported words except ``PHRASES`` are folded (``scripts.fold``), whether or not the file has
them in that form. Words must be folded before they are compared with these lists.
"""

import re
import tomllib
from importlib.resources import files

from conflictscore.scripts import fold

STEM = 6
"""Words that share a prefix of this length count as the same, such as "opened" and "opening". A
shorter prefix would join different words ("contra…"), and a longer one would keep more endings
apart. Chosen by hand."""
# Minimum number of letters that remain when the ending of a word is removed, so that "seed" does
# not become "se".
_LEAST_STEM = 3

# English endings that may differ between two forms of a word.
_ENDING = re.compile(r"(?:ings?|edly|ed|en|ers?|es|ly|s|e)$")

_LISTS = tomllib.loads((files(__package__) / "word_lists.toml").read_text(encoding="utf-8"))

NEGATIONS = frozenset(fold(_LISTS["negations"]).split())
"""Folded words that deny something, in languages with spaces between words."""
_SHORTENED = re.compile(r"\b\w{2,9}n'(?=t\b)|\bn'(?=[a-z])")
"""Matches the negation in English "isn't" and "can't" and in French "n'est"."""
# The beginning of African names such as "N'Djamena", which is no French negation. Case tells them
# apart, so the pattern is applied before a text is folded.
_NAME_WITH_N = re.compile(r"\b[Nn]['\u2019](?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(
    # Chinese denials, except in the words for "but", "not only", "different", "continually",
    # "soon", "many", "Bhutan" and "Britain"; "sink" and "flood"; "regardless" and the Japanese word
    # for "free of charge"; "future"; "very", "Africa" and "unless"; and "whether"
    "\u4e0d(?![\u8fc7\u904e\u4ec5\u50c5\u4f46\u540c\u65ad\u65b7\u4e45\u5c11\u4e39]|\u5217[\u98a0\u985b])"
    "|(?<![\u6c89\u6df9])[\u6ca1\u6c92]|\u65e0(?!\u8bba)|\u7121(?![\u8ad6\u6599])"
    "|\u672a(?![\u6765\u4f86])|(?<!\u9664)\u975e(?![\u5e38\u6d32])|(?<![\u662f\u80fd\u53ef])\u5426"
    # Japanese, except in the words for "few" and "dangerous"
    "|(?<![\u5c11\u5371])\u306a(?:\u3044|\u304b\u3063)|\u307e\u305b\u3093|\u305a\u306b"
    # Korean, Thai, Burmese
    "|\uc54a|\uc5c6|\uc544\ub2c8|\ubabb\ud558|\uae08\uc9c0|\u0e44\u0e21\u0e48|\u0e2b\u0e49\u0e32\u0e21"
    "|\u1019\u101f\u102f\u1010\u103a|\u1019\u101b\u103e\u102d"
)


def stem(word: str) -> str:
    """Return the letters that all forms of a folded word share: "open" for "opens" and "opening".

    English inflections and everything after the first six letters are removed. In other languages,
    this rule also removes letters that are not part of an ending, but always in the same way.
    """
    bare = _ENDING.sub("", word)
    if len(bare) < _LEAST_STEM:
        bare = word
    if len(bare) > _LEAST_STEM and bare[-1] == bare[-2]:  # "stopped" comes from "stop"
        bare = bare[:-1]
    if bare.endswith("y"):  # "carries" comes from "carry"
        bare = bare[:-1] + "i"
    return bare[:STEM]


def _stems(*names: str) -> frozenset[str]:
    return frozenset(stem(word) for name in names for word in fold(_LISTS[name]).split())


FUNCTION_WORDS = frozenset(fold(_LISTS["function_words"]).split())
COURTESIES = _stems("courtesies", "unspaced_courtesies")
"""Stems of words that state nothing without other words."""
PHRASES: list[str] = _LISTS["phrases"]
"""Phrases that state nothing, in lower case."""
REFUSALS = _stems("refusals")
"""Stems of words used in refusals, whose "not" denies no fact."""
SOURCE_NOUNS = _stems("source_nouns")
"""Stems of words with which an answer refers to its documents."""
CONFLICT_WORDS = _stems("conflict_words")
"""Stems of words that say that documents disagree."""
SYMMETRIC = _stems("symmetric")
"""Stems of symmetric words, such as "borders"."""
REMARKS = _stems("source_nouns", "remarks", "conflict_words")
"""Stems of words used in remarks on how far the documents agree."""


PASSIVE = frozenset(fold(_LISTS["passive"]).split())
"""Auxiliaries of the passive voice."""
AGENTS = frozenset(fold(_LISTS["agents"]).split())
"""Prepositions that introduce the agent of a passive sentence."""
AUXILIARIES = frozenset(fold(_LISTS["auxiliaries"]).split())
"""Auxiliaries that stand between a subject and an object in some languages."""
# Italian and Spanish "s\u00ec" and "s\u00ed" lose their accent when they are folded. In other
# languages, a bare yes remains an informative word, which claims may repeat.
YES = frozenset(stem(word) for word in ("yes", "ja", "oui", "si"))
"""Stems of words that mean yes, in the languages for which answers are searched for a yes or no."""
IRREGULAR = {
    form: forms.split()[0] for forms in map(fold, _LISTS["irregular"]) for form in forms.split()
}
"""Base forms of English words whose stem changes, such as "write" for "wrote"."""
HEDGES = [tuple(part.split() for part in line.split("|")) for line in map(fold, _LISTS["hedges"])]
"""For each meaning, words that hedge a statement, and words of an answer that justify such a
hedge in a claim."""
# A hedge limits a statement as "only" does: a claim without it says more than the answer.
_LIMITING = [*map(str.split, map(fold, _LISTS["limits"])), *(words for words, _ in HEDGES)]
LIMITS = {word: number for number, words in enumerate(_LIMITING) for word in words}
"""Words that limit a statement, such as "only", each with the index of its meaning."""
BOUNDS = [fold(line).split("|") for line in _LISTS["bounds"]]
"""Phrases that turn an adjacent number into a bound, such as "at least", by meaning."""


def negations_in(text: str) -> frozenset[str]:
    """Return the words of denial in a text; empty if there are none."""
    plain = fold(_NAME_WITH_N.sub("", text))
    words = NEGATIONS.intersection(_WORD.findall(plain))
    # the pattern has no Latin letters, so most texts need not be searched
    parts_of_words = () if text.isascii() else _UNSPACED.findall(plain)
    return frozenset([*words, *_SHORTENED.findall(plain), *parts_of_words])
