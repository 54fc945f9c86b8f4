"""The state of the graph, and the context of a run.

The state holds plain JSON and LangChain's messages, so that any checkpointer can store it. Clients,
prompts and limits are in the run's context, which is never stored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, Protocol, Self, TypeVar

from langchain_core.messages import AnyMessage, MessageLikeRepresentation
from langchain_core.retrievers import BaseRetriever
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from conflictscore.labelers.protocol import Labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    Claim,
    ClaimEvidence,
    Document,
    FurtherSearch,
    Method,
    Record,
    Usage,
)
from conflictscore.retrieval.documents import DocumentLike
from conflictscore.settings import Settings
from conflictscore.storage.cache import ContentCache

T = TypeVar("T")


class GeneratedAnswer(NamedTuple):
    """An answer as returned by the answerer."""

    answer: Answer
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    """The time that the answerer had already spent on the answer when the loop asked for it."""


@dataclass(frozen=True)
class RevisionRequest:
    """An answer to rewrite, with the claim to reconsider and its evidence."""

    before: Answer
    claim: ClaimEvidence
    weights: Mapping[int, float] = field(default_factory=dict)
    """The weight of each document, by its number; empty if all documents count equally."""


class Written(NamedTuple):
    """A rewritten answer."""

    changes: tuple[Change, ...]
    """The reconsidered passages, at least one, in the order in which they occur in the answer."""
    answer: Answer | None = None
    """The new answer; None if every reconsideration failed, as the notes of the changes explain."""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    """The time that the answerer had already spent on the answer when the loop asked for it."""


class Answerer(Protocol):
    """An answerer: the language model, or a caller's agent or function in its place."""

    async def first(self, state: "RagState", meter: UsageMeter) -> GeneratedAnswer:
        """Answer the question from the documents; ``meter`` counts the calls for the run.

        An answer without text is not scored. An error ends the run.
        """
        ...

    async def again(
        self, state: "RagState", request: RevisionRequest, meter: UsageMeter
    ) -> GeneratedAnswer:
        """Rewrite the answer, given the evidence for and against a claim.

        The earlier answer is kept and a note is added if the call raises a ProviderError or a
        ContextWindowError, or if the new answer has no text. Any other error ends the run.
        """
        ...

    async def reply(
        self,
        state: "RagState",
        prompt: str,
        read: Callable[[str], T],
        meter: UsageMeter,
        *,
        max_tokens: int,
    ) -> T:
        """Reply to a request about an answer; the prompt contains everything that is needed.

        If the call raises a ProviderError (no readable reply) or a ContextWindowError, the passage
        in question stays unchanged. Any other error ends the run.
        """
        ...


R = TypeVar("R", bound=Record)
Decision = Literal["look_further", "correct", "decompose", "justify", "record"]
"""The next step after an answer has been scored."""


class RagInput(TypedDict, total=False):
    """Input to the loop."""

    question: str
    options: list[str]
    """The 2 to 26 options of a multiple-choice question; absent or empty for other questions."""
    documents: Sequence[DocumentLike]
    """Texts, LangChain ``Document``s, or mappings with ``text`` and optional ``title`` and ``url``.
    If there are any, the retriever is not queried."""
    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation; its last human message is the question. If ``question`` is given too, it
    replaces the last human message, which may be a prompt with more than the question. The answer
    is appended, so that a checkpointer's thread holds questions and answers.
    """
    history: Sequence[MessageLikeRepresentation]
    """The conversation before the question, if it is not in ``messages``, oldest message first.
    Each message is a LangChain message, a pair of role and text, or a mapping with ``role`` and
    ``content``.
    """
    draft_answer: str
    """A first answer to score instead of generating one."""
    is_question_clear: bool
    """Whether the question can be put to documents; false for a placeholder. True by default."""


class ScorerInput(TypedDict, total=False):
    """Input of a run that only scores an answer."""

    answer: str
    documents: Sequence[DocumentLike]


class RagState(RagInput, total=False):
    """The state of one question, with records in JSON form."""

    asked: str
    """The question in the user's words. ``question``, in contrast, can be understood without the
    conversation."""
    run_id: str
    method: str
    draft: dict[str, Any]
    """The answer of this round, as an Answer."""
    changes: list[dict[str, Any]]
    """Every passage that was reconsidered, as a Change."""
    claims: list[dict[str, Any]]
    """The draft's claims, each as a Claim."""
    decomposition_error: str | None
    gaps: list[dict[str, Any]]
    """The parts of the draft that no claim covers, each as a Gap."""
    evidence: list[dict[str, Any]]
    """The draft's claims with their labels, each as ClaimEvidence."""
    attempts: list[dict[str, Any]]
    """Every scored answer so far, as an Attempt."""
    searches: list[dict[str, Any]]
    """The further searches, which follow the first answer, each as a FurtherSearch."""
    decision: Decision
    reason: str
    """The reason for ``decision``."""
    regeneration_error: str
    """Why an answer could not be corrected; None if nothing failed."""
    notes: list[str]
    """Remarks for readers of the answer, for example that a document was cut."""
    usage: dict[str, int]
    timings: dict[str, float]
    """The seconds that each node took, over all rounds."""
    answer: str
    first_answer: str
    flipped: bool
    justification: str | None
    checked: str
    """How far the final answer was checked: ``fully``, ``partly`` or ``no``."""
    examined: dict[str, Any]
    """The ledger of what was examined in the final answer and its evidence, as Examined."""
    report: dict[str, Any]
    """The scores of the first answer (``ConflictReport.summary()``); None if it has no text."""
    final_report: dict[str, Any] | None
    """The scores of the last answer; None if no answer was corrected."""


