"""Splits passages into sentences, and finds those that say little about a claim."""

import re

_ABBREVIATIONS = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|al|Fig|Figs|No|Inc|Ltd|Co|Corp|approx|ca|cf|e\.g|i\.e"
    r"|U\.S|U\.K|U\.N|Gen|Col|Lt|Rev|Sen|Rep|Gov|Mt|Vol|pp|ed|eds|[A-Z])\.$"
)
_END = re.compile(r"(?<=[.!?…])([\"'”’)\]]*)\s+(?=[\"'“‘(\[]?[A-Z0-9])|()\s*\n\s*")
_TOKEN = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_STOP_WORDS = """
    a an the of in on at to for from by with and or but nor as is are was were be been being has
    have had do does did it its this that these those he she they his her their we our you your i
    not no than then so such can could may might will would shall should must also which who whom
    whose what when where why how there here into over under about after before between during
    through more most less least very some any all each every both other another same own one
"""
_SAYS = 0.45  # share of a claim's content words from which a sentence may decide the claim
_RUN_WORDS = 25, 120  # lengths of the passages on which the model is trained
_STOP = frozenset(_STOP_WORDS.split())


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, with collapsed white space; headings count as sentences."""
    parts: list[str] = []
    start = 0
    for mark in _END.finditer(text):
        end = mark.end(1) if mark[1] is not None else mark.start()
        if "\n" not in mark[0] and _ABBREVIATIONS.search(text[start:end]):
            continue
        parts.append(" ".join(text[start:end].split()))
        start = mark.end()
    parts.append(" ".join(text[start:].split()))
    return [part for part in parts if part]


def content_words(text: str) -> frozenset[str]:
    """Return the words and numbers that carry a text's meaning, without endings."""
    found = (word.lower() for word in _TOKEN.findall(text))
    return frozenset(_stem(word) for word in found if word not in _STOP)


def coverage(claim: str, text: str) -> float:
    """Return the share (0 to 1) of a claim's content words that a text has; 1 if it has none."""
    words = content_words(claim)
    return len(words & content_words(text)) / len(words) if words else 1.0


def silent_runs(text: str, claim: str) -> list[str]:
    """Return passages of whole sentences, of 25 to 120 words, that say little about a claim.

    Each sentence has less than .45 of the claim's content words. So a passage may be on the claim's
    topic, but neither supports nor contradicts the claim. For an empty claim, every
    sentence says little.
    """
    runs: list[list[str]] = [[]]
    for sentence in sentences_of(text):
        if claim and coverage(claim, sentence) >= _SAYS:
            runs.append([])
        else:
            if len(" ".join([*runs[-1], sentence]).split()) > _RUN_WORDS[1]:
                runs.append([])
            runs[-1].append(sentence)
    found = (" ".join(run) for run in runs)
    return [run for run in found if _RUN_WORDS[0] <= len(run.split()) <= _RUN_WORDS[1]]


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
