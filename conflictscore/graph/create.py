"""Entry points that make a graph or the context of a run from models, a retriever and settings."""

from collections.abc import Mapping
from typing import Any, Unpack, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.base import BaseCheckpointSaver

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.graph.keywords import (
    CorrectionOptions,
    Model,
    ScoringOptions,
    check_model,
    explicit_kwargs,
    split_options,
)
from conflictscore.graph.self_correction import (
    ScoringGraph,
    SelfCorrectionGraph,
    build_scoring_graph,
    build_self_correction_graph,
)
from conflictscore.labelers.registry import make_labeler
from conflictscore.loop.state import RunContext
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.profiles import ReasoningEffort
from conflictscore.models.spec import default_spec, from_chat_model, open_model, require_effort
from conflictscore.retrieval.opening import open_retrieval
from conflictscore.retrieval.providers import configured_search
from conflictscore.settings import Settings
from conflictscore.storage.cache import ContentCache
from conflictscore.suffixes import load_suffixes
from conflictscore.threads import off_loop
from conflictscore.tokens import load_vocabulary

_LEAST_WINDOW = 1024
"""Smallest context window, in tokens, that a caller may set. A smaller one has no room for most
prompts with their replies, so most pairs would stay unlabelled."""


@explicit_kwargs(CorrectionOptions)
def create_self_correcting_rag(
    model: Model | None = None,
    retriever: BaseRetriever | None = None,
    *,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    **settings: Unpack[CorrectionOptions],
) -> SelfCorrectionGraph:
    """Make a LangGraph graph that answers a question and corrects itself.

    ```python
    graph = create_self_correcting_rag("openai:gpt-4.1-mini", my_retriever, effort="thorough")
    state = graph.invoke({"question": "Is it safe to reheat rice?"})
    print(state["answer"], state["changes"])
    ```

    Invoke the graph, synchronously or asynchronously, with ``{"question": …}`` or
    ``{"messages": […]}``. The input may also have these fields:

    - ``"options"``: the options of a multiple-choice question, such as ``[a, b]``
    - ``"documents"``: texts, LangChain ``Document``s or mappings ``{"text": …}``, instead of a
      search by the retriever
    - ``"draft_answer"``: a first answer to check, instead of one written by the model
    - ``"history"``: the messages before the question, in any format that LangChain accepts

    The final state has ``answer``, ``messages``, ``asked`` (the question in the user's words),
    ``first_answer``, ``flipped``, ``changes``, ``justification``, ``documents``, ``report``,
    ``final_report``, ``attempts``, ``searches``, ``checked``, ``notes``, ``usage`` and ``run_id``.
    ``stream_mode="custom"`` streams an event for every step, and ``stream_mode="messages"`` streams
    the answer.

    Args:
        model: The answering model: a spec such as ``"openai:gpt-4.1-mini"`` or ``"local"``, or any
            LangChain chat model. The default is OpenAI's model if ``OPENAI_API_KEY`` is set, and
            the embedded local model otherwise.
        retriever: Any LangChain retriever. The default is the first web search whose environment
            variables are set (see ``open_retrieval``). No retriever is needed if every question
            comes with documents.
        checkpointer: Any LangGraph checkpointer; each thread is one conversation.
        **settings: See below. ``labeler`` may also be your own labeler, or a function that makes a
            labeler from the judging model and the templates.

    Raises:
        InputError: A setting has an invalid value; the message says which values are allowed.
        ConfigurationError: A model, key, prompt folder or labeler is missing or invalid.
        ProviderError: The local model could not be downloaded.
    """
    run_settings, models = split_options(settings)
    if retriever is None and configured_search():
        retriever = open_retrieval()
    context = open_run(model, retriever, run_settings, **models)
    return build_self_correction_graph(context, checkpointer=checkpointer)


@explicit_kwargs(ScoringOptions)
def create_conflict_scorer(
    judge: Model | None = None,
    *,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    **settings: Unpack[ScoringOptions],
) -> ScoringGraph:
    """Make a LangGraph graph that scores an existing answer against given documents.

    Invoke the graph with ``{"answer": …, "documents": […]}``. The documents are texts, LangChain
    ``Document``s or mappings ``{"text": …}``. The final state has ``report``, ``attempts``,
    ``notes`` and ``usage``.

    ``judge`` is the model that splits answers and labels evidence. The default and the errors are
    those of ``model`` in :func:`create_self_correcting_rag`.
    """
    run_settings, models = split_options(settings)
    return build_scoring_graph(
        open_run(judge, None, run_settings, **models), checkpointer=checkpointer
    )


