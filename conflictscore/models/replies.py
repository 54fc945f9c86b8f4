"""Reading a reply: how it ended, whether it had the whole prompt, and its text without reasoning.

Every step reads replies through here and :mod:`~conflictscore.models.json_replies`. Only
damage that loses nothing is undone. A reply that could be read in two ways is refused with a
ValueError, whose message can be given back to the model.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from conflictscore.errors import FailureKind, ProviderError, UnreadableReplyError
from conflictscore.models.usage import cost_of
from conflictscore.tokens import count_tokens

INTERRUPTED_REASONING = "it was cut off while the model was still reasoning"

# How a reply ended.

_ENDING_FIELDS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""OpenAI and Gemini; Anthropic; Bedrock Converse; Ollama."""
_NORMAL_ENDINGS = frozenset(
    (
        *("complete", "completed", "done", "end", "end_turn", "eos", "eos_token"),
        *("finish", "finished", "unspecified", "function_call", "none", "stop"),
        *("stop_sequence", "success", "tool_call", "tool_calls", "tool_use"),
    )
)
"""A reason that is not listed may be anything, so a reply that gives one is not taken as whole."""
_LENGTH_ENDINGS = frozenset(
    (
        *("context_window_exceeded", "length", "max_length", "max_output_tokens"),
        *("max_tokens", "model_context_window_exceeded", "model_length"),
    )
)
_ENDING_CHARS = 60


def abnormal_ending(message: BaseMessage) -> str | None:
    """The provider's name for why a reply ended early; None for a whole reply."""
    said: Mapping[str, Any] = message.response_metadata
    for name in _ENDING_FIELDS:
        value = said.get(name)
        if value is not None and value != "":
            reason = str(getattr(value, "name", value)).rpartition(".")[2]
            if reason.lower().removeprefix("finish_reason_") not in _NORMAL_ENDINGS:
                return reason
    native = str(said.get("native_finish_reason") or "")  # OpenRouter's, beside its own
    if native.lower() in _LENGTH_ENDINGS:
        return native
    details = said.get("incomplete_details")  # the Responses API
    if isinstance(details, Mapping) and details.get("reason"):
        return str(details["reason"])
    feedback = said.get("prompt_feedback")  # Gemini, for a prompt that it refused
    blocked = feedback.get("block_reason") if isinstance(feedback, Mapping) else None
    if blocked and str(getattr(blocked, "name", blocked)).lower() != "block_reason_unspecified":
        return str(getattr(blocked, "name", blocked))
    return "refusal" if message.additional_kwargs.get("refusal") else None


def was_cut(message: BaseMessage) -> bool:
    """Whether a reply ended at a limit of tokens."""
    ending = abnormal_ending(message)
    return ending is not None and ending.lower() in _LENGTH_ENDINGS


def require_whole(message: BaseMessage, model: str, max_tokens: int) -> None:
    """Refuse a reply that did not end normally, by the provider's reason."""
    ending, text = abnormal_ending(message), str(message.text)
    if ending is None:
        return
    if was_cut(message):
        reason = f"it was cut off after {max_tokens} tokens"
        raise UnreadableReplyError(reason, provider=model, reply=text)
    if ending == "refusal":
        raise UnreadableReplyError("it was a refusal", provider=model, reply=text)
    # a filter or a failure is no fault of form that the model could mend
    reason = f"it did not end normally but by “{ending[:_ENDING_CHARS]}”"
    raise UnreadableReplyError(reason, provider=model, again=False)


# Whether its server cut the prompt, as some do silently if their context is short.

_LEAST_TOKENS = 1000
"""Shorter prompts fit every server, and their counts differ most."""
_CHARS_PER_TOKEN = 5
"""Text of any script has fewer, emoji included, so a server that reports more has read it all: our
count of such text may be ten times that of a model whose tokenizer knows it."""
_SHARE = 0.5
"""Of Latin text, which is left, tokenizers' counts differ by less than that."""


