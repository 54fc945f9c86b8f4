"""Records of the evidence for and against an answer: documents, claims, labels and reports."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from conflictscore.choices import Disputed
from conflictscore.errors import FailureKind
from conflictscore.records.record_base import Record, is_none

_Number = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(ge=0, le=1)]


class Label(StrEnum):
    """How one document relates to one claim (paper, section 3, step 2 and Table 7)."""

    SUPPORTS = "SUPPORTS"  # The document supports the claim, or one part of a hedged claim.
    CONTRADICTS = "CONTRADICTS"  # The document says something incompatible with the claim.
    IRRELEVANT = "IRRELEVANT"  # The document neither supports nor contradicts the claim.
    UNLABELLED = "UNLABELLED"  # There is no verdict, so the pair affects neither CS-C nor CS-R.


_BOTH_SIDES = frozenset((Label.SUPPORTS, Label.CONTRADICTS))
_SIDES = {label.lower(): label for label in Label}
"""The labels by the names that summaries use."""


class Document(Record):
    """A retrieved source, numbered from 1 in the retriever's ranking."""

    number: _Number
    text: str
    title: str = ""
    url: str = ""
    """Where the document came from: a web address, or a file path of a local corpus."""
    metadata: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    """Further facts from the retriever, such as a publication date."""
    duplicate_of: _Number | None = None
    """Number of the first document with nearly the same text; None if no earlier document has
    it."""

    @property
    def site(self) -> str:
        """The source, abbreviated: the host without ``www.``, or the path of a file."""
        try:
            parts = urlsplit(self.url)
            host = parts.hostname if parts.scheme in ("http", "https") else None
        except ValueError:
            host = None
        return host.removeprefix("www.") if host else self.url


class Claim(Record):
    """One atomic statement of an answer, or the text of the option chosen from several."""

    number: _Number
    text: str
    passage: tuple[int, int] | None = None
    """Start and end of the claim in the answer; None if they were not looked up or not found."""


class EvidenceLabel(Record):
    """A judge's verdict on how one document relates to one claim."""

    claim: _Number
    document: _Number
    label: Label
    snippet: str | None = None
    """The decisive passage as the judge quoted it; None if the judge quotes nothing."""
    snippet_found: bool | None = None
    """Whether the document contains the snippet, ignoring white space and case. A snippet with
    omissions is contained if all its parts occur in order.
    """
    passage: str | None = None
    """The passage to show as evidence: the snippet if the document contains it, otherwise the
    document's sentences nearest to the claim."""
    reasoning: str | None = None
    score: _Share | None = None
    """The judge's probability for its label, in [0, 1]; None if the judge reports none."""
    # left out of the JSON if None, as in versions without this field
    probabilities: Annotated[dict[Label, _Share] | None, Field(exclude_if=is_none)] = None
    """The judge's probability for each label, in [0, 1]; None if the judge reports none."""
    error: str | None = None
    """Why there is no label, in words; set if and only if ``label`` is UNLABELLED."""
    failure: FailureKind | None = None
    """The kind of ``error``, for programs; set whenever ``error`` is set, by default to
    ``failed``."""
    document_cut: bool = False
    """Whether the judge saw only the parts of the document nearest to the claim, because the
    document did not fit into the prompt.
    """
    cached: bool = False
    """Whether the verdict came from the cache instead of a call."""
    stage: str | None = None
    """If the labeler is a cascade, the name of the labeler that decided; otherwise None."""

    @property
    def p_supports(self) -> float | None:
        """The judge's probability for SUPPORTS, in [0, 1]; None if the judge reports none."""
        return None if self.probabilities is None else self.probabilities.get(Label.SUPPORTS, 0.0)

    @model_validator(mode="before")
    @classmethod
    def _error_has_a_kind(cls, fields: Any) -> Any:
        """Add the kind of an error, which custom labelers and older runs may leave out."""
        # a dictionary is by far the most frequent, and is recognised faster than another mapping
        if not isinstance(fields, (dict, Mapping)) or fields.get("error") is None:
            return fields
        if fields.get("failure") is not None:
            return fields
        return {**fields, "failure": _kind_by_words(str(fields["error"]))}

    @model_validator(mode="after")
    def _error_goes_with_unlabelled(self) -> "EvidenceLabel":
        has_no_label = self.label is Label.UNLABELLED
        if (self.error is not None) != has_no_label or (self.failure is not None) != has_no_label:
            raise ValueError("an error is allowed only with the label UNLABELLED")
        return self


