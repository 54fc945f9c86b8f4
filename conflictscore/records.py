"""The nouns: documents, claims, labels, reports, answers, attempts, flips and runs.

Everything here is immutable, typed and turns into plain JSON and back without loss
(``model_dump(mode="json")`` / ``model_validate``); nothing here does I/O.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "RUN_DETAILS",
    "Answer",
    "Attempt",
    "Claim",
    "ClaimEvidence",
    "ConflictReport",
    "ConflictType",
    "Document",
    "EvidenceLabel",
    "Flip",
    "Label",
    "Method",
    "Record",
    "Regeneration",
    "Run",
    "RunStatus",
    "Usage",
    "differs",
]


class Record(BaseModel):
    """Base of every record: frozen, no unknown fields, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def to_json(self) -> dict[str, Any]:
        """Plain data for graph state, caches and logs."""
        return self.model_dump(mode="json")


_Number = Annotated[int, Field(ge=1)]


class Label(StrEnum):
    """How one document relates to one claim (paper, section 3, step 2 and Table 7)."""

    SUPPORTS = "SUPPORTS"
    """The document supports the claim, or one part of a hedged one."""
    CONTRADICTS = "CONTRADICTS"
    """The document says something incompatible with the claim."""
    IRRELEVANT = "IRRELEVANT"
    """The document neither supports nor contradicts the claim."""
    UNLABELLED = "UNLABELLED"
    """There is no verdict; the error is recorded and the pair counts in no score."""


class Method(StrEnum):
    """How an answer is produced (paper, section 6.1)."""

    RAG = "rag"
    """Answer from the documents, with no word about conflicts."""
    CONTROL_RAG = "control-rag"
    """Answer once, told to watch for conflicts, without ConflictScore."""
    REGENERATED_RAG = "regenerated-rag"
    """Answer as ``rag``, score, and answer again where a claim has evidence on both sides."""


Regeneration = Literal["paper", "typed"]
"""How an answer is regenerated: as the paper does, or as the type of the conflict asks (ours)."""


class ConflictType(StrEnum):
    """How the documents of a question relate ("DRAGged into Conflicts", section 2)."""

    NO_CONFLICT = "no-conflict"
    """*No conflict*: the answers are the same, or nearly."""
    COMPLEMENTARY = "complementary"
    """*Complementary information*: the answers differ, and one person can agree with all."""
    CONFLICTING_OPINIONS = "conflicting-opinions"
    """*Conflicting opinions or research outcomes*: a debate that is not settled."""
    OUTDATED = "outdated"
    """*Conflict due to outdated information*: the answer has changed with time."""
    MISINFORMATION = "misinformation"
    """*Conflict due to misinformation*: a source has a fact wrong, or misleads."""


class Document(Record):
    """One retrieved source, numbered from 1 in the order the retriever ranked it."""

    number: _Number
    text: str
    title: str = ""
    url: str = ""
    """Where the document came from: a web address, or a file path of a local corpus."""
    metadata: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    """What else the retriever knew, such as a publication date."""
    duplicate_of: _Number | None = None
    """Number of the first document with nearly this text; None where that is this one."""


class Claim(Record):
    """One atomic statement of an answer; in multiple choice the text of the chosen option."""

    number: _Number
    text: str


class EvidenceLabel(Record):
    """The verdict of a judge on one claim against one document."""

    claim: _Number
    document: _Number
    label: Label
    snippet: str | None = None
    """The passage that decided, quoted by the judge; None where the judge quotes nothing."""
    snippet_found: bool | None = None
    """Whether the snippet stands in the document, white space and case folded."""
    reasoning: str | None = None
    score: Annotated[float, Field(ge=0, le=1)] | None = None
    """Probability in [0, 1] that the judge gives to its label; None where it gives none."""
    error: str | None = None
    """Why there is no label; set exactly when ``label`` is UNLABELLED."""
    document_cut: bool = False
    """Whether the judge saw only the beginning of the document, for want of room."""
    cached: bool = False
    """Whether the verdict came from the cache instead of a call."""
    stage: str | None = None
    """Which stage of a cascade decided, ``words`` or a labeler's name; None without a cascade."""

    @model_validator(mode="after")
    def _error_goes_with_unlabelled(self) -> "EvidenceLabel":
        if (self.error is not None) != (self.label is Label.UNLABELLED):
            raise ValueError("an error goes with the label UNLABELLED, and with no other")
        return self


class ClaimEvidence(Record):
    """One claim with its labels against every document."""

    claim: Claim
    labels: tuple[EvidenceLabel, ...] = ()
    """One label a document, by ascending document number."""

    def documents(self, label: Label) -> tuple[int, ...]:
        """Numbers of the documents with this label, ascending."""
        return tuple(pair.document for pair in self.labels if pair.label is label)

    def independent(self, label: Label, duplicates: Mapping[int, int]) -> int:
        """How many documents have this label, where near-duplicates count as one.

        Args:
            label: The label.
            duplicates: For each near-duplicate the number of the first document of its group.
        """
        return len({duplicates.get(number, number) for number in self.documents(label)})

    @property
    def supports(self) -> tuple[int, ...]:
        """D+: numbers of the supporting documents."""
        return self.documents(Label.SUPPORTS)

    @property
    def contradicts(self) -> tuple[int, ...]:
        """D-: numbers of the contradicting documents."""
        return self.documents(Label.CONTRADICTS)

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
        return bool(self.supports) and bool(self.contradicts)


