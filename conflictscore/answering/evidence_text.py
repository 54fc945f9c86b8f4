"""Functions that format the evidence for and against a claim, for prompts, people and agents."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from conflictscore.labelers.quotes import LONGEST_PASSAGE, found_in, passage_of
from conflictscore.prompts import PromptSet, material_line
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label

# Reasons and titles come from models and pages. Limits keep a single document from filling the
# prompt with them. Most titles, and reasons of one or two sentences, are shorter. The numbers of
# characters were chosen by hand.
_REASON_CHARS = 300
_SOURCE_CHARS = 120


class Witness(NamedTuple):
    """A document that supports or contradicts a claim, with its evidence and near-copies."""

    document: Document
    verdict: EvidenceLabel
    passage: str
    copies: tuple[int, ...]

    @property
    def reason(self) -> str:
        """Return the judge's reason on one line, cut if it is long; empty if it gave no reason."""
        return material_line(self.verdict.reasoning or "")[:_REASON_CHARS]

    @property
    def source(self) -> str:
        """Return the document's title, site and date, if known, and its merged near-copies."""
        document, more = self.document, len(self.copies)
        texts = [document.title, document.site, str(document.metadata.get("date") or "")]
        parts = [line[:_SOURCE_CHARS] for text in texts if (line := material_line(text))]
        if more:
            numbers = ", ".join(map(str, self.copies))
            parts.append(f"{more} near-{'copy' if more == 1 else 'copies'}: {numbers}")
        return "; ".join(parts)


def witnesses(
    claim: ClaimEvidence,
    label: Label,
    documents: Sequence[Document],
    weights: Mapping[int, float] = {},
) -> Iterator[Witness]:
    """Yield the documents on one side of a claim; near-copies are merged into the first one."""
    documents_by_number = {document.number: document for document in documents}
    alike: dict[int, list[EvidenceLabel]] = {}
    for pair in _on_side(claim, label, weights):
        if pair.document in documents_by_number:
            original = documents_by_number[pair.document].duplicate_of or pair.document
            alike.setdefault(original, []).append(pair)
    for first, *copies in alike.values():
        document = documents_by_number[first.document]
        passage = _passage(claim.claim, first, document)
        yield Witness(document, first, passage, tuple(sorted(pair.document for pair in copies)))


def _on_side(
    claim: ClaimEvidence, label: Label, weights: Mapping[int, float]
) -> list[EvidenceLabel]:
    """Return the verdicts on one side, by descending document weight, then document number."""
    pairs = [pair for pair in claim.labels if pair.label is label]
    return sorted(pairs, key=lambda pair: -weights.get(pair.document, 1.0))


def conflict_details(
    claim: ClaimEvidence,
    documents: Sequence[Document],
    prompts: PromptSet,
    weights: Mapping[int, float] = {},
) -> str:
    """Return a claim's supporting and contradicting documents with their passages (Table 13).

    Every document has a line, including copies. The passage is the judge's quotation if the
    document contains it in one piece, without omissions. Otherwise, it is the passage found by
    :func:`~conflictscore.labelers.quotes.passage_of`. If weights are given, the documents with the
    highest weights come first on each side.
    """
    documents_by_number = {document.number: document for document in documents}

    def side(label: Label) -> str:
        return "\n".join(
            prompts.render(
                "evidence_line",
                number=pair.document,
                passage=_quoted(claim.claim, pair, documents_by_number[pair.document]),
            )
            for pair in _on_side(claim, label, weights)
        )

    return _sides(prompts, side)


def sourced_details(
    claim: ClaimEvidence,
    documents: Sequence[Document],
    prompts: PromptSet,
    weights: Mapping[int, float] = {},
) -> str:
    """Return both sides of a claim, with the source, date and judge's reason for each document.

    Near-copies share a line.
    """

    def line(witness: Witness) -> str:
        return prompts.render(
            "evidence_source_reason" if witness.reason else "evidence_source",
            number=witness.document.number,
            source=witness.source or "unknown",
            passage=witness.passage,
            **({"reason": witness.reason} if witness.reason else {}),
        )

    def side(label: Label) -> str:
        return "\n".join(map(line, witnesses(claim, label, documents, weights)))

    return _sides(prompts, side)


def _sides(prompts: PromptSet, side: Callable[[Label], str]) -> str:
    sides = {"supports": side(Label.SUPPORTS), "contradicts": side(Label.CONTRADICTS)}
    return prompts.render("evidence", **{name: lines or "none" for name, lines in sides.items()})


def _passage(claim: Claim, pair: EvidenceLabel, document: Document) -> str:
    return material_line(passage_of(claim, document, pair) or "")


def _quoted(claim: Claim, pair: EvidenceLabel, document: Document) -> str:
    if len(found_in(pair.snippet or "", document)[1]) != 1:
        return _passage(claim, pair, document)
    quotation = material_line(pair.snippet or "")
    return quotation if len(quotation) <= LONGEST_PASSAGE else f"{quotation[:LONGEST_PASSAGE]} …"