def _kind_by_words(error: str) -> FailureKind:
    """Return the kind of an error that an older version stored without a kind."""
    beginnings = {
        "unreadable reply from ": FailureKind.UNREADABLE,
        "left out: ": FailureKind.LEFT_OUT,
    }
    kinds = (kind for beginning, kind in beginnings.items() if error.startswith(beginning))
    return next(kinds, FailureKind.FAILED)


class ClaimEvidence(Record):
    """One claim with its label for every document."""

    claim: Claim
    labels: tuple[EvidenceLabel, ...] = ()
    """One label per document, in order of the documents' numbers."""

    def documents(self, label: Label) -> tuple[int, ...]:
        """Return the numbers of the documents with this label, in ascending order."""
        # a list is faster than a generator here, and reports make one for every pair
        return tuple([pair.document for pair in self.labels if pair.label is label])

    def independent(self, label: Label, duplicates: Mapping[int, int]) -> int:
        """Return the number of documents with this label; copies in ``duplicates`` count once."""
        return len({duplicates.get(number, number) for number in self.documents(label)})

    @property
    def supports(self) -> tuple[int, ...]:
        """D+: numbers of the supporting documents."""
        return tuple([pair.document for pair in self.labels if pair.label is Label.SUPPORTS])

    @property
    def contradicts(self) -> tuple[int, ...]:
        """D-: numbers of the contradicting documents."""
        return tuple([pair.document for pair in self.labels if pair.label is Label.CONTRADICTS])

    @property
    def irrelevant(self) -> tuple[int, ...]:
        """Numbers of the irrelevant documents."""
        return self.documents(Label.IRRELEVANT)

    @property
    def unlabelled(self) -> tuple[int, ...]:
        """Numbers of the documents without a label."""
        return self.documents(Label.UNLABELLED)

    @property
    def conflicting(self) -> bool:
        """Whether both D+ and D- are non-empty (paper, section 3, step 2)."""
        return {pair.label for pair in self.labels} >= _BOTH_SIDES

    def excluding_zero_weight(self, weights: Mapping[int, float]) -> Self:
        """Return the same claim without the labels of documents that have weight 0."""
        if not weights:
            return self
        weightless = {number for number, weight in weights.items() if not weight}
        if weightless.isdisjoint(pair.document for pair in self.labels):
            return self
        trusted_labels = tuple(pair for pair in self.labels if pair.document not in weightless)
        return self.model_copy(update={"labels": trusted_labels})

    def disputed_by(self, duplicates: Mapping[int, int]) -> Disputed | None:
        """Return why the claim is disputed, or None if it is only supported or has no labels.

        ``conflict``: documents support it, and others contradict it. ``refuted``: at least two
        independent documents contradict it, and none supports it. ``contradicted``: only one
        document and its copies contradict it, and none supports it. ``unsupported``: every labelled
        document is irrelevant. ``duplicates`` maps each copy to the first document of its group.
        """
        labels = {pair.label for pair in self.labels}
        if labels >= _BOTH_SIDES:
            return "conflict"
        if Label.CONTRADICTS in labels:
            alone = self.independent(Label.CONTRADICTS, duplicates) == 1
            return "contradicted" if alone else "refuted"
        is_unsupported = Label.IRRELEVANT in labels and Label.SUPPORTS not in labels
        return "unsupported" if is_unsupported else None


class WeightedScores(Record):
    """The scores with documents weighted by trust."""

    by: str
    """Source of the weights; ``table`` means a table supplied by the user."""
    cs_c: _Share | None
    """Weighted CS-C in [0, 1]. A claim in conflict counts as a fraction: the largest weight on its
    weaker side, divided by the largest weight on its stronger side. None if no document with a
    weight above 0 has a label.
    """
    cs_r: _Share | None
    """CS-R in [0, 1] with weights instead of counts; None if ``cs_c`` is None."""
    weights: dict[_Number, Annotated[float, Field(ge=0)]]
    """The weight of each document. Only the ratios of weights matter, and documents with weight 0
    do not count."""


