"""Rewords a passage to report an unsettled dispute, or to distinguish things of the same name.

The new text is one sentence in the answer's language, in which each value is followed by its
sources. If ``LANGUAGES`` has no wording for the language, the passage is kept.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Sequence, Set
from itertools import groupby
from pathlib import PurePosixPath

from conflictscore.answering.languages import LANGUAGES, Language, language_of
from conflictscore.correcting.citing import citations_of, without_last_citations
from conflictscore.correcting.riders import is_name
from conflictscore.correcting.wording import ENDS, sides_of, spliced_spans
from conflictscore.correcting.yes_or_no import opposite_answer
from conflictscore.prompts import material_line
from conflictscore.records import (
    Candidate,
    Claim,
    ClaimEvidence,
    Document,
    EvidenceLabel,
    Label,
    RelatedAnswer,
    SecondLook,
)
from conflictscore.values import dimensions_in, values_in

_NAME_CHARS = 70  # Maximum number of characters of a document's name to show.
_MOST_NAMES = 3  # Documents named for each side; with more, the sentence would be hard to read.
_SHORT_TAIL = 2  # Maximum number of words repeated after a value, if the first is a unit.

# The words of a name before a position, as in "the Golden Gate" before "Bridge". The first word of
# a sentence does not count, since it has a capital anyway.
_NAME_BEFORE = re.compile(
    r"(?<=[^.!?\s]\s)(?P<name>(?:(?:[Aa]n?|[Tt]he|[A-Z][\w'-]{0,30})\s){1,4})$"
)
# The words of a name after a position, as in " Bridge" after "the Golden Gate".
_NAME_AFTER = re.compile(r"(?:\s[A-Z][\w'-]{0,30}){1,4}")


def language_to_tell_in(passage: str, *more: str) -> Language | None:
    """Return the language of a passage, or of further texts if the passage does not reveal it.

    If the language is still unknown and all characters are ASCII, English is assumed. Return None
    if ``LANGUAGES`` has no wording for the language.
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
    """Reword a passage to state both sides with their documents, the weightier side first.

    If the sides differ in one value or name, both values or names are put in its place. A passage
    with further claims is kept, and a sentence about the other side is added. If documents support
    answers about other things with the same name, a further sentence states these answers.

    Return None if ``LANGUAGES`` has no wording for this in the passage's language, or if the rival
    is in a different language.
    """
    if language is None or language.disagree is None:
        return None
    text = _told_dispute(passage, look, documents, others, language)
    things = [answer for answer in look.related if answer.evidence is not None]
    if text is None or not things:
        return text
    return f"{text} {language.another}: {'; '.join(map(_thing_told, things))}{language.stop}"


def _told_dispute(
    passage: str,
    look: SecondLook,
    documents: Sequence[Document],
    others: Sequence[str],
    language: Language,
) -> str | None:
    """Reword a passage to state both sides of a dispute; see :func:`hedged`."""
    claim, rival = sides_of(look)
    is_cited_by_number = citations_of(passage, claim, documents)
    of_both = _names_behind(claim, documents) & _names_behind(rival, documents)
    by_claim, by_rival = (
        named(side, documents, by_number=True)
        if is_cited_by_number
        else f"({named(side, documents, of_both=of_both)})"
        for side in (claim, rival)
    )
    if others:
        return _with_other_side(passage, rival.statement, by_rival, language)
    # the new text names the documents, so the existing citations of the passage are removed
    text = without_last_citations(passage.strip(), documents).rstrip(ENDS)

    def both_sides(own_side: str, rival_side: str, between: str) -> str:
        """Return both sides, the side with more weight first."""
        sides = [f"{own_side} {by_claim}", f"{rival_side} {by_rival}"]
        return between.join(reversed(sides) if rival.worth > claim.worth else sides)

    opposite_word = opposite_answer(passage, look)
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
    """Add a sentence about the other side to a passage.

    Return None if the rival is in a different language.
    """
    if not _is_in(language, rival):
        return None
    text = passage.rstrip()
    end = "" if text[-1:] in ".!?\u3002]*_)" else language.stop
    return f"{text}{end} {language.others_say}: {rival.rstrip(ENDS)} {sources}{language.stop}"


def _are_years(*sides: str) -> bool:
    """Return whether the sides have values, and all these values are years."""
    years = [each.is_year for side in sides for each in values_in(side)]
    return bool(years) and all(years)


