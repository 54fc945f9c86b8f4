"""Input for a step of the loop, constructed by hand: labelled answers, settings, a state."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from conflictscore.errors import BudgetError, FailureKind, ProviderError
from conflictscore.loop.state import (
    GeneratedAnswer,
    RagState,
    RevisionRequest,
    RunContext,
    RunRuntime,
)
from conflictscore.metric import conflict_report
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    Claim,
    ClaimEvidence,
    ConflictReport,
    Document,
    EvidenceLabel,
    Label,
    RevisionAction,
    Usage,
)
from conflictscore.settings import Settings

T = TypeVar("T")
SPENT = BudgetError(kind="calls", spent=9, limit=9)
PROMPTS = PromptSet.load()

_LABELS = {
    "+": Label.SUPPORTS,
    "-": Label.CONTRADICTS,
    "0": Label.IRRELEVANT,
    "?": Label.UNLABELLED,
    "!": Label.UNLABELLED,
    "x": Label.UNLABELLED,
}
_FAILURES = {"?": FailureKind.TIMED_OUT, "!": FailureKind.UNREADABLE, "x": FailureKind.FAILED}


def claim_with(
    sides: str, text: str = "It was lit.", number: int = 1, at: tuple[int, int] | None = None
) -> ClaimEvidence:
    """A claim with a label per document: ``+``, ``-``, ``0``, or none.

    ``?`` got no answer in time, ``!`` an unreadable one, and ``x`` failed for an unknown reason.
    """
    return ClaimEvidence(
        claim=Claim(number=number, text=text, passage=at),
        labels=tuple(
            EvidenceLabel(
                claim=number,
                document=document,
                label=_LABELS[side],
                error="the judge was silent" if side in _FAILURES else None,
                failure=_FAILURES.get(side),
            )
            for document, side in enumerate(sides, start=1)
        ),
    )


def scored(*claims: ClaimEvidence, **settings: Any) -> ConflictReport:
    """The scores of an answer with these claims."""
    return conflict_report(claims, **settings)


def attempt(report: ConflictReport | None, text: str = "In 1871.", **fields: Any) -> Attempt:
    """An answer with its scores; the first one unless ``round`` says otherwise."""
    answer = Answer(text=text, justification=fields.pop("justification", None))
    return Attempt(**{"round": 0, "answer": answer, "report": report, **fields})


def revision(before: str, after: str, start: int = 0, **fields: Any) -> Change:
    """A passage, and the text to replace it."""
    known: dict[str, Any] = {"round": 1, "start": start, "end": start + len(before)}
    known |= {"before": before, "after": after, "action": RevisionAction.REPLACE}
    return Change(**{**known, **fields})


def setting(**fields: Any) -> RunContext:
    """A run of the paper's loop that asks no model, except for these fields."""
    chosen = {
        name: fields.pop(name) for name in Settings.names() if name in fields and name != "labeler"
    }
    paper: dict[str, Any] = {"effort": "paper", "labeler": None, "prompts": None, **chosen}
    nobody: Mapping[str, Any] = dict.fromkeys(("generator", "decomposer", "labeler"))
    return RunContext(**{**nobody, "settings": Settings(**paper), **fields})


def running(context: RunContext, events: list[Any] | None = None) -> RunRuntime:
    """A run with this setting, which appends its events to a list."""
    told = [] if events is None else events
    return RunRuntime(context, told.append)


class Says:
    """A model that gives its replies in order, and repeats the last one."""

    name = "scripted"
    context_window = 8192
    is_local = False

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def ask(
        self, prompt: str, read: Callable[[str], T], *, meter: UsageMeter, **how: Any
    ) -> T:
        self.asked.append((prompt, how))
        said = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(said, Exception):
            raise said
        meter.count(Usage(calls=1, input_tokens=7, output_tokens=3))
        return read(said)


class Answers:
    """Answers in the model's place, with a given answer or an error."""

    def __init__(self, *given: GeneratedAnswer | Exception | str) -> None:
        self.given = list(given)
        self.doubts: list[RevisionRequest] = []
        self.requests: list[tuple[str, int]] = []

    async def again(
        self, state: RagState, request: RevisionRequest, meter: UsageMeter
    ) -> GeneratedAnswer:
        self.doubts.append(request)
        return self._next(meter)

    async def reply(
        self,
        state: RagState,
        prompt: str,
        read: Callable[[str], T],
        meter: UsageMeter,
        *,
        max_tokens: int,
    ) -> T:
        self.requests.append((prompt, max_tokens))
        said = self._next(meter).answer.text
        try:
            return read(said)
        except ValueError as error:
            raise ProviderError(f"unreadable: {error}", provider="somebody") from None

    def _next(self, meter: UsageMeter) -> GeneratedAnswer:
        given = self.given.pop(0)
        if isinstance(given, Exception):
            raise given
        meter.count(Usage(calls=1, input_tokens=7, output_tokens=3))
        return GeneratedAnswer(Answer(text=given)) if isinstance(given, str) else given


class Judge:
    """Knows each claim's sides by document, and records its pairs; other pairs end the budget."""

    name, identity, scripts = "judge", None, frozenset({"LATIN"})

    def __init__(self, **sides: str) -> None:
        self.sides = sides
        self.asked: list[tuple[str, int]] = []

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        self.asked.append((claim.text, document.number))
        sides = self.sides.get(claim.text, "")
        if document.number > len(sides):
            raise SPENT
        if sides[document.number - 1] == "?":
            raise ProviderError("the judge was silent", provider="judge")
        meter.count(Usage(calls=1, input_tokens=7, output_tokens=3))
        label = _LABELS[sides[document.number - 1]]
        return EvidenceLabel(claim=claim.number, document=document.number, label=label)