def require_whole_prompt(reply: Any, messages: Sequence[BaseMessage], model: str) -> None:
    """Refuse a reply whose server reports far fewer prompt tokens than were sent.

    Raises:
        ProviderError: It cut the prompt; says how to give it a longer context.
    """
    read = cost_of(reply).input_tokens
    if not read or sum(len(message.text) for message in messages) <= _CHARS_PER_TOKEN * read:
        return
    sent = sum(count_tokens(message.text) for message in messages)
    if sent >= _LEAST_TOKENS and read < _SHARE * sent:
        raise ProviderError(
            f"{model} read {read:,} of about {sent:,} tokens of the prompt: its server cut the"
            " rest; give it a longer context (num_ctx in Ollama, the context length in LM Studio,"
            f" -c in llama.cpp), or tell this program about it with --context-window {read}",
            provider=model,
            failure=FailureKind.NO_ROOM,
        )


# The text of a reply.

_REASONING = re.compile(
    r"think|thought|reason|reflect|scratch|analy[sz]|(?<![a-z])(?:cot|plan|draft)|思"
)
"""Names that templates and models give to a block of reasoning, or parts of them."""
_CERTAIN = re.compile(r"think|thought|reason|reflect")
"""A block of any other name is reasoning only at the start of a reply, and if it is closed."""
_TAG = re.compile(
    r"(?P<line>^[ \t]{0,40})?(?:<(?P<gemma>\|channel>thought|channel\|>)"
    r"|(?:<[|\uff5c]?|◁|\[(?=/?THINK\]))(?P<close>/?)(?P<name>[^\s<>\[\]|\uff5c◁▷/]{1,40})"
    r"(?:\s[^<>]{0,200})?(?:[|\uff5c]?>|\]|▷))",
    re.MULTILINE,
)
_FIRST_FENCE = re.compile(r"\s*```\w*\s*")
_END_NAMES = ("end_", "end▁")
"""Of closing tags without a slash, such as ``<|END_THINKING|>``."""
_QUOTES = ("`", '"', "'", "“")
"""A closing tag behind one of these is spoken of, not used."""
_HARMONY = re.compile(r"<\|channel\|>(?P<channel>[^<]*)(?:<\|constrain\|>[^<]*)?<\|message\|>")
_HARMONY_END = re.compile(r"<\|(?:end|return|call|start)\|>")
_BARE_HARMONY = re.compile(r"analysis(?=[A-Z])")
_STARTS = re.compile(
    r"(?:\s{0,9}(?:<s>|<\|(?:im_start|start_header_id|message|START_RESPONSE|begin_of_solution)\|>"
    r"|<start_of_turn>)\s{0,9}(?:assistant|model)?\s{0,9}(?:<\|end_header_id\|>)?){1,3}\s*"
)
_ENDS = (
    *("</s>", "<eos>", "<end_of_turn>", "<\uff5cend▁of▁sentence\uff5c>", "<|END_RESPONSE|>"),
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end|>", "<|return|>"),
    *("<|call|>", "<|end_of_solution|>"),
)
"""Tokens of chat templates that servers leave in a reply."""
_MOST_ENDS = 4
_WRAPPER = re.compile(
    r"<(?P<name>(?:final_?)?answer|final|output|response|reply|result|claims)>(?P<inside>.*)"
    r"</(?P=name)>",
    re.DOTALL | re.IGNORECASE,
)


_AROUND_LINE = ' \t\r*_#`"“”>-•,'
_TAGGED = re.compile(
    r"<?(?P<name>[a-z_]{1,40})>(?P<value>[^<>]*)(?:</?[a-z_]{1,40})?", re.IGNORECASE
)


def reply_text(message: BaseMessage) -> str:
    """Text of a model's reply without its reasoning; ValueError if it ended within that."""
    content: Any = message.content
    if isinstance(content, list):  # the client's own reader knows no type but "text"
        parts = [part for part in content if isinstance(part, Mapping)]
        texts = [part for part in parts if part.get("type", "text") in {"text", "output_text"}]
        if len(parts) == len(content):
            return without_reasoning("".join(str(part.get("text") or "") for part in texts))
    return without_reasoning(str(message.text))


