"""Writing the outcome of a second look into a passage, without a model where that is possible."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby

from conflictscore.active_content import added_active_content
from conflictscore.answering.statements import (
    answer_span,
    is_about,
    numbers_in,
    opposite,
    telling_terms,
)
from conflictscore.prompts import material_line
from conflictscore.records import (
    Candidate,
    Claim,
    ClaimEvidence,
    Document,
    EvidenceLabel,
    Label,
    SecondLook,
)

_TOKEN = re.compile(r"\w+|[^\w\s]")
_MOST_TOKENS = 80  # of a statement that is compared token by token, which takes quadratic time
_MOST_CHARS = 400
"""Of a span that is looked for: at each place in a text, it may be read to its end."""
_ENDS = " .!\u3002"
_CITED = re.compile(r"[ \t]?\[(\d{1,3})\]")
_LAST_CITATIONS = re.compile(r"(?<!\])(?<!\][ \t])(?:[ \t]?\[\d{1,3}\])++(?=[.!?]?$)")
_CITATIONS = re.compile(r"(?:[ \t]?\[\d{1,3}\])+")
_NAME_CHARS = 70
_MOST_NAMES = 3
_MOST_PASSED_OVER = 2
"""Telling words of a change that its claims may leave out; a number is one too many."""


def spliced_span(passage: str, claim: str, rival: str, others: Sequence[str] = ()) -> str | None:
    """A passage with the one span changed in which a rival differs from the passage's claim.

    The span may be the one number in which they differ. None where they differ in more, it does not
    stand in the passage exactly once, or another claim of the passage needs it.
    """
    for old, new in filter(None, (_other_number(claim, rival), _differing(claim, rival))):
        changed = _with(new, old, passage)
        if changed is not None and not any(old in text for text in others):
            return changed
    return None


def with_other_number(claim: str, rival: str) -> str | None:
    """A claim with the number of a rival; None where it is not one number in which they differ."""
    numbers = _other_number(claim, rival)
    return numbers and _with(numbers[1], numbers[0], claim)


def with_other_answer(claim: str, answer: str, question: str) -> str | None:
    """A claim with an answer that is a mere name or number in the place of its own; None elsewhere.

    "By Ada Lowe." beside the claim "The map was drawn by Ida Reeve" is "The map was drawn by Ada
    Lowe": a labeler reads a full sentence better, and an answer that names both sides needs one.
    """
    place, span = answer_span(claim, question), answer_span(answer, question, alone=True)
    if place is None or span is None or not is_about(claim, question):
        return None
    return claim[: place[0]] + answer[slice(*span)] + claim[place[1] :]


def _with(new: str, old: str, text: str) -> str | None:
    """A text with one span changed; None where it does not stand there exactly once."""
    if len(old) > _MOST_CHARS:
        return None
    places = [*re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", text)]
    if len(places) != 1:
        return None
    return text[: places[0].start()] + new + text[places[0].end() :]


def _other_number(claim: str, rival: str) -> tuple[str, str] | None:
    one, other = numbers_in(claim), numbers_in(rival)
    if len(one - other) == 1 and len(other - one) == 1:
        return min(one - other), min(other - one)
    return None


def _differing(claim: str, rival: str) -> tuple[str, str] | None:
    one, other = claim.strip(_ENDS), rival.strip(_ENDS)
    spans = [[match.span() for match in _TOKEN.finditer(text)] for text in (one, other)]
    if not all(0 < len(each) <= _MOST_TOKENS for each in spans):
        return None
    words = [
        [text[a:b].casefold() for a, b in each]
        for text, each in zip((one, other), spans, strict=True)
    ]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(changed) != 1 or changed[0][0] != "replace":
        return None
    _, a, b, c, d = changed[0]
    if 2 * (b - a) > len(words[0]):  # they share too little to be the same sentence
        return None
    old = one[spans[0][a][0] : spans[0][b - 1][1]]
    new = other[spans[1][c][0] : spans[1][d - 1][1]]
    return old, new


def replaced(
    passage: str, look: SecondLook, others: Sequence[str] = (), *, alone: bool = False
) -> str | None:
    """A passage that says what the rival says; None where only a reader of it can write that.

    A bare yes or no becomes its opposite. A span in which claim and rival differ is changed. A
    sentence that makes no other claim becomes the rival's, as does an answer that is this passage
    alone. A cell of a table, a heading or a line of code takes a writer.
    """
    claim, rival = _sides(look)
    if (denied := opposite(passage, look.question)) is not None:
        return denied
    passage = _cited_anew(passage, claim, rival)
    spliced = spliced_span(passage, claim.statement, rival.statement, others)
    sentence = passage.rstrip(" *_)\"'\u201d")[-1:] in ".!?\u3002" or _CITED.search(passage)
    if spliced is not None or others or not (alone or sentence):
        return spliced
    return f"{rival.statement.rstrip(_ENDS)}{'.' if sentence else ''}"


def hedged(
    passage: str, look: SecondLook, documents: Sequence[Document], others: Sequence[str] = ()
) -> str:
    """A passage that names what either side says and its documents, the better witnessed first.

    A passage that makes further claims stays as it is, beside a sentence about the other side.
    """
    claim, rival = _sides(look)
    cited = _cites(passage, claim)
    by_claim, by_rival = (
        named(side, documents, cited=True) if cited else f"({named(side, documents)})"
        for side in (claim, rival)
    )
    rival_first = rival.worth > claim.worth
    if others:
        if rival_first:
            return f"{rival.statement.rstrip(_ENDS)} {by_rival}, but other sources say: {passage}"
        told = passage.rstrip()
        end = "" if told[-1:] in ".!?\u3002" or told[-1:] in "]*_)" else "."
        return f"{told}{end} Other sources disagree: {rival.statement.rstrip(_ENDS)} {by_rival}."
    # the documents are named here, so the passage's own citations go
    told = _LAST_CITATIONS.sub("", passage.strip()).rstrip(_ENDS)
    if (denied := opposite(passage, look.question)) is not None:
        instead = denied.strip().rstrip(_ENDS)
    else:
        spliced = spliced_span(told, claim.statement, rival.statement)
        instead = (spliced or rival.statement).strip().rstrip(_ENDS)
    sides = [f"{told} {by_claim}", f"{instead} {by_rival}"]
    return f"Sources disagree: {'; '.join(reversed(sides) if rival_first else sides)}."


def _cites(passage: str, claim: Candidate) -> bool:
    """Whether a passage cites documents by our numbers: all that it cites support its claim."""
    cited = {int(number) for number in _CITED.findall(passage)}
    return bool(cited) and cited <= {*claim.votes, *claim.evidence.supports}


def _cited_anew(passage: str, claim: Candidate, rival: Candidate) -> str:
    """A passage whose one run of citations names the rival's documents; others stay."""
    runs = [*_CITATIONS.finditer(passage)]
    if len(runs) != 1 or not _cites(passage, claim):
        return passage
    space = " " if runs[0][0][0] == " " else ""
    numbers = "".join(f"[{number}]" for number in rival.votes or rival.evidence.supports)
    return passage[: runs[0].start()] + space + numbers + passage[runs[0].end() :]


