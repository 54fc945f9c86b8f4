"""Turning a direction, a degree or a side into its opposite."""

import re
from random import Random

from training.edits.edit import NEGATION, asserts, match_case

__all__ = ["turn_comparison"]

_DIRECTIONS = """
    increase/decrease increases/decreases increased/decreased increasing/decreasing
    improve/worsen improves/worsens improved/worsened improving/worsening
    accelerates/slows accelerated/slowed strengthens/weakens strengthened/weakened
    expands/shrinks expanded/shrank causes/prevents caused/prevented succeeded/failed
    accepted/rejected won/lost above/below before/after positively/negatively
    frequently/rarely often/rarely always/never
    highest/lowest largest/smallest biggest/smallest greatest/smallest strongest/weakest
    oldest/youngest longest/shortest tallest/shortest fastest/slowest warmest/coolest
    hottest/coldest richest/poorest deepest/shallowest earliest/latest
    majority/minority north/south east/west northern/southern eastern/western
"""
_DEGREES = """
    higher/lower larger/smaller bigger/smaller greater/smaller stronger/weaker older/younger
    longer/shorter taller/shorter faster/slower warmer/cooler hotter/colder richer/poorer
    heavier/lighter deeper/shallower earlier/later more/less better/worse
"""
_QUALITIES = """
    effective/ineffective safe/unsafe legal/illegal healthy/unhealthy stable/unstable common/rare
    successful/unsuccessful beneficial/harmful present/absent
"""


def _both_ways(pairs: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for one, other in (pair.split("/") for pair in pairs.split()):
        found.setdefault(one, other)
        found.setdefault(other, one)
    return found


_SAFE, _COMPARED, _SAID = map(_both_ways, (_DIRECTIONS, _DEGREES, _QUALITIES))
_OPPOSITES = _SAFE | _COMPARED | _SAID
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_FIXED = re.compile(
    r"\bmore or less\b|\bat (?:least|most)\b|\bno (?:more|less)\b|\bbefore and after\b"
    r"|\b(?:the|even|far|once|any|much|many) (?:more|less|before|after)\b|\bafter all\b"
    r"|\b(?:well|shortly|soon|long|day|years?) (?:before|after)\b"
    r"|\b(?:before|after) (?:that|which)\b|\b(?:sooner|later) or (?:sooner|later)\b"
    r"|\b(?:look(?:s|ed|ing)?|named|called|modell?ed) after\b"
    r"|\bcauses (?:of|and|for|include)\b|\b(?:the|main|other|many|possible|root|its|all) causes\b",
    re.IGNORECASE,
)
_PLACES = frozenset(
    ["north", "south", "east", "west", "northern", "southern", "eastern", "western"]
)
_BE = re.compile(
    r"\b(?:is|are|was|were|been|be|remain(?:s|ed)?|become|became)"
    r"(?: (?:very|highly|more|less|also|significantly|much|slightly|far|generally|quite|so))?\s$"
)
_MEASURED = re.compile(
    r"\s(?:\w+ )?(?:risk|rates?|levels?|mortality|incidence|prevalence|likelihood|odds|costs?"
    r"|prices?|concentrations?|temperatures?|proportion|number|expression|frequency|scores?|likely)\b"
)


def turn_comparison(sentence: str, rng: Random) -> str | None:
    """Turn the one word of a sentence that says a direction, a degree or a side.

    Not where there are two such words, since both turned may say the same again; where there is a
    negation, since the opposite of what is denied may be denied too; in a name; or where the word
    only picks what is spoken of: younger adults do not make false what is said of older ones, nor
    does what followed a war make false what came before it.
    """
    if not asserts(sentence) or NEGATION.search(sentence) or _FIXED.search(sentence):
        return None
    found = [word for word in _WORD.finditer(sentence) if word[0].lower() in _OPPOSITES]
    if len(found) != 1 or not _decides(sentence, found[0]):
        return None
    word = found[0]
    turned = match_case(_OPPOSITES[word[0].lower()], word[0])
    return sentence[: word.start()] + turned + sentence[word.end() :]


def _decides(sentence: str, word: re.Match[str]) -> bool:
    text, before, after = word[0], sentence[: word.start()], sentence[word.end() :]
    if before.endswith("-") or after.startswith("-") or (text[:1].isupper() and before):
        return False
    text = text.lower()
    if text in _PLACES:
        return bool(before) and not re.match(r"\s+[A-Z]", after)
    if text in {"before", "after"} and not before:
        return False
    if text in _SAFE:
        return text not in {"majority", "minority"} or after.startswith(" of ")
    if text in _COMPARED:
        compares = re.match(r"(?: [a-z]+){0,3} than (?!\d)", after) is not None
        if text in {"more", "less"}:
            return compares and not after.startswith(" than")
        measured = text in {"higher", "lower", "greater", "smaller"} and _MEASURED.match(after)
        return compares or bool(measured) or bool(_BE.search(before))
    return bool(_BE.search(before))
