"""A LangChain chat model for OpenAI-compatible endpoints, with less overhead and lenient parsing.

A call through ``ChatOpenAI`` takes several times the CPU time of its HTTP exchange. The client
validates the request and the reply against types, LangChain reads the reply in a thread, and
callbacks are set up for each call. In this class, OpenAI's own client posts plain JSON over
aiohttp. Callbacks are skipped if only this package's meters listen.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import httpx2
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, BaseCallbackManager
from langchain_core.globals import get_debug, get_llm_cache, get_verbose
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult, LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from conflictscore.models.http_clients import HttpClients
from conflictscore.models.json_text import loads
from conflictscore.models.loop_clients import LoopClients
from conflictscore.models.provider_faults import error_in_completion
from conflictscore.models.usage import UsageMeter, known_tokens

_THOUGHTS = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
"""Fields in which servers put the reasoning of a reply."""
_NOT_IN_BODY = frozenset({"extra_headers", "extra_query", "timeout", "response_format"})
"""Parameters that only the client's own chat-completions method understands."""


class EndpointChat(ChatOpenAI):
    """A ``ChatOpenAI`` that accepts any token counts, and treats errors with status 200 as errors.

    If a server sends the reply as reasoning, its text is in
    ``additional_kwargs["reasoning_content"]``.
    """

    _loop_clients: LoopClients | None = PrivateAttr(default=None)
    _proxy: str | None = PrivateAttr(default=None)

    @classmethod
    def over(cls, http: HttpClients, **settings: Any) -> "EndpointChat":
        """Return a chat model that uses these HTTP clients."""
        chat = cls(
            **settings,
            http_client=http.synchronous,
            http_async_client=http.asynchronous,
            http_socket_options=(),  # Otherwise LangChain warns, wrongly, that no proxy is used.
            max_retries=0,  # LanguageModel retries by its own rules.
            stream_usage=True,  # Otherwise a stream reports no tokens.
            use_responses_api=False,  # Few compatible endpoints offer it.
        )
        chat._proxy = http.proxy
        if http.over_aiohttp is not None:
            chat._loop_clients = LoopClients(chat.root_async_client, http.over_aiohttp)
        return chat

    @property
    def proxy(self) -> str | None:
        """The proxy that calls go through; None if there is no proxy."""
        return self._proxy

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Return the reply to messages; see :meth:`ChatOpenAI.ainvoke`.

        Callbacks other than this package's meters get all of LangChain's events.
        """
        meters = self._sole_listeners(config or {})
        # LangChain's own method is also needed if it may have to stream the reply
        if meters is None or not self.disable_streaming:
            return await super().ainvoke(input, config, stop=stop, **kwargs)
        messages = self._convert_input(input).to_messages()
        answer = await self._agenerate(messages, stop=stop, **kwargs)
        [generation] = answer.generations
        message = generation.message
        message.response_metadata = {  # as LangChain's own method fills it
            **(answer.llm_output or {}),
            **(generation.generation_info or {}),
            **message.response_metadata,
        }
        llm_result = LLMResult(generations=[[generation]], llm_output=answer.llm_output)
        for meter in meters:
            meter.on_llm_end(llm_result)
        if not isinstance(message, AIMessage):
            raise TypeError(f"the reply is a message of an unexpected type: {message.type}")
        return message

    def _sole_listeners(self, config: RunnableConfig) -> list[UsageMeter] | None:
        """Return the meters to notify of a call; None if other listeners need LangChain's events.

        A run's callback manager is set up at the start of the run, with every tracer named in the
        environment. Outside a run there is no such manager, so LangChain must look for tracers.
        """
        manager = config.get("callbacks")
        if not isinstance(manager, BaseCallbackManager) or isinstance(
            self.callbacks, BaseCallbackManager
        ):
            return None
        handlers = [*manager.handlers, *(self.callbacks or ())]
        meters = [handler for handler in handlers if isinstance(handler, UsageMeter)]
        # the conditions below are features that only LangChain's own way of calling provides
        if len(meters) < len(handlers) or self.cache or self.rate_limiter or self.output_version:
            return None
        if self.verbose or get_verbose() or get_debug() or get_llm_cache() is not None:
            return None
        return meters

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Post the request as plain JSON, or call LangChain's method if it has features to add."""
        if self._loop_clients is None or self.include_response_headers:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        body = self._get_request_payload(messages, stop=stop, **kwargs)
        if not _NOT_IN_BODY.isdisjoint(body):
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        body |= body.pop("extra_body", None) or {}
        response = await self._loop_clients.here().post(body)
        return self._create_chat_result(_completion(response))

    def _create_chat_result(
        self, response: dict[str, Any] | openai.BaseModel, generation_info: Any = None
    ) -> ChatResult:
        """Return the reply in a response, including parts that LangChain's own parser drops.

        Responses that differ from OpenAI's format are repaired first: choices and tool calls of
        other shapes, and impossible token counts. The message keeps the refusal, the original
        provider's finish reason and, if the reply has no text, its reasoning. If an argument of a
        tool call occurs twice, the message keeps the calls as they were sent.

        Raises:
            openai.APIError: The response has status 200, but its body reports an error.
        """
        body: Any = response
        if isinstance(response, openai.BaseModel):
            body = response.model_dump(
                exclude={"choices": {"__all__": {"message": {"parsed"}}}}, warnings=False
            )
        if isinstance(body, dict) and body.get("usage") is not None:
            body = {**body, "usage": known_tokens(body["usage"], self.model_name)}
        if error := error_in_completion(body, str(self.root_client.base_url)):
            raise error
        choices = [*_mended_choices(body)]
        answer = super()._create_chat_result({**body, "choices": choices}, generation_info)
        for generation, choice in zip(answer.generations, choices, strict=True):
            message, choice_message = generation.message, choice["message"]
            message.response_metadata |= {
                "native_finish_reason": choice.get("native_finish_reason")
            }
            thought = next(filter(None, map(choice_message.get, _THOUGHTS)), None)
            if thought and not message.text:
                message.additional_kwargs["reasoning_content"] = thought
            calls = choice_message.get("tool_calls")
            if isinstance(calls, list) and any(map(_is_ambiguous, calls)):
                message.additional_kwargs["tool_calls"] = calls
            if "refusal" in choice_message:
                message.additional_kwargs["refusal"] = choice_message["refusal"]
        if isinstance(response, openai.BaseModel):
            _copy_parsed(response, answer)
        return answer

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: Any
    ) -> ChatGenerationChunk | None:
        if "usage" in chunk:
            chunk = {**chunk, "usage": known_tokens(chunk["usage"], self.model_name)}
        return super()._convert_chunk_to_generation_chunk(
            chunk, default_chunk_class, base_generation_info
        )


