"""Records of answers, attempts and runs."""

import json
from enum import StrEnum
from functools import cache
from operator import not_
from typing import Annotated, Any, Self

from pydantic import Field

from conflictscore.records.correction import Change, differs
from conflictscore.records.evidence import ConflictReport, Document
from conflictscore.records.examined import Checked, Examined, Gap, GapKind
from conflictscore.records.record_base import Record, encodable, is_none


class Method(StrEnum):
    """How an answer is produced (paper, section 6.1)."""

    RAG = "rag"  # Answer from the documents, with a prompt that does not mention conflicts.
    # Answer from the documents, with a prompt that warns of conflicts; the answer is not scored.
    CONTROL_RAG = "control-rag"
    # Answer like `rag`, then score the answer, and correct it if a claim is disputed.
    REGENERATED_RAG = "regenerated-rag"


class Answer(Record):
    """An answer by the model."""

    text: str
    """The answer; for multiple-choice questions, the full text of the chosen option."""
    option: Annotated[int, Field(ge=0)] | None = None
    """Index of the chosen option, from 0; None in free form."""
    probabilities: Annotated[tuple[float, ...], Field(exclude_if=not_)] = ()
    """The probability of each option; the probabilities sum to 1. Empty if the model was not asked
    for probabilities.
    """
    justification: str | None = None
    """The model's reason for this answer, if it was asked for one."""
    cited: tuple[int, ...] = ()
    """Numbers of the documents that the justification cites."""
    early_ending: Annotated[str | None, Field(exclude_if=is_none)] = None
    """Why the answer may be incomplete; None if the model ended it normally."""


class Attempt(Record):
    """One pass through the correction loop: an answer and its score."""

    round: Annotated[int, Field(ge=0)]
    """Number of the round: 0 for the first answer, then one more for each correction."""
    answer: Answer
    report: ConflictReport | None = None
    """The scores; None if the answer has not been scored."""
    unclaimed: str | None = None
    """A description of the part of the answer that was not checked because no claim covers it; None
    if no such part is known."""
    gaps: Annotated[tuple[Gap, ...], Field(exclude_if=not_)] = ()
    """The uncovered parts of the answer, by kind and position, and the claims that say more than
    the answer."""


class FurtherSearch(Record):
    """A search for further documents about a doubtful claim."""

    round: Annotated[int, Field(ge=0)]  # The round of the answer that contains the claim.
    claim: str
    supports: tuple[int, ...] = ()  # Documents that supported the claim before the search.
    contradicts: tuple[int, ...] = ()  # Documents that contradicted the claim before the search.
    query: str = ""  # The query; empty if there was no search.
    found: tuple[int, ...] = ()  # Numbers of the documents that the search added.
    known: tuple[int, ...] = ()  # Numbers of results that the run already had, ascending.
    left_out: tuple[str, ...] = ()  # Titles or addresses of results that were not used.
    note: str | None = None
    """Why there was no search, why it found nothing, or why some results were not used."""


_Kept = Annotated[int, Field(ge=0, exclude_if=not_)]


class Usage(Record):
    """Numbers of calls and tokens in a run. Usages can be added and subtracted."""

    calls: Annotated[int, Field(ge=0)] = 0  # Model calls that reached a provider.
    cached_calls: Annotated[int, Field(ge=0)] = 0  # Cached replies and verdicts, including NLI's.
    input_tokens: Annotated[int, Field(ge=0)] = 0
    cache_read_tokens: Annotated[int, Field(ge=0)] = 0
    """Input tokens found in the provider's prompt cache. May exceed ``input_tokens``: usages are
    subtracted field by field, and negative differences become 0.
    """
    output_tokens: Annotated[int, Field(ge=0)] = 0
    counted_calls: _Kept = 0
    """The number of ``cached_calls`` whose token counts are known; the next three fields add up
    these counts. Replies cached by older versions have no token counts.
    """
    kept_input_tokens: _Kept = 0
    kept_cache_read_tokens: _Kept = 0
    kept_output_tokens: _Kept = 0

    @property
    def cold(self) -> "Usage | None":
        """The usage that the run would have had without a cache.

        None if a cached reply's token counts are unknown.
        """
        if self.counted_calls < self.cached_calls:
            return None
        return Usage(
            calls=self.calls + self.cached_calls,
            input_tokens=self.input_tokens + self.kept_input_tokens,
            cache_read_tokens=self.cache_read_tokens + self.kept_cache_read_tokens,
            output_tokens=self.output_tokens + self.kept_output_tokens,
        )

    def kept(self) -> "Usage":
        """Return the usage of this single reply, moved to the fields for cached replies."""
        return Usage(
            cached_calls=1,
            counted_calls=1,
            kept_input_tokens=self.input_tokens,
            kept_cache_read_tokens=self.cache_read_tokens,
            kept_output_tokens=self.output_tokens,
        )

    def __add__(self, other: "Usage") -> "Usage":
        mine, theirs = vars(self), vars(other)
        return Usage(**{name: mine[name] + theirs[name] for name in mine})

    def __sub__(self, other: "Usage") -> "Usage":
        mine, theirs = vars(self), vars(other)
        return Usage(**{name: max(0, mine[name] - theirs[name]) for name in mine})