def _whole_name(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Extend a span to the full name or phrase: "Paul" to "Paul Seadlund", "73" to "73 years"."""
    start, end = span
    if match := _NAME_BEFORE.search(text[:start]):
        start = match.start("name")
    tail = text[end:]
    words = tail.split()
    if len(words) < _SHORT_TAIL or (len(words) == _SHORT_TAIL and dimensions_in(words[0])):
        return start, end + len(tail.rstrip())
    match = _NAME_AFTER.match(tail)
    return start, end + (match.end() if match else 0)


def explained_things(
    passage: str,
    look: SecondLook,
    others: Sequence[str] = (),
    language: Language | None = LANGUAGES["en"],
) -> str | None:
    """Reword a passage to make a separate statement about each of several things of one name.

    The new text does not say that sources disagree, since each statement is correct about its own
    subject. Return None if the passage makes further claims, or if ``LANGUAGES`` has no wording for
    this in the passage's language.
    """
    things = [answer for answer in look.related if answer.evidence is not None]
    if others or language is None or language.depends is None:
        return None
    if not things:
        return None
    own = f"{passage.strip().rstrip(ENDS)} ({_plain(look.thing)})"
    return f"{language.depends}: {'; '.join([own, *map(_thing_told, things)])}{language.stop}"


def tellable(look: SecondLook, language: Language | None) -> SecondLook:
    """Keep a passage from stating answers about other things that are in a different language.

    Such an answer loses its evidence, without which it is not stated.
    """
    related = tuple(
        answer
        if answer.evidence is None or (language and _is_in(language, answer.statement))
        else answer.model_copy(update={"evidence": None})
        for answer in look.related
    )
    return look.model_copy(update={"related": related})


def _thing_told(answer: RelatedAnswer) -> str:
    return f"{answer.statement.strip().rstrip(ENDS)} ({_plain(answer.thing)})"


def _is_in(language: Language, statement: str) -> bool:
    code = language_of(statement)
    return code is None or LANGUAGES[code] is language


def _plain(words: str) -> str:
    """Remove from a document's words any characters that could act as markup in an answer."""
    return re.sub(r"[*_`\[\]|<>\\()]", " ", material_line(words)).strip(" ,;:.")


def named(
    side: Candidate,
    documents: Sequence[Document],
    *,
    by_number: bool = False,
    of_both: Set[str] = frozenset(),
) -> str:
    """Return the documents of a candidate, listed by title or cited by number.

    With ``by_number``, all are cited by number. Only the first document of each group of
    near-copies is listed. Documents whose name is among ``of_both`` are cited by number, since
    both sides of the dispute have documents with that name.
    """
    first = _documents_behind(side, documents)
    if by_number:
        return "".join(f"[{document.number}]" for document in first)
    names = [
        f"document {document.number}" if (name := _name(document)) in of_both else name
        for document in first[:_MOST_NAMES]
    ]
    if more := len(first) - len(names):
        names.append(f"{more} more")
    return ", ".join(names)


def _names_behind(side: Candidate, documents: Sequence[Document]) -> set[str]:
    return {*map(_name, _documents_behind(side, documents))}


def _documents_behind(side: Candidate, documents: Sequence[Document]) -> list[Document]:
    """Return the documents of a candidate; of near-copies, only the first."""
    behind = set(side.votes or side.evidence.supports)
    documents_behind = [document for document in documents if document.number in behind]
    documents_by_group = sorted(
        documents_behind, key=lambda d: (d.duplicate_of or d.number, d.number)
    )
    return [
        next(same)
        for _, same in groupby(documents_by_group, key=lambda d: d.duplicate_of or d.number)
    ]


def _name(document: Document) -> str:
    """Return a document's title or file name, quoted, if it is only a name; else its number.

    A hostile document can put a message into its title. So a title is never put into an answer if
    it makes a statement, gives an instruction or contains markup.
    """
    file_name = "" if ":" in document.url else PurePosixPath(document.url).stem
    title = material_line(document.title).strip(" \"'“”")
    for name, of_file in ((title, False), (material_line(file_name), True)):
        if is_name(name.replace("-", " "), of_file=of_file) and not re.search(
            r"[*_`\[\]|<>\\]", name
        ):
            return f"“{name if len(name) <= _NAME_CHARS else f'{name[:_NAME_CHARS].rstrip()}…'}”"
    return f"document {document.number}"


def told_evidence(look: SecondLook) -> ClaimEvidence:
    """Return, as one claim with labels, the statement of a passage that reports several sides.

    The labels follow the paper's rule for hedged claims (section 3). A document supports the
    statement if it supports one of the sides, and contradicts it if it contradicts all sides.
    """
    # always in English, since this text is a claim in the record, not part of the answer
    sides = look.sides
    texts = [side.claim.text.rstrip(".") for side in sides]
    text = f"It depends on which one is meant: {'; '.join(texts)}."
    if look.decision != "explain":
        # the first two sides are the claim's own answer and its rival
        things = f" Another one may be meant: {'; '.join(texts[2:])}." if len(texts) > 2 else ""
        text = f"Sources disagree: {'; '.join(texts[:2])}.{things}"
    own, *others = sides
    labels = own.labels
    for side in others:
        by_document = {pair.document: pair for pair in side.labels}
        labels = tuple(_either(pair, by_document.get(pair.document, pair)) for pair in labels)
    return ClaimEvidence(claim=Claim(number=own.claim.number, text=text), labels=labels)


def _either(first: EvidenceLabel, second: EvidenceLabel) -> EvidenceLabel:
    """Combine a document's labels for two statements into a label for both statements together.

    If either label is SUPPORTS, so is the combined label. A document contradicts the statement only
    if it contradicts all sides. So if neither label is SUPPORTS, the combined label is CONTRADICTS
    only if both labels are CONTRADICTS. IRRELEVANT takes precedence over no label.
    """
    order = Label.SUPPORTS, Label.IRRELEVANT, Label.UNLABELLED, Label.CONTRADICTS
    return min(first, second, key=lambda pair: order.index(pair.label))
