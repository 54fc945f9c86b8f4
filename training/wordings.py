"""Turns a question and its answer into a claim, in the many ways in which claims are worded."""

import re
from random import Random
from typing import NamedTuple

# Shares of the claims with each kind of wording; they were chosen, not measured.
_NEGATED = 0.08
_SAID = 0.45
"""Share of the claims that are statements, if the form of the question allows one."""
_SHORT = 0.2  # the question, followed by the answer
_WITHIN = 0.2  # inside a phrase such as "As far as is known"
_HEDGED = 0.1

_FEW_WORDS = 8
"""Maximum number of words of an answer from which a sentence is made."""
_YES_OR_NO = re.compile(r"(?:yes|no|true|false)\b", re.IGNORECASE)

_ASKED = (
    'The answer to the question "{question}" is {answer}.',
    "The answer to the question “{question}” is {answer}.",
    "The answer to “{question}” is {answer}.",
)
_NOT_ASKED = 'The answer to the question "{question}" is not {answer}.'
_SHORTLY = ("{question} {answer}", "{question} {answer}.", "Question: {question} Answer: {answer}")
_FRAMES = (
    "As far as is known, {claim}",
    "According to the records, {claim}",
    "Those who have looked into it say that {claim}",
    "It is worth knowing that {claim}",
)
_HEDGES = ("Probably {claim}", "It seems that {claim}", "It is likely that {claim}")

_IS_OF = re.compile(r"(?:Who|What|Which) (is|was|are|were) (the .+)\?")
_KIND = re.compile(
    r"What (?:sport|instrument|genre|war|type of music) (is|was) (.+) (associated with|known for)\?"
)
_KNOWN = re.compile(r"What (is|was) (.+) (known for|named after|made of|used for)\?")
_PROFESSION = re.compile(r"What (is|was) (.+?)['’]s? (\w+(?: \w+)?)\?")
_WHEN = re.compile(r"When (was|were) (.+?) ((?:first )?\w+(?:ed|ilt|rn|un|ld))\?")
_WHERE = re.compile(r"Where (is|was|are|were) (.+?) (located|born|buried|published|situated)\?")
_DONE = {
    "designed": "design", "directed": "direct", "wrote": "write", "founded": "found",
    "composed": "compose", "built": "build", "discovered": "discover", "painted": "paint",
    "invented": "invent", "won": "win", "played": "play",
}  # fmt: skip
_WHO_DID = re.compile(rf"Who ({'|'.join(_DONE)}) (.+)\?")
_PAST = {
    "begin": "began", "come out": "came out", "die": "died", "end": "ended", "leave": "left",
    "open": "opened", "start": "started", "take place": "took place",
}  # fmt: skip
_WHEN_DID = re.compile(rf"When did (.+?) ({'|'.join(_PAST)})\?")
_DAY = re.compile(r"\b\d{1,2}\b.*\b\d{4}\b")


class Statement(NamedTuple):
    """The statement that an answer to a question makes, and its opposite."""

    text: str
    negated: str


class Wording(NamedTuple):
    """A claim.

    Attributes:
        claim: The claim.
        kind: How it is worded, such as ``asked`` or ``statement_within``.
        negated: Whether it denies the answer.
    """

    claim: str
    kind: str
    negated: bool = False


def asked(question: str, answer: str) -> str:
    """Return the claim that repeats the question, which is the form used for measuring."""
    return _ASKED[0].format(question=question, answer=_bare(answer))


def statement(question: str, answer: str) -> Statement | None:
    """Return an answer to a question as a sentence; None if the question's form is unknown."""
    answer = _bare(answer)
    place = "on" if _DAY.search(answer) else "in"
    if found := _KIND.fullmatch(question):
        return _of(found[2], found[1], f"{found[3]} {answer}")
    if found := _KNOWN.fullmatch(question):
        return _of(found[2], found[1], f"{found[3]} {answer}")
    if found := _WHEN.fullmatch(question):
        return _of(found[2], found[1], f"{found[3]} {place} {answer}")
    if found := _WHERE.fullmatch(question):
        return _of(found[2], found[1], f"{found[3]} in {answer}")
    if found := _WHO_DID.fullmatch(question):
        did, what = found[1], found[2]
        return Statement(f"{answer} {did} {what}.", f"{answer} did not {_DONE[did]} {what}.")
    if found := _WHEN_DID.fullmatch(question):
        who, does = _begin(found[1]), found[2]
        return Statement(
            f"{who} {_PAST[does]} {place} {answer}.", f"{who} did not {does} {place} {answer}."
        )
    if found := _IS_OF.fullmatch(question):
        return _of(found[2], found[1], answer)
    if found := _PROFESSION.fullmatch(question):
        return _of(f"the {found[3]} of {found[2]}", found[1], answer)
    return None


def worded(question: str, answer: str, rng: Random) -> Wording:
    """Return a claim in a random wording.

    Args:
        question: The question, with its question mark.
        answer: The answer: short, or a sentence.
        rng: Decides which wording.
    """
    brief = len(answer.split()) <= _FEW_WORDS and not _YES_OR_NO.match(answer)
    said = statement(question, answer) if brief else None
    negated = brief and rng.random() < _NEGATED
    if said is not None and rng.random() < _SAID:
        found = Wording(said.negated if negated else said.text, "statement", negated)
    elif negated:
        claim = _NOT_ASKED.format(question=question, answer=_bare(answer))
        found = Wording(claim, "asked", negated)
    elif rng.random() < _SHORT:
        form = rng.choice(_SHORTLY)
        return Wording(form.format(question=question, answer=_bare(answer)), "short")
    else:
        claim = rng.choice(_ASKED).format(question=question, answer=_bare(answer))
        found = Wording(claim, "asked")
    lot = rng.random()
    if lot < _WITHIN:
        return _framed(found, rng.choice(_FRAMES), "within")
    if lot < _WITHIN + _HEDGED and not negated:
        return _framed(found, rng.choice(_HEDGES), "hedged")
    return found


def _framed(wording: Wording, frame: str, kind: str) -> Wording:
    claim = wording.claim
    within = claim[0].lower() + claim[1:] if claim.startswith(("The ", "A ", "An ")) else claim
    return Wording(frame.format(claim=within), f"{wording.kind}_{kind}", wording.negated)


def _of(subject: str, verb: str, rest: str) -> Statement:
    return Statement(f"{_begin(subject)} {verb} {rest}.", f"{_begin(subject)} {verb} not {rest}.")


def _begin(text: str) -> str:
    return text[0].upper() + text[1:]


def _bare(answer: str) -> str:
    return answer.strip().rstrip(".") or answer
