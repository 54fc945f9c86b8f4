"""Builds OpenAI's chat completions, as a whole or as a stream of chunks."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from math import inf
from typing import Any

from langchain_core.messages import AIMessage

from conflictscore.middleware.answer_forms import spoken
from conflictscore.middleware.changed_blocks import THOUGHTS
from conflictscore.middleware.service.refusals import RefusedError, internal_error
from conflictscore.middleware.service.service import RequestRecord
from conflictscore.middleware.service.wire import frame
from conflictscore.models.endings import early_ending
from conflictscore.models.usage import whole_tokens
from conflictscore.records import Gap, GapKind, Run, Usage

Completion = dict[str, Any]
"""OpenAI's chat completion, with the extra field ``conflictscore``."""

_HANDED_ON = (GapKind.NOT_CHECKABLE, GapKind.NOT_ANSWERED)
"""Kinds of gaps; a reply with a gap of these kinds is passed on unchanged."""


def completion_of(
    record: RequestRecord,
    run: Run,
    text: str,
    *,
    base: Mapping[str, Any] | None = None,
) -> Completion:
    """Build the chat completion for a caller.

    Fields of the upstream's completion (``base``) are kept unless the answer has changed. The
    upstream's id is kept only if the reply cannot be checked, for example because it is a tool
    call. The id of a checked reply is our own and contains the run's id, since many clients show no
    other field of a reply.
    """
    own_id = f"chatcmpl-{record.run_id}"
    whole = {
        "id": own_id,
        "object": "chat.completion",
        "created": record.created,
        "model": record.model,
        "usage": None,
        **(base or {}),
        "conflictscore": _summary(record, run),
    }
    gap = run.examined.main_gap if run.examined else None
    if (gap is None or gap.kind not in _HANDED_ON) and whole["id"] != own_id:
        whole["conflictscore"]["upstream_id"] = whole["id"]
        whole["id"] = own_id
    usage = run.usage
    if base is None or usage != usage_of(base):
        whole["usage"] = {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        }
    if base is None or text_of(base) != text:
        message = {"role": "assistant", "content": text, "refusal": None}
        if base is not None:
            message |= _kept_of(base["choices"][0]["message"], text)
        finish = "stop"
        # the upstream's finish reason still applies if a note was only added below its text
        if base is not None and text.startswith(text_of(base)):
            finish = base["choices"][0].get("finish_reason") or finish
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        whole["choices"] = [choice]
    return whole