class ConflictReport(Record):
    """ConflictScore of one answer, with every label it was computed from."""

    cs_c: Annotated[float, Field(ge=0, le=1)] | None
    """ConflictScore-Count in [0, 1], lower is better; None where nothing was labelled."""
    cs_r: Annotated[float, Field(ge=0, le=1)] | None
    """ConflictScore-Ratio in [0, 1], lower is better; None where nothing was labelled."""
    coverage: Annotated[float, Field(ge=0, le=1)] | None
    """Labelled pairs / pairs, in [0, 1]; None where there is no pair."""
    claims: tuple[ClaimEvidence, ...] = ()
    uncovered: tuple[int, ...] = ()
    """Numbers of the claims with a label but neither D+ nor D-; each adds 0 to CS-R."""
    reconsider: int | None = None
    """Number of the conflicting claim to reconsider; None where no claim conflicts."""
    duplicates: dict[_Number, _Number] = Field(default_factory=dict)
    """For each near-duplicate document the number of the first document of its group."""
    duplicates_vote: bool = True
    """Whether every document counted in ``cs_r`` and ``reconsider``, as in the paper; False where
    the near-duplicates of a group counted once on each side."""
    error: str | None = None
    """Why there are no claims to score, where decomposition failed."""

    @property
    def conflicting(self) -> tuple[int, ...]:
        """Numbers of the claims with evidence on both sides."""
        return tuple(e.claim.number for e in self.claims if e.conflicting)

    @property
    def independent_documents(self) -> int | None:
        """How many documents the claims were held against, where near-duplicates count as one.

        None where there are no claims.
        """
        if not self.claims:
            return None
        held = {pair.document for evidence in self.claims for pair in evidence.labels}
        return len({self.duplicates.get(number, number) for number in held})

    def evidence(self, claim: int) -> ClaimEvidence:
        """The claim with this number.

        Raises:
            KeyError: There is no such claim.
        """
        for evidence in self.claims:
            if evidence.claim.number == claim:
                return evidence
        raise KeyError(claim)

    def summary(self) -> dict[str, Any]:
        """The scores with every claim's sides spelled out, as plain JSON for readers.

        Documents stand by their numbers. ``labels`` holds what each side was counted from.
        """
        copies = self.duplicates
        return {
            "cs_c": self.cs_c,
            "cs_r": self.cs_r,
            "coverage": self.coverage,
            "uncovered": list(self.uncovered),
            "reconsider": self.reconsider,
            "error": self.error,
            "independent_documents": self.independent_documents,
            "duplicates_vote": self.duplicates_vote,
            "claims": [
                {
                    "text": evidence.claim.text,
                    "conflicting": evidence.conflicting,
                    "supports": list(evidence.supports),
                    "contradicts": list(evidence.contradicts),
                    "irrelevant": list(evidence.irrelevant),
                    "unlabelled": list(evidence.unlabelled),
                    "independent_supports": evidence.independent(Label.SUPPORTS, copies),
                    "independent_contradicts": evidence.independent(Label.CONTRADICTS, copies),
                    "labels": [
                        pair.model_dump(mode="json", exclude={"claim"}) for pair in evidence.labels
                    ],
                }
                for evidence in self.claims
            ],
        }


class Answer(Record):
    """What the model answered."""

    text: str
    """The answer; in multiple choice the full text of the chosen option."""
    option: Annotated[int, Field(ge=0)] | None = None
    """Index of the chosen option, from 0; None in free form."""
    justification: str | None = None
    """The model's reason for this answer, where it was asked for one."""
    cited: tuple[int, ...] = ()
    """Numbers of the documents that the justification cites."""


class Attempt(Record):
    """One pass of the loop: an answer and its score."""

    round: Annotated[int, Field(ge=0)]
    """0 for the first answer, then 1 for each regeneration."""
    answer: Answer
    report: ConflictReport | None = None
    """None where the answer was not scored, or not yet."""
    reconsidered: ClaimEvidence | None = None
    """The earlier answer's claim whose evidence was shown; None for the first answer."""


class Flip(Record):
    """A change of mind: the regenerated answer differs from the first."""

    before: str
    after: str
    justification: str | None
    claim: str
    """The claim that was reconsidered."""
    supports: tuple[int, ...]
    """D+ of that claim when it was reconsidered."""
    contradicts: tuple[int, ...]
    """D- of that claim when it was reconsidered."""


class Usage(Record):
    """What a run cost; usages add up."""

    calls: Annotated[int, Field(ge=0)] = 0
    """Model calls that reached a provider."""
    cached_calls: Annotated[int, Field(ge=0)] = 0
    """Model calls answered from a cache."""
    input_tokens: Annotated[int, Field(ge=0)] = 0
    cache_read_tokens: Annotated[int, Field(ge=0)] = 0
    """Of the input tokens, those that the provider found in its prompt cache. More than there are
    is no error: a difference of usages is taken field by field, each cut off at 0."""
    output_tokens: Annotated[int, Field(ge=0)] = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            cached_calls=self.cached_calls + other.cached_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