class RunStatus(StrEnum):
    """Outcome of a run.

    Stored runs of older versions may have the statuses ``observed`` and ``dropped``. These two
    statuses can still be read, but are no longer set.
    """

    SCORED = "scored"  # No claim of the first answer is disputed.
    PARTLY_SCORED = "partly-scored"  # No claim is disputed, as far as the available labels show.
    CORRECTED = "corrected"  # The answer was changed.
    KEPT = "kept"  # A claim is disputed, but the answer was not changed.
    ANNOTATED = "annotated"  # The answer got a note that says where its sources disagree.
    PASSED_THROUGH = "passed-through"  # The answer was passed on unchanged and unchecked.
    FAILED = "failed"  # The answer could not be checked, or there is no answer.
    UNFINISHED = "unfinished"  # The run was stopped early.

    @classmethod
    def _missing_(cls, value: object) -> "RunStatus | None":
        return _former_status(value) if value in _FORMER_STATUSES else None


_FORMER_STATUSES = ("observed", "dropped")


@cache
def _former_status(name: str) -> RunStatus:
    """Return a status of older versions.

    A status of older versions is no longer a member of the enumeration, so it is never listed or
    set. The cache makes equal statuses identical, like members of an enumeration.
    """
    status = str.__new__(RunStatus, name)
    status._name_, status._value_ = name.upper(), name
    return status


# Maximum length of a run id in a verdict, in characters of JSON. A caller may set any run id; the
# limit keeps a verdict within 600 bytes.
_RUN_ID_CHARS = 120
# The fields of a summary, in the order in which they are shown.
_SHOWN = (
    "question",
    "method",
    "answer",
    "first_answer",
    "flipped",
    "changes",
    "checked",
    "examined",
    "justification",
    "documents",
    "report",
    "final_report",
    "usage",
    "run_id",
    "notes",
)
_SHOWN_OF_A_SCORE = (
    "answer",
    "checked",
    "examined",
    "documents",
    "report",
    "usage",
    "run_id",
    "notes",
)


def short_id(run_id: str | None) -> str | None:
    """Return the beginning of a run's id for a verdict, or None if there is no id."""
    short = (run_id or "")[:_RUN_ID_CHARS]
    while len(json.dumps(short)) - len('""') > _RUN_ID_CHARS:  # JSON may escape a character
        short = short[:-1]
    return short or None