Reconsider = Literal["worst", "first", "most-evidence", "asked"]
"""Ways to choose the paper's "main claim that had conflicts"."""


class Reader(NamedTuple):
    """A model, together with the run's prompt templates and usage meter."""

    model: LanguageModel
    prompts: PromptSet
    meter: UsageMeter

    async def ask(self, prompt: str, read: Callable[[str], T], max_tokens: int, **more: Any) -> T:
        """Call :meth:`LanguageModel.ask` with the run's templates and meter."""
        options: Any = {"prompts": self.prompts, "meter": self.meter, **more}
        return await self.model.ask(prompt, read, max_tokens=max_tokens, **options)


@dataclass(frozen=True)
class RunContext:
    """The settings of a run, and the models, retriever and labeler opened for it."""

    generator: LanguageModel
    """The model that answers and corrects."""
    decomposer: LanguageModel
    """The model that splits answers into claims."""
    labeler: Labeler
    settings: Settings = field(default_factory=Settings)
    retriever: BaseRetriever | None = None
    """The source of documents; None if the caller passes the documents."""
    answerer: Answerer | None = None
    """A caller's agent or function that answers instead of the generator. The agent or function
    already knows the conversation that preceded the question.
    """
    method: Method = Method.REGENERATED_RAG
    """The method of the run; the default method corrects its answer. All other methods answer only
    once; benchmarks compare them with the default.
    """
    cache: ContentCache | None = None
    """The cache of verdicts; None for no cache."""
    max_pairs: int | None = None
    """Maximum number of pairs of a claim and a document to label in a run; None for no limit. If
    there are more, only the claims that the documents cover best are labelled."""
    answer_parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further call parameters for the generator's answers, such as a caller's stop words."""
    answer_check: Callable[[str], str | None] | None = None
    """A function that returns why an answer violates the requested format, such as a JSON schema.
    The function returns None for a valid answer. Changes that violate the format are not made. If
    any text is allowed, the field is None.
    """
    run_id: str | None = None
    """The run's id, if the caller set it; if None, a new id is made."""
    reconsider: Reconsider = "worst"
    """Which conflicting claim to reconsider when an answer is rewritten.

    The choices are the claim with the highest share of contradiction, the first claim, the claim
    with the most evidence, and the claim that the model names as its main claim.
    """
    on_event: "Callable[[Mapping[str, Any]], None] | None" = None
    """A function that is called with each event of the run; its errors are logged. The step itself
    calls it, in the thread of its event loop, so it must return at once."""
    option_probabilities: bool = False
    """Whether to choose options by the probability of their letters, and to store the
    probabilities."""
    check_last: bool = True
    """Whether to score the answer of the last round, and to ask the model for a reason if it gave
    none. Benchmarks of the paper's loop set this to False if they do not need the score."""

    @property
    def prompts(self) -> PromptSet:
        """The run's prompt templates, from its settings."""
        return self.settings.prompts

    def reader(self, meter: UsageMeter) -> Reader:
        """Return the model that answers, with templates and a meter."""
        return Reader(self.generator, self.prompts, meter)

    def judge(self, meter: UsageMeter) -> Reader:
        """Return the model that splits answers and weighs evidence, with templates and a meter."""
        return Reader(self.decomposer, self.prompts, meter)

    @property
    def model_names(self) -> dict[str, str | None]:
        """The names of the models that answer, split answers and label evidence, as plain JSON."""
        return {
            "generator": self.generator.name,
            "decomposer": self.decomposer.name,
            "labeler": self.labeler.name,
            "endpoint": self.generator.endpoint,
            "reasoning_effort": (self.generator.parameters or {}).get("reasoning_effort"),
        }


