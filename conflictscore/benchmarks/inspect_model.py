"""An Inspect model as the chat model that answers and judges.

Every call goes through Inspect, so its logs, limits, cache, retries, pace and cost accounting hold.
"""

import json
from collections.abc import Callable
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelRefusalError,
    ModelUsage,
    ResponseSchema,
    get_model_info,
)
from inspect_ai.util import JSONSchema, LimitExceededError
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_function
from langchain_core.utils.json import parse_json_markdown

from conflictscore.errors import BudgetError, ProviderError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.limits import ConcurrencyLimit

__all__ = ["InspectChatModel", "SampleStoppedError", "language_model"]

_UNKNOWN_WINDOW = 8192
_THINKING_TOKENS = 8192
_UNBOUNDED = 1_000_000
"""Calls in flight; it is Inspect that bounds them."""
_FINISH = {"max_tokens": "length", "model_length": "length"}


class SampleStoppedError(BudgetError):
    """Inspect ends the sample, by a limit of its own or by a refusal that is to fail it.

    It is a budget that is used up, which nothing on the way takes for a failure of the provider.

    Attributes:
        cause: What Inspect raised, and is to meet again.
    """

    def __init__(self, cause: LimitExceededError | ModelRefusalError) -> None:
        super().__init__(kind="tokens", spent=0, limit=0)
        self.cause = cause


class InspectChatModel(BaseChatModel):
    """A model of Inspect behind LangChain's interface, asynchronous only.

    What is not set here, and not with a call, is as Inspect was told (``--temperature`` and so on).

    Attributes:
        model: What answers.
        on_failure: Is told what Inspect raised because a call failed, after its own retries.
        temperature: The sampling temperature; None leaves it to Inspect.
        seed: The seed; None leaves it to Inspect.
    """

    model: Model
    on_failure: Callable[[Exception], None]
    temperature: float | None = None
    seed: int | None = None

    @property
    def _llm_type(self) -> str:
        return "inspect"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("a model of Inspect is asked within its event loop: use ainvoke")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        config = GenerateConfig(
            temperature=self.temperature,
            seed=self.seed,
            stop_seqs=stop,
            **{name: value for name, value in kwargs.items() if name in _PASSED_ON},
        )
        try:
            output = await self.model.generate([_said(m) for m in messages], config=config)
        except (LimitExceededError, ModelRefusalError) as cause:
            raise SampleStoppedError(cause) from None
        except Exception as error:
            self.on_failure(error)
            message = getattr(error, "provider_message", None)  # without the request's 200 lines
            if message is None:
                raise
            raise ProviderError(
                f"{self.model} failed: {message}",
                provider=str(self.model),
                status=getattr(error, "status_code", None),
            ) from None
        if output.empty:
            raise ProviderError(
                f"{self.model} gave no reply: {output.error}", provider=str(self.model)
            )
        return ChatResult(generations=[ChatGeneration(message=_reply(output))])

    def with_structured_output(
        self, schema: Any, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """What gives a JSON object, held to the schema by the providers that Inspect can ask to.

        Args:
            schema: JSON schema with a ``title``.
            include_raw: Whether to give ``raw``, ``parsed`` and ``parsing_error``; otherwise a
                reply that is no JSON raises ValueError.
            kwargs: Further call parameters.
        """
        function = convert_to_openai_function(schema, strict=True)
        form = ResponseSchema(
            name=function["name"],
            json_schema=JSONSchema.model_validate(function["parameters"]),
            strict=True,
        )

        def read(message: AIMessage) -> Any:
            parsed, error = None, None
            try:
                # most models that cannot be held to a schema put a fence around their JSON
                parsed = parse_json_markdown(message.text, parser=json.loads)
            except ValueError as fault:
                error = fault
            if include_raw:
                return {"raw": message, "parsed": parsed, "parsing_error": error}
            if error is not None:
                raise error
            return parsed

        return self.bind(response_schema=form, **kwargs) | RunnableLambda(read)


_PASSED_ON = frozenset({"max_tokens", "logprobs", "top_logprobs", "response_schema"})
"""Call parameters that mean the same to Inspect."""


def language_model(
    model: Model,
    *,
    on_failure: Callable[[Exception], None],
    context_window: int | None = None,
) -> LanguageModel:
    """A model of Inspect as nodes and labelers use it.

    Its calls are not bounded here, and its replies are not kept here: both are Inspect's. Verdicts
    on evidence are known by its name alone, so a cache of them is for one evaluation.

    Args:
        model: From ``get_model``.
        on_failure: Is told what Inspect raised because a call failed, after its own retries.
        context_window: Tokens of prompt and reply; by default what Inspect knows of the model, or
            8192.
    """
    known = get_model_info(model)
    return LanguageModel(
        chat=InspectChatModel(model=model, on_failure=on_failure),
        name=str(model),
        endpoint="its provider",
        context_window=context_window or (known and known.context_length) or _UNKNOWN_WINDOW,
        limit=ConcurrencyLimit(_UNBOUNDED),
        parameters={},
        thinking_tokens=_THINKING_TOKENS if known and known.reasoning else 0,
    )


def _said(message: BaseMessage) -> ChatMessage:
    match message:
        case SystemMessage():
            return ChatMessageSystem(content=message.text)
        case AIMessage():
            return ChatMessageAssistant(content=message.text)
    return ChatMessageUser(content=message.text)


def _reply(output: ModelOutput) -> AIMessage:
    choice = output.choices[0]
    logprobs = choice.logprobs.model_dump(exclude_none=True) if choice.logprobs else None
    return AIMessage(
        output.completion,
        usage_metadata=_usage(output.usage) if output.usage else None,
        response_metadata={
            "model_name": output.model,
            "finish_reason": _FINISH.get(choice.stop_reason, choice.stop_reason),
            "logprobs": logprobs,
        },
    )


def _usage(usage: ModelUsage) -> UsageMetadata:
    read, written = usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0
    tokens = usage.input_tokens + read + written  # Inspect counts those apart
    return UsageMetadata(
        input_tokens=tokens,
        output_tokens=usage.output_tokens,
        total_tokens=tokens + usage.output_tokens,
        input_token_details=InputTokenDetails(cache_read=read),
    )