def without_reasoning(text: str) -> str:
    """A text without the reasoning blocks and tokens of chat templates that a server left in it.

    A block has a tag such as ``<think>`` at the start of a line, and a closing one. Everything
    before a closing tag that stands alone is reasoning too: some chat templates put the opening tag
    into the prompt. Of OpenAI's Harmony format, the last channel that is no analysis is the reply.

    Raises:
        ValueError: A block is not closed.
    """
    text = text.lstrip("\ufeff\u200b\0")
    if "<|channel|>" in text:
        text = _last_channel(text)
    elif _BARE_HARMONY.match(text):  # without its tokens
        _, found, text = text.rpartition("assistantfinal")
        if not found:
            raise ValueError(INTERRUPTED_REASONING)
    return _without_tokens(_without_blocks(_without_tokens(text)))


def _without_blocks(text: str) -> str:
    kept: list[str] = []
    start, opened = 0, ""
    fence = _FIRST_FENCE.match(text)
    begins = fence.end() if fence else len(text) - len(text.lstrip())
    for tag in _TAG.finditer(text):
        if tag["gemma"]:
            name, closes = "thought", tag["gemma"].startswith("channel")
        else:
            name = tag["name"].casefold()
            closes = bool(tag["close"]) or name.startswith(_END_NAMES)
        if not _REASONING.search(name):
            continue
        certain = _CERTAIN.search(name) is not None
        if not closes:
            at_start = tag["line"] is not None and (certain or tag.start() <= begins)
            if at_start and not opened:
                kept.append(text[start : tag.start()])
                opened = name
        elif opened and (certain or name == opened):
            start, opened = tag.end(), ""
        elif not opened and certain and text[tag.start() - 1 : tag.start()] not in _QUOTES:
            kept, start = [], tag.end()
    if opened:
        raise ValueError(INTERRUPTED_REASONING)
    return "".join([*kept, text[start:]]).lstrip() if start else text


def _without_tokens(text: str) -> str:
    if found := _STARTS.match(text):
        text = text[found.end() :]
    for _ in range(_MOST_ENDS):
        bare = text.rstrip()
        end = next((token for token in _ENDS if bare.endswith(token)), None)
        if end is None:
            break
        text = bare.removesuffix(end)
    return text


def unwrapped(text: str) -> str:
    """A text without the tags that all of it stands in, such as ``<answer>…</answer>``."""
    found = _WRAPPER.fullmatch(text.strip())
    return found["inside"].strip() if found else text


def unfenced(text: str) -> str:
    """A text without a byte-order mark, and without the code fence that all of it stands in."""
    bare = text.lstrip("\ufeff").strip()
    first, _, rest = bare.partition("\n")
    for fence in ("```", "~~~"):
        if first.startswith(fence) and rest.endswith(fence) and fence not in rest[:-3]:
            return rest[:-3].strip()
    return bare


def labelled_lines(reply: str, names: Collection[str]) -> dict[str, str]:
    """The values of lines ``NAME: value`` or tags ``<name>value</name>``; names in small letters.

    Bullets, bold print and quotation marks around names and values make no difference.

    Raises:
        ValueError: A name has two different values.
    """
    found: dict[str, str] = {}
    for line in unfenced(reply).splitlines():
        bare = line.strip(_AROUND_LINE)
        tag = _TAGGED.fullmatch(bare)
        name, colon, value = (tag["name"], ":", tag["value"]) if tag else bare.partition(":")
        name, value = name.strip(_AROUND_LINE).lower(), value.strip(_AROUND_LINE)
        if colon and name in names and found.setdefault(name, value) != value:
            raise ValueError(f'the line "{name.upper()}:" occurs twice, with different values')
    return found


def _last_channel(text: str) -> str:
    channels = [one for one in _HARMONY.finditer(text) if "analysis" not in one["channel"]]
    if not channels:
        raise ValueError(INTERRUPTED_REASONING)
    start = channels[-1].end()
    end = _HARMONY_END.search(text, start)
    return text[start : end.start() if end else len(text)]