def unheard(event: Any) -> None:
    """Discard an event; used for runs without a listener, as when a file is scored."""


@dataclass(frozen=True)
class RunRuntime:
    """A node's context and event stream."""

    context: RunContext
    stream_writer: Callable[[Any], None] = unheard


def plain_records(
    state: Mapping[str, Any], field: str, records: Sequence[Record]
) -> list[dict[str, Any]]:
    """Convert records to JSON for a state update, and store them for reuse by later steps."""
    if not isinstance(state, StateOfRecords):
        return [record.to_json() for record in records]
    plain: list[Any] = [*records]
    if state.as_json:
        plain = [record.to_json() for record in records]
    state.keep(field, plain, records)
    return plain


RecordsByField = dict[str, tuple[object, tuple[Any, ...]]]
"""Maps a field of the state to the JSON object that it contained, and to the records from it."""


class StateOfRecords(dict[str, Any]):
    """A state that builds each record from its JSON at most once.

    Records that a step already built are used as they are. All steps read the same documents,
    claims and labels. Validating these records takes longer than all other work of a step except
    its model calls. The steps of a graph share the records through the mapping ``made``. If
    ``as_json`` is False, no step converts records to JSON, since nobody stores the state.
    """

    def __init__(
        self, fields: Mapping[str, Any], made: RecordsByField | None = None, *, as_json: bool = True
    ) -> None:
        super().__init__(fields)
        self._made = {} if made is None else made
        self.as_json = as_json

    def updated(self, update: Mapping[str, Any]) -> Self:
        """Return the state after an update; records of unchanged fields are reused."""
        return type(self)({**self, **update}, self._made, as_json=self.as_json)

    def keep(self, field: str, plain: object, records: Sequence[Record]) -> None:
        """Store a field's records for reuse as long as the field contains the object ``plain``."""
        self._made[field] = (plain, tuple(records))

    def records(self, kind: type[R], field: str) -> tuple[R, ...]:
        """Return the records in a field, as objects of the class ``kind``."""
        plain = self.get(field, ())
        made_of, records = self._made.get(field, (None, ()))
        if made_of is not plain:
            records = tuple(map(kind.model_validate, plain))
            self._made[field] = (plain, records)
        return records


def _reader(kind: type[R], field: str) -> Callable[[Mapping[str, Any]], tuple[R, ...]]:
    def read(state: Mapping[str, Any]) -> tuple[R, ...]:
        if type(state) is StateOfRecords:  # faster than isinstance; a row reads 16 fields
            return state.records(kind, field)
        return tuple(map(kind.model_validate, state.get(field, ())))

    return read


documents_of = _reader(Document, "documents")
attempts_of = _reader(Attempt, "attempts")
"""The scored answers so far, first to last."""
searches_of = _reader(FurtherSearch, "searches")
claims_of = _reader(Claim, "claims")
changes_of = _reader(Change, "changes")
"""All reconsidered passages so far, by round and in the order of the answer."""
evidence_of = _reader(ClaimEvidence, "evidence")


def draft_of(state: RagState) -> Answer:
    """Return the answer of this round."""
    return Answer.model_validate(state["draft"])


def changes_in(state: RagState, number: int) -> tuple[Change, ...]:
    """Return the changes of one round of correction."""
    return tuple(change for change in changes_of(state) if change.round == number)


def with_changes(state: RagState, changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Return all changes of the run; the new ones replace earlier ones of the same round."""
    rounds = {change.round for change in changes}
    others = [each for each in state.get("changes", []) if each["round"] not in rounds]
    everything = [*others, *(change.to_json() for change in changes)]
    # the new changes are last in the list, but may belong to an earlier round
    return sorted(everything, key=lambda change: change["round"])


def may_be_given_up(state: RagState, context: RunContext) -> bool:
    """Return whether the answer being checked can still be dropped in favour of the previous one.

    If the answer can be dropped, only this answer is lost when the budget is used up, and the run
    continues.
    """
    in_place = context.settings.regeneration == "revise" and not state.get("options")
    return bool(state.get("changes")) and (context.settings.guard or in_place)


def spent(state: RagState, usage: Usage) -> dict[str, int]:
    """Return the run's usage plus the usage of this step, for the state update."""
    before: Mapping[str, int] = state.get("usage", {})
    return (Usage.model_validate(before) + usage if before else usage).model_dump()
