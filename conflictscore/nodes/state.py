"""What flows through the graph, and what a run is given to work with.

The state holds plain JSON values only, so that any checkpointer can store it. Clients, prompts
and limits stand in the run's context, which is never stored.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from conflictscore.labelers.protocol import Labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import (
    CONFLICT,
    Answer,
    Attempt,
    Claim,
    ClaimEvidence,
    Disputed,
    Document,
    Duplicates,
    FurtherSearch,
    Method,
    Regeneration,
    Revision,
    Run,
    RunStatus,
    Usage,
)
from conflictscore.retrieval.documents import DocumentLike
from conflictscore.storage.cache import ContentCache
from conflictscore.trust import TrustTable

__all__ = [
    "Answerer",
    "Decision",
    "Doubt",
    "Given",
    "LookFurther",
    "RagInput",
    "RagState",
    "RunContext",
    "RunRuntime",
    "ScorerInput",
    "Unsettled",
    "attempts_of",
    "claims_of",
    "documents_of",
    "draft_of",
    "evidence_of",
    "revisions_of",
    "run_of",
    "searches_of",
    "spent",
    "time_left",
    "timed",
    "weights_of",
]

T = TypeVar("T")
Decision = Literal["look_further", "regenerate", "justify", "record"]
"""Where the loop goes after an answer was scored."""
Unsettled = Literal["hedge", "keep"]
"""What becomes of a passage where the evidence cannot settle who is right: it says that the sources
disagree, or it stays as it is."""
LookFurther = Literal["off", "disputed", "unsupported"]
"""For which claims the retriever is asked once more before an answer is given again: for none, for
those that are disputed, or also for those that no document speaks to."""


class RagInput(TypedDict, total=False):
    """What a run starts from."""

    question: str
    options: list[str]
    """The two options of a binary multiple-choice question; absent or empty in free form."""
    documents: Sequence[DocumentLike]
    """Documents that exist already: texts, LangChain ``Document``s, or mappings with ``text`` and
    as known ``title`` and ``url``; with them nothing is retrieved."""
    history: list[dict[str, str]]
    """The conversation before the question, oldest turn first: ``role``, which is
    ``system``, ``user`` or ``assistant``, and ``content``."""
    draft_answer: str
    """A first answer that exists already; it is scored, and nothing is generated in its place."""


class ScorerInput(TypedDict, total=False):
    """What scoring alone starts from."""

    answer: str
    documents: Sequence[DocumentLike]


class RagState(RagInput, total=False):
    """The state of one question; JSON forms of the records."""

    asked: str
    """The question as it was asked; ``question`` can be understood without the conversation."""
    run_id: str
    method: str
    draft: dict[str, Any]
    """The answer of this round, an Answer."""
    reconsidered: dict[str, Any] | None
    """The ClaimEvidence that this round's answer was regenerated from."""
    revisions: list[dict[str, Any]]
    """What this round's answer was revised in, as Revision; none where it was given anew."""
    claims: list[dict[str, Any]]
    """The draft's claims, as Claim."""
    decomposition_error: str | None
    unclaimed: str | None
    """What of the draft was not taken apart into claims, in words."""
    evidence: list[dict[str, Any]]
    """The draft's claims with their labels, as ClaimEvidence."""
    attempts: list[dict[str, Any]]
    """Every scored answer so far, as Attempt."""
    searches: list[dict[str, Any]]
    """What was searched for after the first documents, as FurtherSearch."""
    decision: Decision
    reason: str
    """Why the loop went where it went."""
    regeneration_error: str
    """Why an answer could not be regenerated; absent where there was no failure."""
    notes: list[str]
    """What the reader of the answer should know, such as documents that were cut."""
    usage: dict[str, int]
    timings: dict[str, float]
    """Seconds that each node took, all its rounds together."""
    answer: str
    first_answer: str
    flipped: bool
    justification: str | None
    flip: dict[str, Any] | None
    flips: list[dict[str, Any]]
    """What was changed in the answer, passage by passage, as Revision."""
    checked: str
    """Whether the answer that stands was checked, as Checked."""
    report: dict[str, Any]
    """The first answer's scores, as ConflictReport.summary(); None where it has no text."""
    final_report: dict[str, Any] | None
    """The last answer's scores; None where nothing was regenerated."""