def _completion(response: httpx2.Response) -> Any:
    """Return the JSON object of a response, or the text of any other response, such as a web page.

    Raises:
        ValueError: The response is labelled as JSON but is not JSON, or is JSON but not an object.
    """
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        if "json" in response.headers.get("content-type", ""):
            raise ValueError("it is not JSON") from None
        return response.text
    if not isinstance(body, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the endpoint's fault
    return body


def _mended_choices(body: Any) -> Iterator[dict[str, Any]]:
    """Yield the choices of a completion, in the form that LangChain expects.

    Raises:
        TypeError: The body is not a chat completion.
    """
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices:
        raise TypeError("it has no choices")
    for choice in choices:
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if not isinstance(message, Mapping):
            raise TypeError("a choice has no message")
        yield {**choice, "message": _mended(message)}


def _mended(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return an assistant message, with content and tool-call arguments in LangChain's form."""
    content, calls = message.get("content"), message.get("tool_calls")
    # LangChain reads tool calls only in this role
    assistant_message = {**message, "role": "assistant"}
    if isinstance(content, Mapping):
        assistant_message["content"] = [content]
    if isinstance(calls, list):
        assistant_message["tool_calls"] = [*map(_mended_call, calls)]
    return assistant_message


def _mended_call(call: Any) -> Any:
    """Return the tool call with its arguments as JSON text, encoded exactly once."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return call
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    elif arguments.lstrip().startswith('"'):  # JSON inside JSON
        with suppress(ValueError):
            arguments = str(json.loads(arguments))
    return {**call, "function": {**function, "arguments": arguments}}


def _is_ambiguous(call: Any) -> bool:
    """Return whether a call's arguments repeat a field; LangChain keeps only one value."""
    function = call.get("function") if isinstance(call, Mapping) else None
    return isinstance(function, Mapping) and loads(function.get("arguments") or "") is None


def _copy_parsed(response: openai.BaseModel, answer: ChatResult) -> None:
    """Add to the messages any objects that OpenAI's client parsed from the response."""
    choices = getattr(response, "choices", None) or ()
    for generation, choice in zip(answer.generations, choices, strict=False):
        if hasattr(choice.message, "parsed"):
            generation.message.additional_kwargs["parsed"] = choice.message.parsed