def _kept_of(message: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the parts of the upstream's message to keep when its text changes.

    These are the reasoning, and the annotations (citations) that end before the first change. The
    offsets of later annotations would be wrong.
    """
    thoughts = {name: message[name] for name in THOUGHTS if message.get(name)}
    before = message.get("content")
    annotations = message.get("annotations")
    if not isinstance(before, str) or not isinstance(annotations, list):
        return thoughts
    pairs = enumerate(zip(before, text, strict=False))
    shorter = min(len(before), len(text))
    first_change = next((place for place, (old, new) in pairs if old != new), shorter)
    still_true = [each for each in annotations if _end_of(each) <= first_change]
    return {**thoughts, "annotations": still_true}


def _end_of(annotation: object) -> float:
    """Return the offset at which the text of a citation ends; infinity if unknown."""
    if not isinstance(annotation, Mapping):
        return inf
    # OpenAI puts the offsets into a field named after the type, other servers next to the type
    about = annotation.get(str(annotation.get("type")))
    end = about.get("end_index") if isinstance(about, Mapping) else annotation.get("end_index")
    return end if isinstance(end, int) else inf


def _summary(record: RequestRecord, run: Run) -> dict[str, Any]:
    """Return the field ``conflictscore`` of a completion, with the scores of the first answer."""
    report, verdict = run.report, run.verdict()
    change_fields = {"first_answer": run.first_answer, "justification": run.justification}
    return {
        "run_id": record.run_id,
        "mode": record.mode,
        "status": run.status.value,
        "flipped": run.flipped,
        "checked": run.checked,
        "reason": verdict["reason"],
        "kind": verdict["kind"],
        "cs_c": report.cs_c if report else None,
        "cs_r": report.cs_r if report else None,
        "coverage": report.coverage if report else None,
        **({"weighted": report.weighted.to_json()} if report and report.weighted else {}),
        **(change_fields if run.flipped else {}),
        "notes": list(run.notes),
    }


def usage_of(completion: Mapping[str, Any]) -> Usage:
    """Return the token counts of the upstream call, as reported in the completion."""
    usage = completion.get("usage")
    counts: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
    details = counts.get("prompt_tokens_details")
    cache_reads = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    input_tokens = whole_tokens(counts.get("prompt_tokens"))
    return Usage(
        calls=1,
        input_tokens=input_tokens,
        cache_read_tokens=min(whole_tokens(cache_reads), input_tokens),
        output_tokens=whole_tokens(counts.get("completion_tokens")),
    )


def text_of(completion: Mapping[str, Any]) -> str:
    """Return the text of the first message; empty if it has none."""
    return _split(completion["choices"][0]["message"].get("content"))[0]


def spoken_of(completion: Mapping[str, Any], prompt: str) -> str:
    """Return the text of the first message without reasoning that the server left in it.

    ``prompt`` is the text that the model received.
    """
    return spoken(AIMessage(text_of(completion)), prompt)


def calls_tools(completion: Mapping[str, Any]) -> bool:
    """Return whether a reply calls tools and is therefore not an answer yet."""
    message = completion["choices"][0]["message"]
    return bool(message.get("tool_calls") or message.get("function_call"))


def why_no_text(completion: Mapping[str, Any]) -> Gap | None:
    """Return the gap for an upstream's reply that has no text to check, or None if it has one."""
    if calls_tools(completion):
        return Gap(kind=GapKind.NOT_ANSWERED, note="the model calls tools")
    if completion["choices"][0]["message"].get("refusal"):
        return Gap(kind=GapKind.STATES_NOTHING, note="the model refuses to answer")
    if text_of(completion).strip():
        return None
    return Gap(kind=GapKind.EMPTY_ANSWER, note="the reply has no text")


def ending_of(completion: Mapping[str, Any]) -> str | None:
    """Return why the upstream's reply may be incomplete, or None if it ended normally."""
    choice = completion["choices"][0]
    metadata = {name: choice.get(name) for name in ("finish_reason", "native_finish_reason")}
    # OpenAI's replies always have a finish reason, so a reply without one may have been cut off
    return early_ending(AIMessage("", response_metadata={**metadata, "model_provider": "openai"}))


async def completion_frames(
    record: RequestRecord,
    work: "asyncio.Task[Completion]",
    *,
    include_usage: bool,
    heartbeat: float,
) -> AsyncIterator[bytes]:
    """Stream a completion as chunks once its run has ended; until then, send keep-alive events."""
    common = {
        "id": f"chatcmpl-{record.run_id}",
        "object": "chat.completion.chunk",
        "created": record.created,
        "model": record.model,
    }

    def chunk(delta: Mapping[str, Any], **choice: Any) -> bytes:
        empty = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        beside = (
            {"conflictscore": summary} if (summary := choice.pop("conflictscore", None)) else {}
        )
        return frame({**common, "choices": [{**empty, **choice}], **beside})

    yield chunk({"role": "assistant", "content": ""})
    while not (await asyncio.wait({work}, timeout=heartbeat))[0]:
        yield chunk({"content": ""})  # some clients ignore comments and would time out
    try:
        completion = work.result()
    except Exception as error:  # noqa: BLE001 - the status is sent, so the stream has the error
        refusal = error if isinstance(error, RefusedError) else internal_error(error)
        yield frame(refusal.body())
        return
    for choice in completion["choices"]:
        for delta in _deltas(choice["message"]):
            yield chunk(delta, index=choice.get("index", 0))
        if choice.get("logprobs"):
            yield chunk({}, index=choice.get("index", 0), logprobs=choice["logprobs"])
    for at, choice in enumerate(completion["choices"], start=1):
        last = at == len(completion["choices"])
        yield chunk(
            {},
            index=choice.get("index", 0),
            finish_reason=choice.get("finish_reason") or "stop",
            conflictscore=completion["conflictscore"] if last else None,
        )
    if include_usage:
        yield frame({**common, "choices": [], "usage": completion["usage"]})
    yield b"data: [DONE]\n\n"


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message's text and then its other fields, as the deltas of chunks."""
    text, content = _split(message.get("content"))
    if text:
        yield {"content": text}
    others = {**message, "content": content}
    rest = {name: value for name, value in others.items() if name != "role" and value}
    if calls := rest.get("tool_calls"):
        rest["tool_calls"] = [{**call, "index": at} for at, call in enumerate(calls)]
    if rest:
        yield rest


def _split(content: object) -> tuple[str, object]:
    """Split a message's content into text and other parts; some upstreams send a list of parts."""
    if not isinstance(content, list):
        return (content, None) if isinstance(content, str) else ("", content)
    texts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    texts = [part for part in texts if isinstance(part.get("text"), str)]
    others = [part for part in content if part not in texts]
    return "".join(part["text"] for part in texts), others