class Given(NamedTuple):
    """An answer, as the answerer gave it."""

    answer: Answer
    notes: tuple[str, ...] = ()
    """What the reader of the run should know about how it was obtained."""
    seconds: float = 0.0
    """The time that it had taken before the loop asked for it."""


@dataclass(frozen=True)
class Doubt:
    """Why an answer is asked for again."""

    before: Answer
    claim: ClaimEvidence
    """Its claim that has evidence on both sides, with its labels."""
    weights: Mapping[int, float] = field(default_factory=dict)
    """How far documents are trusted; empty where all are alike."""


class Answerer(Protocol):
    """Who answers: the language model, or the caller's agent or function in its place."""

    async def first(self, state: RagState, meter: UsageMeter) -> Given:
        """Answer the question from the documents; the calls that ``meter`` counts are the run's.

        An answer without text is not scored. An error ends the run.
        """
        ...

    async def again(self, state: RagState, doubt: Doubt, meter: UsageMeter) -> Given:
        """Answer once more, with both sides of a claim in view.

        A ProviderError, a ContextWindowError and an answer without text leave the earlier answer,
        with a note. Any other error ends the run.
        """
        ...

    async def reply(
        self,
        state: RagState,
        prompt: str,
        read: Callable[[str], T],
        meter: UsageMeter,
        *,
        max_tokens: int,
    ) -> T:
        """Reply to a request about an answer, which holds all that is needed for it.

        Args:
            state: Has the question, the documents and the conversation before it.
            prompt: The request.
            read: Turns the reply into a value, or raises ValueError with the reason why not.
            meter: Counts the calls.
            max_tokens: The most that the reply may have, for whoever can be held to it.

        Raises:
            ProviderError: There is no reply, or none that can be read. It leaves what the request
                was about as it is, and so does a ContextWindowError. Any other error ends the run.
        """
        ...


@dataclass(frozen=True)
class RunContext:
    """The collaborators and settings of a run."""

    generator: LanguageModel
    """Answers and regenerates."""
    decomposer: LanguageModel
    """Takes answers apart into claims."""
    labeler: Labeler
    prompts: PromptSet
    retriever: BaseRetriever | None = None
    """None where the documents are given."""
    answerer: Answerer | None = None
    """Who answers in place of the generator. It knows the conversation before the question, and is
    asked within it."""
    method: Method = Method.REGENERATED_RAG
    max_rounds: int = 1
    """The most regenerations."""
    regeneration: Regeneration = "paper"
    disputed: Collection[Disputed] = CONFLICT
    """Which claims are looked at again."""
    unsettled: Unsettled = "hedge"
    """What a revision does where the evidence settles nothing."""
    look_further: LookFurther = "off"
    """For which claims the retriever is asked once more."""
    guard: bool = False
    """Whether a new answer, or passage, stands only where its evidence is better."""
    min_coverage: float | None = None
    """From which coverage on an answer counts as checked, in [0, 1]; None where one labelled pair
    is enough, and nobody is warned."""
    cache: ContentCache | None = None
    """Where verdicts are kept."""
    answer_parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further call parameters of the generator where it answers, such as a caller's stop words."""
    duplicates: Duplicates = "vote"
    """What documents that are not independent count."""
    trust: TrustTable | None = None
    """What weighs documents; None where all count alike."""
    budget_seconds: float | None = None
    """The time that a run may take, with every step; None for no limit."""
    max_claims: int | None = None
    """The most claims of an answer to label; None for all."""
    effort: str | None = None
    """The name under which the settings go together, for the log; decides nothing."""
    run_id: str | None = None
    """The run's id where whoever starts it has given one away; None for a new one."""

    @property
    def model_names(self) -> dict[str, str | None]:
        """Who answers, takes apart and labels, for the record of a run; plain JSON."""
        return {
            "generator": self.generator.name,
            "decomposer": self.decomposer.name,
            "labeler": self.labeler.name,
            "endpoint": self.generator.endpoint,
            "reasoning_effort": (self.generator.parameters or {}).get("reasoning_effort"),
        }