@explicit_kwargs(CorrectionOptions)
def run_context(
    model: Model | None,
    retriever: BaseRetriever | None = None,
    **settings: Unpack[CorrectionOptions],
) -> RunContext:
    """Open the models, retriever and labeler of a run, for a service or your own graph.

    The arguments and errors are the same as for :func:`create_self_correcting_rag`.
    """
    run_settings, models = split_options(settings)
    return open_run(model, retriever, run_settings, **models)


@off_loop
def open_run(
    model: Model | None,
    retriever: BaseRetriever | None,
    settings: Settings,
    *,
    judge: Model | None = None,
    base_url: str | None = None,
    context_window: int | None = None,
    reasoning_effort: ReasoningEffort | None = None,
    cache: ContentCache | bool = True,
    max_calls: int | None = None,
    ledger: Ledger | None = None,
    effort_needed: bool = True,
) -> RunContext:
    """Open the models and the labeler for validated settings; see ``run_context``.

    ``max_calls`` limits the concurrent calls to an endpoint (None: 16). ``ledger`` counts the calls
    of the models opened here and enforces its budget. If ``effort_needed`` is True and no model
    accepts the reasoning effort, an error is raised. Callers that open further models pass False
    and check all models of the run themselves.
    """
    _check_collaborators(model, judge, retriever)
    _check_model_options(max_calls, context_window, reasoning_effort)
    store = (ContentCache.default() if cache else None) if isinstance(cache, bool) else cache
    model_options: dict[str, Any] = {
        "context_window": context_window,
        "cache": store,
        "max_calls": max_calls,
        "reasoning_effort": reasoning_effort,
    }
    # if only one model is local, base_url is for the other; the local model has its own server
    local_specs = _local_beside_others(model, judge)

    def opened(wanted_model: Model) -> LanguageModel:
        url = None if wanted_model in local_specs else base_url
        language_model = _open_any(wanted_model, url, model_options)
        return language_model if ledger is None else attach(language_model, ledger)

    generator = opened(default_spec() if model is None else model)
    decomposer = generator if judge is None else opened(judge)
    if effort_needed:
        require_effort(reasoning_effort, generator, decomposer)
    # Both files are read here, in a thread; otherwise their first use would read them on an event
    # loop. Token counts need the vocabulary. The public suffixes are needed to find host names in a
    # change, and to compare domains.
    load_vocabulary()
    load_suffixes()
    return RunContext(
        generator=generator,
        decomposer=decomposer,
        labeler=make_labeler(settings.labeler, decomposer, settings.prompts, settings.effort),
        settings=settings,
        retriever=retriever,
        cache=store,
    )


def _check_collaborators(model: Model | None, judge: Model | None, retriever: object) -> None:
    """Refuse a retriever or a model that has an unsupported type."""
    if not isinstance(retriever, BaseRetriever | None):
        what = f"retriever is {type(retriever).__name__}, not a LangChain retriever"
        raise ConfigurationError(f"{what}; make one with open_retrieval(…)")
    for name, wanted_model in (("model", model), ("judge", judge)):
        if wanted_model is not None:
            check_model(wanted_model, name)


def _check_model_options(
    max_calls: int | None, context_window: int | None, reasoning_effort: ReasoningEffort | None
) -> None:
    if max_calls is not None and max_calls < 1:
        raise InputError(f"max_calls is {max_calls}; it must be at least 1")
    is_number = isinstance(context_window, int) and not isinstance(context_window, bool)
    if context_window is not None and (not is_number or context_window < _LEAST_WINDOW):
        raise InputError(
            f"context_window is {context_window!r}; give at least {_LEAST_WINDOW}, or None"
        )
    if reasoning_effort not in (None, *get_args(ReasoningEffort)):
        efforts = ", ".join(get_args(ReasoningEffort))
        raise InputError(f"reasoning_effort is {reasoning_effort!r}; give one of {efforts}")


def _local_beside_others(*models: Model | None) -> list[str]:
    """Return the local model's specs if other models are named too; otherwise an empty list."""
    specs = [spec for spec in models if isinstance(spec, str)]
    local_specs = [spec for spec in specs if spec.partition(":")[0] == "local"]
    return local_specs if len(local_specs) < len(specs) else []


def _open_any(model: Model, base_url: str | None, options: Mapping[str, Any]) -> LanguageModel:
    if isinstance(model, LanguageModel):
        return model
    if isinstance(model, BaseChatModel):
        return from_chat_model(model, **options)
    return open_model(model, base_url=base_url, **options)