class Run(Record):
    """A finished or interrupted run, scored or not."""

    question: str | None = None
    """The standalone question; None if an answer was scored without a question."""
    asked: str | None = None
    """The question in the user's own words, as asked in the conversation."""
    options: tuple[str, ...] = ()
    """The options of a multiple-choice question; empty in free form."""
    method: Method | None = None
    """How the answer was produced; None if the correction loop never began."""
    answer: str | None = None
    """The final answer; None if the run has no answer."""
    first_answer: str | None = None
    justification: str | None = None
    """Why the answer was changed or confirmed, if the model gave a reason."""
    changes: tuple[Change, ...] = ()
    """One change for every passage that got a second look, ordered by round and position. Each
    change holds the proposed text, the evidence, and whether the text was accepted."""
    checked: Checked | None = None
    """How far the final answer was checked; None if the run did not finish."""
    examined: Annotated[Examined | None, Field(exclude_if=is_none)] = None
    """The ledger of the final answer and its evidence, which determines ``checked``. None if the
    run did not finish."""
    documents: tuple[Document, ...] = ()
    searches: tuple[FurtherSearch, ...] = ()
    """The searches after the first one, if the run searched further."""
    attempts: tuple[Attempt, ...] = ()
    """Every answer, from first to last; unchecked answers have no report."""
    reason: str | None = None
    """Why the correction loop ended."""
    notes: tuple[str, ...] = ()
    """Notes for readers of the answer, for example on documents that were cut."""
    usage: Usage = Usage()
    timings: dict[str, float] = Field(default_factory=dict)
    """Seconds spent in each step, in total over all rounds."""
    run_id: str | None = None
    status: RunStatus = RunStatus.UNFINISHED

    @property
    def flipped(self) -> bool:
        """Whether the final answer differs from the first by more than white space and case."""
        return differs(self.first_answer or "", self.answer or "")

    @property
    def applied_changes(self) -> tuple[Change, ...]:
        """The changes that were actually made to the answer."""
        return tuple(change for change in self.changes if change.applied)

    @property
    def report(self) -> ConflictReport | None:
        """The first answer's scores; None if it was not scored."""
        return self.attempts[0].report if self.attempts else None

    @property
    def final_report(self) -> ConflictReport | None:
        """The final answer's scores, if a correction was scored; otherwise None."""
        last = self.attempts[-1] if self.attempts else None
        # the scores are not those of a text that was edited afterwards
        return last.report if last and last.round and last.answer.text == self.answer else None

    @property
    def answer_report(self) -> ConflictReport | None:
        """The final answer's scores; None if it was changed and not scored again."""
        return self.final_report or (None if self.flipped else self.report)

    @property
    def is_partial(self) -> bool:
        """Whether some claims or labels of the final answer are missing."""
        report = self.final_report or self.report
        if self.attempts:
            last = self.attempts[-1]
            # an answer that states nothing, such as a greeting, has no claims that could be missing
            if any(gap.kind is not GapKind.STATES_NOTHING for gap in last.gaps):
                return True
            if last.unclaimed and not last.gaps:
                return True
        return report is not None and report.coverage is not None and report.coverage < 1

    def with_gaps(self, *gaps: Gap) -> Self:
        """Return the run with further gaps added; each new gap also adds a note.

        A run without a ledger was not checked. If none of the added gaps says so, its new ledger
        begins with a gap that does.
        """
        gaps = tuple(Gap.model_validate(encodable(gap.model_dump())) for gap in gaps)
        if self.examined is None and Examined(gaps=gaps).checked != "no":
            gaps = (Gap(kind=GapKind.CHECK_FAILED, note="it was not scored"), *gaps)
        before = self.examined or Examined()
        ledger = before.with_gaps(*gaps)
        gap_notes = tuple(gap.note for gap in ledger.gaps[len(before.gaps) :])
        update: dict[str, Any] = {"examined": ledger, "checked": ledger.checked}
        return self.model_copy(update={**update, "notes": (*self.notes, *gap_notes)})

    def unchecked(self, answer: str, reason: str, kind: GapKind = GapKind.CHECK_FAILED) -> Self:
        """Return the run for an answer that is passed on unchecked, with the reason for this."""
        answer, reason = encodable((answer, reason))
        update: dict[str, Any] = {"answer": answer, "first_answer": answer, "reason": reason}
        update |= {"notes": (*self.notes, reason), "status": RunStatus.PASSED_THROUGH}
        ledger = Examined(gaps=(Gap(kind=kind, note=reason),))
        if ledger.checked != "no":  # a gap of this `kind` alone would mean “partly”
            ledger = Examined(gaps=(Gap(kind=GapKind.CHECK_FAILED, note=reason), *ledger.gaps))
        update |= {"examined": ledger, "checked": ledger.checked}
        return self.model_copy(update=update)

    def verdict(self) -> dict[str, Any]:
        """Return how far the answer was checked, in at most 600 bytes of JSON for a message.

        The fields of this verdict are ``checked``, ``reason``, ``kind``, ``cs_c``, ``cs_r``,
        ``flipped``, ``status`` and ``run_id``. ``reason`` says in words why the answer was not
        checked ``fully``, and ``kind`` is the same reason for programs, as a :class:`GapKind`.
        Reason and kind are None if the ledger has no gap. ``cs_c`` and ``cs_r`` are the scores of
        the final answer, in [0, 1] or None. The verdict quotes neither the answer nor its evidence,
        so it can be shown where those texts must not appear.
        """
        report = self.answer_report
        gap = self.examined.main_gap if self.examined else None
        return {
            "checked": self.checked or "no",
            "reason": gap.in_short if gap else None,
            "kind": gap.kind.value if gap else None,
            "cs_c": report.cs_c if report else None,
            "cs_r": report.cs_r if report else None,
            "flipped": self.flipped,
            "status": self.status.value,
            "run_id": short_id(self.run_id),
        }

    def summary(self, *more: str, texts: bool = True) -> dict[str, Any]:
        """Return the run as plain JSON for display, with the fields ``more`` of ``RUN_DETAILS``.

        If ``texts`` is False, documents have neither text nor metadata.
        """
        report, final = self.report, self.final_report
        fields = self.to_json() | {
            "flipped": self.flipped,
            "report": report.summary() if report else None,
            "final_report": final.summary() if final else None,
        }
        if not texts:
            fields["documents"] = [
                d.model_dump(mode="json", exclude={"text", "metadata"}) for d in self.documents
            ]
        names = _SHOWN if self.question is not None else _SHOWN_OF_A_SCORE
        searches = ("searches",) if self.searches else ()
        return {name: fields.get(name) for name in (*names, *searches, *more)}


RUN_DETAILS = tuple(name for name in Run.model_fields if name not in {*_SHOWN, "status"})
"""Fields of a run that its summary includes only on request."""