RunRuntime = Runtime[RunContext]


def documents_of(state: RagInput) -> tuple[Document, ...]:
    """The documents of the question."""
    return tuple(Document.model_validate(item) for item in state.get("documents", []))


def attempts_of(state: RagState) -> tuple[Attempt, ...]:
    """The scored answers so far, first to last."""
    return tuple(Attempt.model_validate(item) for item in state.get("attempts", []))


def weights_of(state: RagState) -> Mapping[int, float]:
    """How far documents are trusted by the last answer's scores; empty where all are alike."""
    last = attempts_of(state)[-1:]
    return last[0].report.weights if last and last[0].report else {}


def searches_of(state: RagState) -> tuple[FurtherSearch, ...]:
    """What was searched for after the first documents."""
    return tuple(FurtherSearch.model_validate(item) for item in state.get("searches", []))


def draft_of(state: RagState) -> Answer:
    """The answer of this round."""
    return Answer.model_validate(state["draft"])


def run_of(state: Mapping[str, Any]) -> Run:
    """What a run resulted in, from the final state of the graph or from what is known so far.

    Args:
        state: A state of the loop or of scoring alone, at any time.
    """
    known = {name: state[name] for name in Run.model_fields if state.get(name) is not None}
    if "run_id" not in known:  # until documents have their numbers they are as the caller gave them
        known.pop("documents", None)
    known.setdefault("asked", known.get("question"))
    run = Run.model_validate(known)
    answers = [*(attempt.answer for attempt in run.attempts)]
    if state.get("draft"):
        answers.append(Answer.model_validate(state["draft"]))
    texts = {"first_answer": answers[0].text, "answer": answers[-1].text} if answers else {}
    run = run.model_copy(update={name: text for name, text in texts.items() if name not in state})
    return run.model_copy(update={"status": _status(run, finished="flipped" in state)})


def _status(run: Run, *, finished: bool) -> RunStatus:
    report = run.report
    if report is None:
        return RunStatus.PASSED_THROUGH if finished else RunStatus.UNFINISHED
    if not finished:
        return RunStatus.UNFINISHED
    if report.error or (report.claims and report.cs_c is None):
        return RunStatus.FAILED
    if run.flipped:
        return RunStatus.CORRECTED
    if run.checked == "no":
        return RunStatus.FAILED
    if report.conflicting or report.disputed:
        return RunStatus.KEPT
    return RunStatus.PARTLY_SCORED if run.is_partial else RunStatus.SCORED


def claims_of(state: RagState) -> tuple[Claim, ...]:
    """The claims of this round's answer."""
    return tuple(Claim.model_validate(item) for item in state.get("claims", []))


def revisions_of(state: RagState) -> tuple[Revision, ...]:
    """What this round's answer was revised in."""
    return tuple(Revision.model_validate(item) for item in state.get("revisions", []))


def evidence_of(state: RagState) -> tuple[ClaimEvidence, ...]:
    """The labelled claims of this round's answer."""
    return tuple(ClaimEvidence.model_validate(item) for item in state.get("evidence", []))


def time_left(state: RagState, context: RunContext) -> float | None:
    """Seconds left of the run's time budget, from 0; None where it has none."""
    if context.budget_seconds is None:
        return None
    return max(0.0, context.budget_seconds - sum(state.get("timings", {}).values()))


def timed(state: RagState, node: str, seconds: float) -> dict[str, float]:
    """The run's timings with this node's added, for the state update."""
    timings = state.get("timings", {})
    return {**timings, node: timings.get(node, 0.0) + seconds}


def spent(state: RagState, usage: Usage) -> dict[str, int]:
    """The run's usage with this step's added, for the state update."""
    before: Mapping[str, int] = state.get("usage", {})
    return (Usage.model_validate(before) + usage).model_dump()
