"""A drop-in chat model that checks its answers against documents before returning them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, cast
from urllib.parse import urlsplit

from langchain_core.caches import BaseCache
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput, ModelProfile
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr, SkipValidation

from conflictscore.errors import InputError
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.graph.create import open_run
from conflictscore.graph.keywords import Model, check_model
from conflictscore.middleware.chat_loop import AnswerForm, ChatLoop, apart, as_chunk, in_words
from conflictscore.middleware.entrypoints import OnEvent, check_choices, listener
from conflictscore.middleware.requirement import FailurePolicy, Require
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.profiles import ReasoningEffort
from conflictscore.models.spec import default_spec
from conflictscore.setting_keywords import SettingFields
from conflictscore.settings import Settings, unknown_name
from conflictscore.storage.cache import ContentCache
from conflictscore.threads import in_thread


class _Opened(NamedTuple):
    """The loop with open models, and the field values with which it was opened."""

    settings: Mapping[str, Any]
    loop: ChatLoop


_MODELS = ("judge", "base_url", "context_window", "reasoning_effort")
_OPENED = (
    "model",
    "retriever",
    "content_cache",
    "on_failure",
    "require",
    "refusal",
    "sources",
    *Settings.names(),
    *_MODELS,
)
"""If a field in this tuple changes, the models and the loop are opened again."""
_CALL_PARAMETERS = (
    "temperature",
    "top_p",
    "seed",
    "max_tokens",
    "stop",
    "timeout",
    "max_retries",
    "streaming",
)
"""Call parameters of the answering model that can be passed as keywords, as in LangChain."""


class SelfCorrectingChatModel(SettingFields):
    """A chat model that wraps another chat model and corrects claims on which its sources disagree.

    ```python
    chat = SelfCorrectingChatModel(init_chat_model("openai:gpt-4.1-mini"), my_retriever)
    reply = chat.invoke("Is it safe to reheat rice?")
    print(reply.text, reply.response_metadata["conflictscore"]["flipped"])
    ```

    The last human message is the question, and earlier messages are the conversation. The model
    answers from the documents found for the question, and its answer is corrected as in
    :func:`create_self_correcting_rag`. ``response_metadata["conflictscore"]`` has the run as plain
    JSON, and ``usage_metadata`` has the tokens of all calls. Callbacks that add up tokens count
    each call once, under the model that was called. A stream yields the final reply in one chunk;
    drafts and verdicts are never streamed.

    If tools are bound, or were called since the question, the model is first called with the
    unchanged messages. A reply with tool calls is returned unchanged. Any other reply is checked
    against the tool results since the question. Without tool results, the reply is checked against
    documents that the retriever finds. A reply that cannot be checked is returned unchanged, with
    the reason in the run's ``notes``.

    Args:
        model: The answering model: any LangChain chat model, or a spec such as
            ``"openai:gpt-4.1-mini"``.
        retriever: Any LangChain retriever; not needed if tools return all documents.
        **settings: The fields below, and the usual call parameters of the answering model:
            ``temperature``, ``top_p``, ``seed``, ``max_tokens``, ``stop``, ``timeout``,
            ``max_retries`` and ``streaming``. Other arguments go into ``model_kwargs``. An answer
            longer than ``max_tokens`` is an error.

    Raises:
        InputError: A setting is unknown or has an invalid value; the message says what is allowed.
        ConfigurationError: ``model`` or ``judge`` is not a model, or a prompt folder is invalid.
    """

    # pydantic does not validate these objects: our own errors say what to give
    model: SkipValidation[Model | None] = Field(default=None, exclude=True)
    """The answering model; None means the default of :func:`create_self_correcting_rag`."""
    retriever: SkipValidation[BaseRetriever | None] = Field(default=None, exclude=True)
    judge: SkipValidation[Model | None] = Field(default=None, exclude=True)
    """The model that splits answers and labels evidence; by default the answering model."""
    base_url: str | None = Field(default=None, exclude=True, repr=False)
    """An OpenAI-compatible endpoint for models that are named by a spec."""
    context_window: int | None = None
    """Context window in tokens, for prompt and reply; by default the model's own."""
    reasoning_effort: ReasoningEffort | None = None
    """Reasoning effort, for those of the run's models that accept it."""
    content_cache: SkipValidation[ContentCache | bool] = Field(default=True, exclude=True)
    """Cache of verdicts and replies; True for the user's cache, False for none."""
    require: Require | None = None
    """How much of an answer must be checked: ``"fully"``, or at least ``"partly"``. Other answers
    are refused, including answers whose check failed. Answers that state nothing are always
    returned."""
    refusal: str | None = None
    """Text to return in place of a refused answer; None to raise
    :class:`~conflictscore.UncheckedAnswerError`."""
    on_failure: FailurePolicy = "raise"
    """The policy if a search or model fails: ``pass_through`` returns the model's own reply with a
    note; ``raise`` raises the error. An explicit ``raise`` also sets ``require="partly"``. Invalid
    keys and settings always raise an error.
    """
    sources: Collection[str] | None = None
    """Names of the tools whose results are documents; see :class:`ConflictScoreMiddleware`."""
    on_event: SkipValidation[OnEvent | None] = Field(default=None, exclude=True)
    """A function that is called with each event of a run. The ``custom`` stream of a surrounding
    graph gets the same events."""
    model_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Call parameters of the answering model."""
    cache: BaseCache | bool | None = Field(default=False, exclude=True)
    """LangChain's cache of whole replies. This cache is off, since documents change; use
    ``content_cache`` instead.
    """
    disable_streaming: bool | Literal["tool_calling"] = True
    """The reply is streamed as one chunk once it is final."""

    _opening: Any = PrivateAttr(default_factory=threading.Lock)
    _opened: _Opened | None = PrivateAttr(default=None)
    _form: AnswerForm | None = PrivateAttr(default=None)

    def __init__(
        self, model: Model | None = None, retriever: BaseRetriever | None = None, **settings: Any
    ) -> None:
        _check_names(settings, type(self).model_fields)
        _settle_requirement(settings)
        for name, role in (("model", model), ("judge", settings.get("judge"))):
            if role is not None:
                check_model(role, name)
        own_values: Any = {name: settings[name] for name in Settings.names() if name in settings}
        run_settings = Settings(**own_values)
        every_value = {name: getattr(run_settings, name) for name in Settings.names()}
        calls = {name: settings.pop(name) for name in _CALL_PARAMETERS if name in settings}
        settings["model_kwargs"] = {**calls, **settings.get("model_kwargs", {})}
        super().__init__(**{**settings, **every_value, "model": model, "retriever": retriever})

    @property
    def _llm_type(self) -> str:
        return "self-correcting"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        params = {
            **self._settings.to_json(),
            **{name: _told(getattr(self, name)) for name in ("model", "judge")},
            **{name: getattr(self, name) for name in ("context_window", "reasoning_effort")},
            "retriever": type(self.retriever).__name__,
            "sources": None if self.sources is None else list(self.sources),
            # the address may contain a password
            "base_url": urlsplit(self.base_url).hostname if self.base_url else None,
        }
        return params | self.model_kwargs

    def _resolve_model_profile(self) -> ModelProfile | None:
        return self.model.profile if isinstance(self.model, BaseChatModel) else None

    @property
    def model_name(self) -> str:
        """The name of the answering model; LangChain's agents read this property."""
        if isinstance(self.model, LanguageModel):
            return self.model.name
        if isinstance(self.model, BaseChatModel):
            params = dict(self.model._identifying_params)
            return str(params.get("model") or params.get("model_name") or self.model._llm_type)
        return self.model or default_spec()

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        call_parameters = {"model": self.model_name, "stop": stop, **self.model_kwargs, **kwargs}
        params = super()._get_ls_params(**call_parameters)
        params["ls_provider"] = "conflictscore"
        return params

    def get_token_ids(self, text: str) -> list[int]:
        """Return the token ids of a text from the answering model's tokenizer."""
        return self._open().chat.get_token_ids(text)

    def get_num_tokens_from_messages(
        self, messages: list[BaseMessage], tools: Sequence[Any] | None = None
    ) -> int:
        """Return the number of tokens in messages, as the answering model counts them."""
        return self._open().chat.get_num_tokens_from_messages(messages, tools)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools to the answering model through its own :meth:`bind_tools`.

        Raises:
            NotImplementedError: The model does not support tools.
        """
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        bound = self._open().chat.bind_tools(tools, **kwargs)
        if not isinstance(bound, RunnableBinding):
            raise NotImplementedError(
                f"tools cannot be bound to {self.model_name}, because its bind_tools does not "
                "return a RunnableBinding"
            )
        return self.bind(**bound.kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """Return the final answer in a structured format.

        First, the question is answered, scored and corrected as text. Then the conversation and the
        final answer go to the answering model's own :meth:`with_structured_output`, which converts
        the answer to the format. That method gets the same arguments and this model's call
        parameters. Callbacks see all of this as one call. The message of this call, which
        ``include_raw=True`` also returns, contains the structured answer as the model wrote it. The
        message has the run in ``response_metadata["conflictscore"]``, and the tokens of all inner
        calls.

        Raises:
            NotImplementedError: The model does not support structured output.
        """
        loop = self._open()
        parameters = in_words(self._parameters(None, {}))
        parameters.pop("response_format", None)  # structured output sets its own format
        writer = loop.chat.with_structured_output(
            schema, include_raw=True, **{**parameters, **kwargs}
        )
        ask = HumanMessage(loop.context.prompts.render("structured"))
        about = {"kwargs": kwargs, "schema": schema}

        def fill(value: LanguageModelInput, config: RunnableConfig) -> Any:
            form = AnswerForm(writer, ask)
            message = self._filling(form).invoke(value, config, ls_structured_output_format=about)
            return form.result(message, include_raw=include_raw)

        async def afill(value: LanguageModelInput, config: RunnableConfig) -> Any:
            form = AnswerForm(writer, ask)
            chat = await in_thread(lambda: self._filling(form))
            message = await chat.ainvoke(value, config, ls_structured_output_format=about)
            return form.result(message, include_raw=include_raw)

        return RunnableLambda(fill, afunc=afill, name="structured_answer")

    def _filling(self, form: AnswerForm) -> Self:
        """Return a copy of this model for a single call that returns structured output."""
        self._open()  # all copies share the loop opened here
        # a reply from LangChain's cache would leave the form empty
        copy = self.model_copy(update={"cache": False})
        copy._form = form
        return copy

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[AIMessageChunk]:
        """Yield the final reply in one chunk."""
        yield as_chunk(self.invoke(*args, **kwargs))

    async def astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[AIMessageChunk]:
        """Asynchronous version of :meth:`stream`."""
        yield as_chunk(await self.ainvoke(*args, **kwargs))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        on_event = listener(self.on_event)
        with apart(run_manager, traced_only=self._form is not None) as context:
            parameters = self._parameters(stop, kwargs)
            replying = self._reply(self._open(), messages, parameters, on_event)
            message = context.run(run_for_sync_caller, replying)
        if run_manager is not None:  # the streams of a surrounding graph need this event
            run_manager.on_llm_new_token(str(message.text), chunk=_chunk(message))
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        on_event = listener(self.on_event)
        with apart(run_manager, traced_only=self._form is not None) as context:
            loop = await in_thread(self._open)
            replying = self._reply(loop, messages, self._parameters(stop, kwargs), on_event)
            message = await asyncio.create_task(replying, context=context)
        if run_manager is not None:
            await run_manager.on_llm_new_token(str(message.text), chunk=_chunk(message))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        generations = self._generate(messages, stop, run_manager, **kwargs).generations
        yield from (_chunk(cast("AIMessage", generation.message)) for generation in generations)

    async def _reply(
        self, loop: ChatLoop, messages: list[BaseMessage], parameters: Any, on_event: OnEvent | None
    ) -> AIMessage:
        if self._form is None:
            return await loop.reply(messages, parameters, on_event)
        answer = await loop.reply(messages, in_words(parameters), on_event)
        return await self._form.fill(messages, answer)

    @property
    def _settings(self) -> Settings:
        setting_values: Any = {name: getattr(self, name) for name in Settings.names()}
        return Settings(**setting_values)

    def _parameters(self, stop: list[str] | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        parameters = {**self.model_kwargs, **kwargs}
        return parameters if stop is None else {**parameters, "stop": stop}

    def _open(self) -> ChatLoop:
        """Return the loop, opened at first use and reopened after a setting changes."""
        settings = {name: getattr(self, name) for name in _OPENED}
        with self._opening:
            # a field counts as changed once it is set, even to an equal value
            if self._opened is None or any(
                self._opened.settings[name] is not settings[name] for name in _OPENED
            ):
                models: Any = {name: settings[name] for name in _MODELS}
                context = open_run(
                    self.model,
                    self.retriever,
                    self._settings,
                    cache=self.content_cache,
                    **models,
                )
                loop = ChatLoop(context, self.on_failure, self.sources, self.require, self.refusal)
                self._opened = _Opened(settings, loop)
            return self._opened.loop


def _check_names(settings: Mapping[str, Any], fields: Collection[str]) -> None:
    """Refuse keywords that are neither fields nor usual call parameters."""
    for name in settings:
        if name not in fields and name not in _CALL_PARAMETERS:
            line = unknown_name(name, (*Settings.names(), *_MODELS, "content_cache"))
            raise InputError(f"{line}; the model's own arguments go into model_kwargs")


def _settle_requirement(settings: dict[str, Any]) -> None:
    """Validate the policy for unchecked answers, and set the fields that depend on it.

    ``on_failure="raise"`` is the older name of ``require="partly"``. If a requirement is set, an
    answer whose check failed is refused like any other unchecked answer.
    """
    require = settings.get("require")
    check_choices(settings.get("on_failure", "raise"), settings.get("sources"), require)
    if require is None and settings.get("on_failure") == "raise":
        settings["require"] = "partly"
    elif require is not None or settings.get("refusal") is not None:
        settings.setdefault("on_failure", "pass_through")


def _chunk(message: AIMessage) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=as_chunk(message))


def _told(model: Model | None) -> Any:
    """Return plain JSON that identifies a model, without its API key."""
    if isinstance(model, LanguageModel):
        return {"name": model.name, "endpoint": model.endpoint}
    return dict(model._identifying_params) if isinstance(model, BaseChatModel) else model
