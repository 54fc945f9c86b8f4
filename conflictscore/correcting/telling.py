"""Writes an unsettled dispute, or several things of one name, into a passage.

It is one sentence in the answer's language, with each value followed by its sources. If the project
has no words for the language, the passage is kept.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePosixPath

from conflictscore.answering.languages import LANGUAGES, Language, language_of
from conflictscore.answering.statements import opposite
from conflictscore.answering.values import values_in
from conflictscore.correcting.citing import citations_of, without_last_citations
from conflictscore.correcting.riders import is_name
from conflictscore.correcting.wording import ENDS, sides_of, spliced_spans
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

_NAME_CHARS = 70
_MOST_NAMES = 3
_SHORT_TAIL = 2  # words behind a value that are told with it
_NAME_BEFORE = re.compile(
    r"(?<=[^.!?\s]\s)(?P<name>(?:(?:[Aa]n?|[Tt]he|[A-Z][\w'-]{0,30})\s){1,4})$"
)
_NAME_AFTER = re.compile(r"(?:\s[A-Z][\w'-]{0,30}){1,4}")


def language_to_tell_in(passage: str, *more: str) -> Language | None:
    """The language that a passage is written in, by its answer and question if it is too short.

    English where nothing tells another one and all is written in plain letters; None for a language
    that the project has no words for.
    """
    code = language_of(passage, *more)
    if code is None:
        code = "en" if "".join((passage, *more)).isascii() else ""
    return LANGUAGES.get(code)


def hedged(
    passage: str,
    look: SecondLook,
    documents: Sequence[Document],
    others: Sequence[str] = (),
    language: Language | None = LANGUAGES["en"],
) -> str | None:
    """A passage that names what either side says and its documents, the better witnessed first.

    Where one value or name tells the sides apart, both stand in its place. A passage that makes
    further claims stays as it is, before a sentence about the other side. None where the project
    has no words for it in the passage's language, or the rival is worded in another one.
    """
    if language is None or language.disagree is None:
        return None
    claim, rival = sides_of(look)
    is_cited_by_number = citations_of(passage, claim, documents)
    by_claim, by_rival = (
        named(side, documents, by_number=True)
        if is_cited_by_number
        else f"({named(side, documents)})"
        for side in (claim, rival)
    )
    if others:
        return _with_other_side(passage, rival.statement, by_rival, language)
    # the documents are named here, so the passage's own citations go
    text = without_last_citations(passage.strip(), documents).rstrip(ENDS)

    def both_sides(own_side: str, rival_side: str, between: str) -> str:
        """Both sides, the better witnessed first."""
        sides = [f"{own_side} {by_claim}", f"{rival_side} {by_rival}"]
        return between.join(reversed(sides) if rival.worth > claim.worth else sides)

    opposite_word = opposite(passage, look.question)
    if opposite_word is not None:
        sides = both_sides(text, opposite_word.strip().rstrip(ENDS), f" {language.either} ")
        return f"{language.disagree}: {sides}{language.stop}"
    spans = spliced_spans(text, claim.statement, rival.statement, (), look.question)
    if spans is None:
        if not _is_in(language, rival.statement):
            return None
        sides = both_sides(text, rival.statement.strip().rstrip(ENDS), "; ")
        return f"{language.disagree}: {sides}{language.stop}"
    (start, end), rival_words = spans
    name_start, name_end = _whole_name(text, (start, end))
    own_name = text[name_start:name_end]
    rival_name = text[name_start:start] + rival_words + text[end:name_end]
    sides = both_sides(own_name, rival_name, f" {language.either} ")
    lead = language.disagree_on_year if _are_years(own_name, rival_name) else language.disagree
    return f"{lead}: {text[:name_start]}{sides}{text[name_end:]}{language.stop}"


def _with_other_side(passage: str, rival: str, sources: str, language: Language) -> str | None:
    """A passage that stays, with a sentence about the other side; None in another language."""
    if not _is_in(language, rival):
        return None
    text = passage.rstrip()
    end = "" if text[-1:] in ".!?\u3002]*_)" else language.stop
    return f"{text}{end} {language.others_say}: {rival.rstrip(ENDS)} {sources}{language.stop}"


def _are_years(*sides: str) -> bool:
    """Whether the sides have values, and all of them are years."""
    years = [each.is_year for side in sides for each in values_in(side)]
    return bool(years) and all(years)


def _whole_name(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """A span with what belongs to its name: "Paul" of "Paul Seadlund", "73" of "73 years ago"."""
    start, end = span
    if match := _NAME_BEFORE.search(text[:start]):
        start = match.start("name")
    tail = text[end:]
    if len(tail.split()) <= _SHORT_TAIL:
        return start, end + len(tail.rstrip())
    match = _NAME_AFTER.match(tail)
    return start, end + (match.end() if match else 0)


def explained_things(
    passage: str,
    look: SecondLook,
    others: Sequence[str] = (),
    language: Language | None = LANGUAGES["en"],
) -> str | None:
    """A passage that tells apart the things of one name, with what is so of each.

    It calls them no disagreement: each is right of its own thing. None where the passage makes
    further claims, or the project has no words for it in its language.
    """
    things = [answer for answer in look.related if answer.evidence is not None]
    if others or language is None or language.depends is None:
        return None
    if not all(_is_in(language, answer.statement) for answer in things):
        return None
    statements = [(passage.strip().rstrip(ENDS), look.thing)]
    statements += [(answer.statement.strip().rstrip(ENDS), answer.thing) for answer in things]
    parts = "; ".join(f"{statement} ({_plain(words)})" for statement, words in statements)
    return f"{language.depends}: {parts}{language.stop}"


def _is_in(language: Language, statement: str) -> bool:
    code = language_of(statement)
    return code is None or LANGUAGES[code] is language


def _plain(words: str) -> str:
    """Words of a document without what could become markup in an answer."""
    return re.sub(r"[*_`\[\]|<>\\()]", " ", material_line(words)).strip(" ,;:.")


def named(side: Candidate, documents: Sequence[Document], *, by_number: bool = False) -> str:
    """The documents behind a candidate, near-copies once: by their titles, or cited by number."""
    behind = set(side.votes or side.evidence.supports)
    documents_behind = [document for document in documents if document.number in behind]
    documents_by_group = sorted(
        documents_behind, key=lambda d: (d.duplicate_of or d.number, d.number)
    )
    first = [
        next(same)
        for _, same in groupby(documents_by_group, key=lambda d: d.duplicate_of or d.number)
    ]
    if by_number:
        return "".join(f"[{document.number}]" for document in first)
    names = [_name(document) for document in first[:_MOST_NAMES]]
    if more := len(first) - len(names):
        names.append(f"{more} more")
    return ", ".join(names)


def _name(document: Document) -> str:
    """A title that is a name, or the name of a file, in quotation marks; otherwise its number.

    A title may say what its document wants to be read, so one that states or orders something, or
    has markup in it, stands in no answer.
    """
    file_name = "" if ":" in document.url else PurePosixPath(document.url).stem
    for name in (material_line(document.title).strip(" \"'“”"), material_line(file_name)):
        if is_name(name.replace("-", " ")) and not re.search(r"[*_`\[\]|<>\\]", name):
            return f"“{name if len(name) <= _NAME_CHARS else f'{name[:_NAME_CHARS].rstrip()}…'}”"
    return f"document {document.number}"


def told_evidence(look: SecondLook) -> ClaimEvidence:
    """The statement of a passage, as one claim with its labels.

    By the paper's rule for hedged claims (section 3): a document supports it that supports one of
    the sides, and contradicts it where it contradicts all.
    """
    sides = look.sides
    lead = "It depends on which one is meant" if look.decision == "explain" else "Sources disagree"
    text = f"{lead}: {'; '.join(side.claim.text.rstrip('.') for side in sides)}."
    own, *others = sides
    labels = own.labels
    for side in others:
        by_document = {pair.document: pair for pair in side.labels}
        labels = tuple(_either(pair, by_document.get(pair.document, pair)) for pair in labels)
    return ClaimEvidence(claim=Claim(number=own.claim.number, text=text), labels=labels)


def _either(first: EvidenceLabel, second: EvidenceLabel) -> EvidenceLabel:
    """The label of a document for a statement of both sides, from its labels for either.

    SUPPORTS for one of them is enough. IRRELEVANT for one comes next, since only a document that
    contradicts all sides contradicts the statement.
    """
    pairs = (first, second)
    for pair in pairs:
        if pair.label is Label.SUPPORTS:
            return pair
    if first.label is second.label:
        return first
    return next((pair for pair in pairs if pair.label is Label.IRRELEVANT), first)
