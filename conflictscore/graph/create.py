"""The two entry points: from what a caller has to a compiled graph."""

from typing import Any, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.utils.env import env_var_is_set
from langgraph.checkpoint.base import BaseCheckpointSaver

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.graph.chains import ScoringGraph, build_scoring_graph
from conflictscore.graph.self_correction import SelfCorrectionGraph, build_self_correction_graph
from conflictscore.graph.settings import LoopOptions, LoopSettings, Model, ScoringOptions, takes
from conflictscore.labelers.registry import make_labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import attach
from conflictscore.models.spec import default_spec, from_chat_model, open_model, require_effort
from conflictscore.nodes.state import RunContext
from conflictscore.records import Method
from conflictscore.retrieval.opening import open_retrieval
from conflictscore.retrieval.providers import PROVIDERS, configured_search
from conflictscore.tokens import load_vocabularies

__all__ = [
    "create_conflict_scorer",
    "create_self_correcting_rag",
    "run_context",
]

_OTEL = "CONFLICTSCORE_OTEL"
"""The environment variable that turns OpenTelemetry on."""


@takes(LoopOptions)
def create_self_correcting_rag(
    model: Model | None = None,
    retriever: BaseRetriever | None = None,
    *,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    **settings: Unpack[LoopOptions],
) -> SelfCorrectionGraph:
    """Make a LangGraph graph that answers a question and corrects itself.

    Invoke it, sync or async, with ``{"question": …}``, and for binary multiple choice with
    ``"options": [a, b]``; ``"documents"`` (a list of texts, LangChain
    ``Document``s or mappings ``{"text": …}``) takes the place of retrieval, ``"draft_answer"`` that
    of the first answer, and ``"history": [{"role": …, "content": …}, …]``
    is the conversation before the question (``asked`` keeps the question as it was put). The final
    state has ``answer``, ``first_answer``, ``flipped``, ``justification``, ``flip``, ``documents``,
    ``report``, ``final_report``, ``attempts``, ``searches``, ``notes``, ``usage`` and ``run_id``.
    Streaming with ``stream_mode="custom"`` gives an event for every step.

    Args:
        model: What answers: a spec such as ``"openai:gpt-4.1-mini"`` or ``"local"``, or any
            LangChain chat model. By default OpenAI's where ``OPENAI_API_KEY`` is set, otherwise the
            embedded local model.
        retriever: Any LangChain retriever; by default the first web search whose variables are
            set, see ``open_retrieval``. Not needed where every question brings its documents.
        method: ``rag``, ``control-rag`` or ``regenerated-rag``.
        labeler: A name of ``conflictscore.labelers.LABELERS``, which says what each one does: by
            default ``cascade`` on the local model (``choice`` without the extra ``nli``) and
            ``json``, the paper's judge, elsewhere. Or a labeler of your own, or a function that
            makes one of the judging model and the templates; ``Cascade(NliLabeler.open(folder))``
            takes ``choice`` or ``json`` for the pairs that it leaves open.
        judge: The model that decomposes and labels; by default the one that answers.
        base_url: An OpenAI-compatible endpoint for specs.
        context_window: Tokens of prompt and reply; by default what is known of the model.
        reasoning_effort: How much the models reason before they reply, ``low``, ``medium`` or
            ``high``: told to those of the run that take it, of which there must be one. None leaves
            it to the provider.
        prompts: ``default``; ``paper``, worded by the paper's own tables; a folder of templates
            that override the default ones; or a prompt set.
        max_rounds: The most regenerations, 0 to 20.
        regeneration: How an answer is regenerated: with both sides of the conflict in view
            (``paper``), or (``revise``, ours) in place: each disputed passage is replaced, hedged,
            removed or kept, one call each, and all else stays byte for byte. An answer of one or
            two passages, or one that is disputed for the most part, is written anew in the form
            that it has, and a choice between options as in the paper. ``flips`` has a record for
            each change.
        disputed: Which claims are looked at again: those in ``conflict``, which have evidence on
            both sides, as in the paper; those that are ``refuted``, which at least two independent
            documents contradict and none supports, or ``contradicted``, which one does; and those
            that are ``unsupported``, which no document speaks to.
        unsettled: What a revision does where the evidence cannot settle who is right: ``hedge``
            says that the sources disagree, and who says what; ``keep`` leaves the passage.
        look_further: Whether the retriever is asked once more before an answer is given again, and
            for which claims: those that are ``disputed``, with those that one document alone
            contradicts where ``refuted`` ones are; also the ``unsupported`` ones that no document
            speaks to; or none (``off``). The model writes two queries for each of at most
            three claims a round, for what bears it out and for what speaks against it, and at most
            four new documents of each are labelled. ``searches`` has what was searched, found and
            left out.
        guard: Whether a change stands only where its claims have better evidence than those before
            it, by :func:`conflictscore.metric.better_evidence`. What is refused is in ``notes``
            and, with its figures, in ``attempts``.
        min_coverage: From which share of labelled pairs on, 0 to 1, an answer counts as checked
            (``checked`` is ``fully``, ``partly`` or ``no``); a warning is logged where it is not
            checked fully. None counts any label as enough, and logs nothing.
        cache: Where replies and verdicts are kept; True is the user's cache, False keeps none.
        duplicates: What near-identical documents count in CS-R, in the choice of the claim to
            reconsider and for the guard: each of them (``vote``, as in the paper), or a group
            ``once`` on each side. With ``domain``, all documents of a registrable domain are such
            a group too; one that says both has a voice on each side.
        trust: How far documents are trusted; None trusts all alike. The name of a TOML file, or
            a mapping, is a table of weights by host, domain, type and date
            (:mod:`conflictscore.trust`). Reports then have ``weighted``, the scores
            with weights, beside those without; the choice of disputed claims, their order, the
            guard and the order of evidence in requests follow the weights.
        budget_seconds: The time that a run may take, above 0, with every step. The pairs that are
            likely to tell most are labelled first, and labelling ends in time for a second answer;
            what was left out is UNLABELLED, and the report says so. A step that is not done in
            time fails as if its model had: without documents or a first answer the run ends with a
            ProviderError, otherwise its notes say what is missing. A function in the caller's
            thread is the only thing that cannot be interrupted.
        max_claims: The most claims of an answer to label, at least 1: those that the documents say
            most of; the others are UNLABELLED.
        effort: The name of the settings that these began as, where ``**EFFORTS[...]`` gave them;
            told in the run's log, and decides nothing itself.
        checkpointer: Any LangGraph checkpointer; a thread holds one question.

    Raises:
        InputError: A setting is out of range; names it.
        ConfigurationError: A model, key, prompt folder or labeler is missing or wrong.
        ProviderError: The local model could not be fetched.
    """
    if retriever is None and configured_search():
        retriever = open_retrieval()
    context = run_context(model, retriever, LoopSettings(**settings))
    return build_self_correction_graph(context, checkpointer=checkpointer)