def named(side: Candidate, documents: Sequence[Document], *, cited: bool = False) -> str:
    """The documents behind a candidate, near-copies once: by their titles, or cited by number."""
    behind = set(side.votes or side.evidence.supports)
    known = [document for document in documents if document.number in behind]
    ordered = sorted(known, key=lambda d: (d.duplicate_of or d.number, d.number))
    first = [next(same) for _, same in groupby(ordered, key=lambda d: d.duplicate_of or d.number)]
    if cited:
        return "".join(f"[{document.number}]" for document in first)
    names = [_name(document) for document in first[:_MOST_NAMES]]
    if more := len(first) - len(names):
        names.append(f"{more} more")
    return ", ".join(names)


def _name(document: Document) -> str:
    """A title in quotation marks; of a document without one, or with markup in it, its number."""
    title = material_line(document.title).strip(" \"'“”")
    plain = (
        title and not added_active_content("", title) and not re.search(r"[*_`\[\]|<>\\]", title)
    )
    if not plain:
        return f"document {document.number}"
    return f"“{title if len(title) <= _NAME_CHARS else f'{title[:_NAME_CHARS].rstrip()}…'}”"


def _sides(look: SecondLook) -> tuple[Candidate, Candidate]:
    if look.rival is None:
        raise ValueError("a look without a rival changes nothing")
    return look.candidates[0], look.candidates[look.rival]


def hedge_evidence(look: SecondLook) -> ClaimEvidence:
    """A dispute that is told, as one claim with its labels.

    By the paper's rule for hedged claims (section 3): a document supports it that supports either
    side, and contradicts it where it contradicts both.
    """
    own, rival = (look.candidates[place].evidence for place in (0, look.rival or 0))
    text = f"Sources disagree: {own.claim.text.rstrip('.')}; {rival.claim.text.rstrip('.')}."
    other = {pair.document: pair for pair in rival.labels}
    labels = tuple(_either(pair, other.get(pair.document, pair)) for pair in own.labels)
    return ClaimEvidence(claim=Claim(number=own.claim.number, text=text), labels=labels)


def _either(one: EvidenceLabel, other: EvidenceLabel) -> EvidenceLabel:
    for pair in (one, other):
        if pair.label is Label.SUPPORTS:
            return pair
    if one.label is other.label:
        return one
    return next((pair for pair in (one, other) if pair.label is Label.IRRELEVANT), one)


def passed_over(after: str, before: str, claims: Sequence[str], question: str) -> str | None:
    """The words of a change that none of its claims has; None for at most two and no number."""
    known = telling_terms(before) | telling_terms(question)
    known = known.union(*map(telling_terms, claims))
    left = sorted(telling_terms(after) - known)
    number = any(any(map(str.isdigit, word)) for word in left)
    return ", ".join(left) if number or len(left) > _MOST_PASSED_OVER else None
