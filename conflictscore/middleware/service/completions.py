"""OpenAI's chat completions, in one piece and as a stream of chunks."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage

from conflictscore.middleware.service.answer_stream import AnswerStream, Completion
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.service import RequestRecord
from conflictscore.middleware.service.wire import frame
from conflictscore.models.replies import abnormal_ending
from conflictscore.models.usage import known_tokens
from conflictscore.records import Run, Usage

__all__ = [
    "CompletionStream",
    "chunks_of",
    "completion_of",
    "ending_of",
    "summary_of",
    "text_of",
    "usage_of",
    "why_no_text",
]

_WORD = re.compile(r"\S+\s*|\s+")
_WORDS_A_CHUNK = 4
_DONE = b"data: [DONE]\n\n"


def completion_of(
    record: RequestRecord,
    run: Run,
    text: str,
    *,
    base: Mapping[str, Any] | None = None,
) -> Completion:
    """Build the chat completion for a caller.

    The fields of the upstream's own (``base``) are kept unless the answer has changed.
    """
    whole = {
        "id": f"chatcmpl-{record.run_id}",
        "object": "chat.completion",
        "created": record.created,
        "model": record.model,
        "usage": None,
        **(base or {}),
        "conflictscore": summary_of(record, run),
    }
    spent = run.usage
    if base is None or spent != usage_of(base):
        whole["usage"] = {
            "prompt_tokens": spent.input_tokens,
            "completion_tokens": spent.output_tokens,
            "total_tokens": spent.input_tokens + spent.output_tokens,
            "prompt_tokens_details": {"cached_tokens": spent.cache_read_tokens},
        }
    if base is None or text_of(base) != text:
        message = {"role": "assistant", "content": text, "refusal": None}
        finish = "stop"
        if base is not None and text.startswith(text_of(base)):
            finish = base["choices"][0].get("finish_reason") or finish
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        whole["choices"] = [choice]
    return whole


def summary_of(record: RequestRecord, run: Run) -> dict[str, Any]:
    """The field ``conflictscore`` of a completion; its scores are those of the first answer."""
    report = run.report
    changed = {"first_answer": run.first_answer, "justification": run.justification}
    return {
        "run_id": record.run_id,
        "mode": record.mode,
        "status": run.status.value,
        "flipped": run.flipped,
        "checked": run.checked,
        "cs_c": report.cs_c if report else None,
        "cs_r": report.cs_r if report else None,
        "coverage": report.coverage if report else None,
        **({"weighted": report.weighted.to_json()} if report and report.weighted else {}),
        **(changed if run.flipped else {}),
        "notes": list(run.notes),
    }


def usage_of(completion: Mapping[str, Any]) -> Usage:
    """The tokens of the upstream's own call."""
    counts = known_tokens(completion.get("usage"), str(completion.get("model"))) or {}
    read, details = counts.get("prompt_tokens", 0), counts.get("prompt_tokens_details", {})
    return Usage(
        calls=1,
        input_tokens=read,
        cache_read_tokens=min(details.get("cached_tokens", 0), read),
        output_tokens=counts.get("completion_tokens", 0),
    )


def text_of(completion: Mapping[str, Any]) -> str:
    """The text of the first message; empty where it has none."""
    return _split(completion["choices"][0]["message"].get("content"))[0]


def why_no_text(completion: Mapping[str, Any]) -> str | None:
    """Why an upstream's reply has no text to check; None where it has."""
    message = completion["choices"][0]["message"]
    if message.get("tool_calls") or message.get("function_call"):
        return "the model calls tools"
    if message.get("refusal"):
        return "the model refuses to answer"
    return None if text_of(completion).strip() else "the reply has no text"


def ending_of(completion: Mapping[str, Any]) -> str | None:
    """The upstream's name for how its reply ended; None for a normal end."""
    said = {"finish_reason": completion["choices"][0].get("finish_reason")}
    return abnormal_ending(AIMessage("", response_metadata=said))


def chunks_of(text: str) -> Iterator[str]:
    """Split a text into chunks of a few words."""
    words = _WORD.findall(text)
    for start in range(0, len(words), _WORDS_A_CHUNK):
        yield "".join(words[start : start + _WORDS_A_CHUNK])


class CompletionStream(AnswerStream):
    """One chat completion as a stream of chunks."""

    def __init__(self, record: RequestRecord, *, include_usage: bool, heartbeat: float) -> None:
        super().__init__(heartbeat)
        self._include_usage = include_usage
        self._common = {
            "id": f"chatcmpl-{record.run_id}",
            "object": "chat.completion.chunk",
            "created": record.created,
            "model": record.model,
        }

    def _opening(self) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})

    def _waiting(self) -> bytes:
        return self._chunk({"content": ""})

    def _failure(self, refusal: RefusedError) -> bytes:
        return frame(refusal.body())

    def _message(self, completion: Completion) -> Iterator[bytes]:
        """The messages: text in chunks, all other fields in one."""
        for choice in completion["choices"]:
            index, message = choice.get("index", 0), choice["message"]
            text, content = _split(message.get("content"))
            for chunk in chunks_of(text):
                yield self._chunk({"content": chunk}, index)
            others = {**message, "content": content}
            rest = {k: v for k, v in others.items() if k != "role" and v}
            if calls := rest.get("tool_calls"):
                rest["tool_calls"] = [{**call, "index": at} for at, call in enumerate(calls)]
            if rest or choice.get("logprobs"):
                yield self._chunk(rest, index, logprobs=choice.get("logprobs"))

    def _ending(self, completion: Completion) -> Iterator[bytes]:
        """Finish reasons, the run's summary, and the tokens where they are asked for."""
        choices = completion["choices"]
        for at, choice in enumerate(choices, start=1):
            last = {"conflictscore": completion["conflictscore"]} if at == len(choices) else {}
            finish = choice.get("finish_reason") or "stop"
            yield self._chunk({}, choice.get("index", 0), finish, **last)
        if self._include_usage:
            yield frame({**self._common, "choices": [], "usage": completion["usage"]})
        yield _DONE

    def _chunk(
        self,
        delta: Mapping[str, Any],
        index: int = 0,
        finish: str | None = None,
        logprobs: object = None,
        **beside: Any,
    ) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return frame({**self._common, "choices": [choice], **beside})


def _split(content: object) -> tuple[str, object]:
    """The text of a message and its other parts; some upstreams send a list of parts."""
    if not isinstance(content, list):
        return (content, None) if isinstance(content, str) else ("", content)
    texts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    texts = [part for part in texts if isinstance(part.get("text"), str)]
    others = [part for part in content if part not in texts]
    return "".join(part["text"] for part in texts), others