@takes(ScoringOptions)
def create_conflict_scorer(
    judge: Model | None = None,
    *,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    **settings: Unpack[ScoringOptions],
) -> ScoringGraph:
    """Make a LangGraph graph that scores an answer against documents that exist already.

    Invoke it with ``{"answer": …, "documents": […]}``, texts, LangChain ``Document``s or mappings
    ``{"text": …}``; the final state has ``report``, ``attempts``, ``notes`` and ``usage``. The
    settings are those of :func:`create_self_correcting_rag`, as far as they concern scoring.
    """
    context = run_context(judge, None, LoopSettings(**settings))
    return build_scoring_graph(context, checkpointer=checkpointer)


def _trace_where_wanted() -> None:
    """Let OpenTelemetry see every run of this process, where the environment says so."""
    if not env_var_is_set(_OTEL):
        return
    try:
        import conflictscore.graph.opentelemetry  # noqa: F401 - LangChain calls it from now on
    except ImportError as error:
        raise ConfigurationError(
            f"{_OTEL} is set, and {error.name} is missing: {install_hint('otel')}"
        ) from None


def run_context(
    model: Model | None,
    retriever: BaseRetriever | None,
    settings: LoopSettings | None = None,
    *,
    effort_needed: bool = True,
) -> RunContext:
    """Open everything that a run needs.

    Args:
        model: What answers, as for :func:`create_self_correcting_rag`.
        retriever: Where documents come from; None where every question brings its own.
        settings: What shapes the run; None for the defaults.
        effort_needed: Whether one of these models must take a reasoning effort that is set;
            otherwise the caller calls ``require_effort`` with all models of the run.

    Raises:
        ConfigurationError: A model, key, prompt folder or labeler is missing or wrong.
        ProviderError: The local model could not be fetched.
    """
    _check_retriever(retriever)
    _trace_where_wanted()
    settings = settings or LoopSettings()
    judge, prompts, store = settings.judge, settings.open_prompts(), settings.open_cache()
    specs = [spec for spec in (model, judge) if isinstance(spec, str)]
    mixed_in = [spec for spec in specs if spec.partition(":")[0] == "local"]
    if len(mixed_in) == len(specs):
        mixed_in = []

    def opened(chosen: Model) -> LanguageModel:
        if isinstance(chosen, LanguageModel):
            return chosen
        given: dict[str, Any] = {
            "context_window": settings.context_window,
            "cache": store,
            "max_calls": settings.max_calls,
            "reasoning_effort": settings.reasoning_effort,
        }
        if isinstance(chosen, BaseChatModel):
            return from_chat_model(chosen, **given)
        # with an endpoint for the one of them, the other may still be the local model
        url = None if chosen in mixed_in else settings.base_url
        return open_model(chosen, base_url=url, **given)

    def counted(chosen: Model) -> LanguageModel:
        model, ledger = opened(chosen), settings.ledger
        return model if ledger is None else attach(model, ledger)

    generator = counted(default_spec() if model is None else model)
    decomposer = generator if judge is None else counted(judge)
    if effort_needed:
        require_effort(settings.reasoning_effort, generator, decomposer)
    load_vocabularies(generator.name, decomposer.name)
    return RunContext(
        generator=generator,
        decomposer=decomposer,
        labeler=make_labeler(settings.labeler, decomposer, prompts),
        prompts=prompts,
        retriever=retriever,
        method=Method(settings.method),
        max_rounds=settings.max_rounds,
        regeneration=settings.regeneration,
        disputed=frozenset(settings.disputed),
        unsettled=settings.unsettled,
        look_further=settings.look_further,
        guard=settings.guard,
        min_coverage=settings.min_coverage,
        cache=store,
        duplicates=settings.duplicates,
        trust=settings.open_trust(),
        budget_seconds=settings.budget_seconds,
        max_claims=settings.max_claims,
        effort=settings.effort,
    )


def _check_retriever(given: object) -> None:
    if given is None or isinstance(given, BaseRetriever):
        return
    known = isinstance(given, str) and given in PROVIDERS
    hint = f"; open_retrieval({given!r}) opens a search" if known else ""
    raise ConfigurationError(
        f"retriever is {type(given).__name__}, not a LangChain retriever{hint}"
    )