def differs(before: str, after: str) -> bool:
    """Whether two answers differ by more than white space and case."""
    return before.casefold().split() != after.casefold().split()


class RunStatus(StrEnum):
    """What a run resulted in."""

    SCORED = "scored"
    """No claim of the first answer has evidence on both sides."""
    CORRECTED = "corrected"
    """The answer was changed."""
    KEPT = "kept"
    """A claim has evidence on both sides, and the answer stands nevertheless."""
    ANNOTATED = "annotated"
    """The answer carries a note that says where its sources disagree."""
    OBSERVED = "observed"
    """The answer went out untouched, and was scored afterwards."""
    PASSED_THROUGH = "passed-through"
    """The answer went out as it was given, unchecked."""
    FAILED = "failed"
    """The answer could not be checked, or there is none."""
    DROPPED = "dropped"
    """The answer went out untouched and was never scored: too many others were waiting."""
    UNFINISHED = "unfinished"
    """The run was stopped before its end."""


_SHOWN = (
    *("question", "method", "answer", "first_answer", "flipped", "justification"),
    *("documents", "report", "final_report", "usage", "run_id", "notes"),
)
_SHOWN_OF_A_SCORE = ("answer", "documents", "report", "usage", "run_id", "notes")
_TYPED = {"regeneration", "conflict_type", "conflict_type_reason", "classification_error"}


class Run(Record):
    """What a run resulted in, whether or not its answer could be scored."""

    question: str | None = None
    """The question, as it stands alone; None where an answer was scored without one."""
    asked: str | None = None
    """The question as it was put, in its conversation."""
    options: tuple[str, ...] = ()
    """The two options of a multiple-choice question; none in free form."""
    method: Method | None = None
    """How the answer was produced; None where the loop never began."""
    answer: str | None = None
    """The answer that stands; None where there is none."""
    first_answer: str | None = None
    justification: str | None = None
    """Why the answer was changed or confirmed, where the model gave a reason."""
    flip: Flip | None = None
    documents: tuple[Document, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    """Every scored answer, first to last."""
    reason: str | None = None
    """Why the loop ended where it did."""
    notes: tuple[str, ...] = ()
    """What the reader of the answer should know, such as documents that were cut."""
    usage: Usage = Usage()
    timings: dict[str, float] = Field(default_factory=dict)
    """Seconds that each step took, all its rounds together."""
    run_id: str | None = None
    status: RunStatus = RunStatus.UNFINISHED
    regeneration: Regeneration = "paper"
    conflict_type: ConflictType | None = None
    """How the documents relate; None where nobody asked, or the model could not say."""
    conflict_type_reason: str | None = None
    """The model's reason for that type, where it gave one."""
    classification_error: str | None = None
    """Why there is no type although one was asked for."""

    @property
    def flipped(self) -> bool:
        """Whether the answer that stands differs from the first; ``flip`` says more at the end."""
        return differs(self.first_answer or "", self.answer or "")

    @property
    def report(self) -> ConflictReport | None:
        """The first answer's scores; None where it was not scored."""
        return self.attempts[0].report if self.attempts else None

    @property
    def final_report(self) -> ConflictReport | None:
        """The scores of the answer that stands, where that was regenerated; None elsewhere."""
        last = self.attempts[-1] if self.attempts else None
        return last.report if last and last.round and last.answer.text == self.answer else None

    def unchecked(self, answer: str, reason: str) -> Self:
        """The same run with an answer that was passed on as it was given, and why."""
        update: dict[str, Any] = {"answer": answer, "first_answer": answer, "reason": reason}
        update |= {"notes": (*self.notes, reason), "status": RunStatus.PASSED_THROUGH}
        return self.model_copy(update=update)

    def summary(self, *more: str, texts: bool = True) -> dict[str, Any]:
        """The run as plain JSON for readers, with its scores spelled out.

        Args:
            *more: Further fields to show, of ``RUN_DETAILS``.
            texts: Whether documents have their text and metadata.
        """
        report, final = self.report, self.final_report
        known = self.to_json() | {
            "flipped": self.flipped,
            "report": report.summary() if report else None,
            "final_report": final.summary() if final else None,
        }
        if not texts:
            known["documents"] = [
                d.model_dump(mode="json", exclude={"text", "metadata"}) for d in self.documents
            ]
        shown = _SHOWN if self.question is not None else _SHOWN_OF_A_SCORE
        return {name: known[name] for name in (*shown, *more)} | self.typed_summary()

    def typed_summary(self) -> dict[str, Any]:
        """What typed regeneration adds to a run's summary; nothing without it."""
        return self.model_dump(mode="json", include=_TYPED) if self.regeneration == "typed" else {}


RUN_DETAILS = tuple(name for name in Run.model_fields if name not in {*_SHOWN, *_TYPED, "status"})
"""The fields of a run that its summary shows only where they are asked for."""