class ConflictReport(Record):
    """The ConflictScore of one answer, with all labels from which it was computed."""

    cs_c: _Share | None
    """ConflictScore-Count in [0, 1], lower is better; None if nothing was labelled."""
    cs_r: _Share | None
    """ConflictScore-Ratio in [0, 1], lower is better; None if nothing was labelled."""
    coverage: _Share | None
    """Labelled pairs / pairs, in [0, 1]; None if there are no pairs."""
    claims: tuple[ClaimEvidence, ...] = ()
    uncovered: tuple[int, ...] = ()
    """Numbers of the claims that have labels but are neither supported nor contradicted; each adds
    0 to CS-R."""
    disputed: tuple[int, ...] = ()
    """Numbers of the claims that are disputed under the run's policy, most important first."""
    reconsider: int | None = None
    """Number of the claim to reconsider by the paper's method; None if no claim is disputed."""
    duplicates: dict[_Number, _Number] = Field(default_factory=dict)
    """Maps each near-duplicate to the first document of its group. If each domain has one vote, the
    documents of a domain form a group."""
    duplicates_vote: bool = True
    """Whether every document counts in ``cs_r`` and ``reconsider``, as in the paper. If false, each
    group of copies counts only once on each side."""
    error: str | None = None
    """Why there is no score: the answer could not be split into claims, or too few labels could be
    read."""
    weighted: WeightedScores | None = Field(default=None, exclude_if=is_none)
    """The weighted scores, if the run weights its documents.

    If it does, ``disputed`` and ``reconsider`` also follow the weights.
    """

    @property
    def weights(self) -> Mapping[int, float]:
        """The weight of each document, by number; empty if all documents count equally."""
        return self.weighted.weights if self.weighted else {}

    def why_disputed(self, claim: ClaimEvidence) -> Disputed | None:
        """Return why a claim is disputed by the documents that count in the run, or None."""
        return claim.excluding_zero_weight(self.weights).disputed_by(self.duplicates)

    @property
    def conflicting(self) -> tuple[int, ...]:
        """The ``number`` of each claim with both supporting and contradicting documents."""
        return tuple(e.claim.number for e in self.claims if e.conflicting)

    @property
    def independent_documents(self) -> int | None:
        """The number of documents for which the claims were labelled, counting copies once.

        None if there are no claims.
        """
        if not self.claims:
            return None
        document_numbers = {pair.document for evidence in self.claims for pair in evidence.labels}
        return len({self.duplicates.get(number, number) for number in document_numbers})

    def evidence(self, claim: int) -> ClaimEvidence:
        """Return the claim with this number; raise KeyError if there is no such claim."""
        return {evidence.claim.number: evidence for evidence in self.claims}[claim]

    def summary(self) -> dict[str, Any]:
        """Return the scores and each claim's documents by label, as plain JSON for display."""
        copies = self.duplicates
        return {
            **self.model_dump(mode="json", exclude={"claims", "duplicates"}),
            "independent_documents": self.independent_documents,
            "claims": [_summary_of(evidence, copies) for evidence in self.claims],
        }


_NOT_SHOWN: Any = {"claim": True, "labels": {"__all__": {"claim", "probabilities"}}}
"""The fields of a claim's evidence that summaries leave out."""


def _summary_of(evidence: ClaimEvidence, copies: Mapping[int, int]) -> dict[str, Any]:
    """Return a claim's documents by label, as plain JSON for display."""
    sides = {side: list(evidence.documents(label)) for side, label in _SIDES.items()}
    supports, contradicts = [
        len({copies.get(number, number) for number in sides[side]})
        for side in ("supports", "contradicts")
    ]
    return {
        "text": evidence.claim.text,
        "conflicting": bool(supports and contradicts),
        **sides,
        "independent_supports": supports,
        "independent_contradicts": contradicts,
        "labels": evidence.model_dump(mode="json", exclude=_NOT_SHOWN)["labels"],
    }
