"""The text of a reply, without the reasoning and the chat template's tokens in it.

Every step reads replies through here and :mod:`~conflictscore.models.json_replies`. Only
damage that loses nothing is undone. A reply that could be read in two ways is refused with a
ValueError, whose message can be given back to the model.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from langchain_core.messages import BaseMessage

INTERRUPTED_REASONING = "it was cut off while the model was still reasoning"

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
"""Prefixes of closing tags without a slash, such as ``<|END_THINKING|>``."""
_QUOTES = ("`", '"', "'", "“")
"""A closing tag behind one of these is spoken of, not used."""
_HARMONY = re.compile(
    r"<\|channel\|>(?P<channel>[^<]*)(?:<\|constrain\|>[^<]*)?<\|message\|>", re.IGNORECASE
)
_HARMONY_END = re.compile(r"<\|(?:end|return|call|start)\|>", re.IGNORECASE)
_BARE_HARMONY = re.compile(r"analysis(?=[A-Z])|(?i:assistant)?(?i:analysis|commentary)(?=\S)")
_CUT_HARMONY = re.compile(r"analysis(?=[A-Z])")
_FINAL_HEADER = re.compile(r"assistantfinal", re.IGNORECASE)
"""The header of the last channel without its tokens, which some servers leave in the text."""
_STARTS = re.compile(
    r"(?:\s{0,9}(?:<s>|<\|(?:im_start|start_header_id|message|START_RESPONSE|begin_of_solution)\|>"
    r"|<start_of_turn>)\s{0,9}(?:assistant|model)?\s{0,9}(?:<\|end_header_id\|>)?){1,3}\s*"
)
_ENDS = (
    "</s>",
    "<eos>",
    "<end_of_turn>",
    "<\uff5cend▁of▁sentence\uff5c>",
    "<|END_RESPONSE|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|end_of_solution|>",
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
    text = _last_channel(text) if "<|channel|>" in text.lower() else _after_bare_header(text)
    return _without_tokens(_without_blocks(_without_tokens(text)))


def _after_bare_header(text: str) -> str:
    """The reply behind channel headers that lost their tokens: ``analysis…assistantfinal…``."""
    bare = text.lstrip()
    if header := _FINAL_HEADER.match(bare):
        return bare[header.end() :].lstrip()
    if not _BARE_HARMONY.match(bare):
        return text
    headers = [*_FINAL_HEADER.finditer(bare)]
    if headers:
        return bare[headers[-1].end() :].lstrip()
    if _CUT_HARMONY.match(bare):
        raise ValueError(INTERRUPTED_REASONING)
    return text


def _without_blocks(text: str) -> str:
    """A text without its blocks of reasoning; one that is left open is a ValueError.

    Some chat templates put the opening tag into the prompt, so a closing tag that stands alone
    ends a block too, unless it stands in quotation marks: then it is spoken of.
    """
    parts: list[str] = []
    start, open_name = 0, ""
    begins = _start_of_words(text)
    for tag in _TAG.finditer(text):
        name, closes = _name_of(tag)
        if not _REASONING.search(name):
            continue
        certain = _CERTAIN.search(name) is not None
        if not closes:
            if not open_name and _starts_block(tag, begins, certain=certain):
                parts.append(text[start : tag.start()])
                open_name = name
        elif open_name:
            if certain or name == open_name:
                start, open_name = tag.end(), ""
        elif certain and text[tag.start() - 1 : tag.start()] not in _QUOTES:
            parts, start = [], tag.end()
    if open_name:
        raise ValueError(INTERRUPTED_REASONING)
    return "".join([*parts, text[start:]]).lstrip() if start else text


def _start_of_words(text: str) -> int:
    """Where a text begins, behind blanks and the first line of a fence."""
    fence = _FIRST_FENCE.match(text)
    return fence.end() if fence else len(text) - len(text.lstrip())


def _starts_block(tag: re.Match[str], begins: int, *, certain: bool) -> bool:
    """Whether an opening tag starts a line; one of an uncertain name, the first of the text."""
    return tag["line"] is not None and (certain or tag.start() <= begins)


def _name_of(tag: re.Match[str]) -> tuple[str, bool]:
    """The name of a block's tag in small letters, and whether the tag closes the block."""
    if tag["gemma"]:
        return "thought", tag["gemma"].startswith("channel")
    name = tag["name"].casefold()
    return name, bool(tag["close"]) or name.startswith(_END_NAMES)


def _without_tokens(text: str) -> str:
    if match := _STARTS.match(text):
        text = text[match.end() :]
    for _ in range(_MOST_ENDS):
        bare = text.rstrip()
        end = next((token for token in _ENDS if bare.endswith(token)), None)
        if end is None:
            break
        text = bare.removesuffix(end)
    return text


def unwrapped(text: str) -> str:
    """A text without the tags that all of it stands in, such as ``<answer>…</answer>``."""
    match = _WRAPPER.fullmatch(text.strip())
    return match["inside"].strip() if match else text


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
    content_by_name: dict[str, str] = {}
    for line in unfenced(reply).splitlines():
        bare = line.strip(_AROUND_LINE)
        tag = _TAGGED.fullmatch(bare)
        name, colon, content = (tag["name"], ":", tag["value"]) if tag else bare.partition(":")
        name, content = name.strip(_AROUND_LINE).lower(), content.strip(_AROUND_LINE)
        if colon and name in names and content_by_name.setdefault(name, content) != content:
            raise ValueError(f'the line "{name.upper()}:" occurs twice, with different values')
    return content_by_name


def _last_channel(text: str) -> str:
    channels = [
        match for match in _HARMONY.finditer(text) if "analysis" not in match["channel"].lower()
    ]
    if not channels:
        raise ValueError(INTERRUPTED_REASONING)
    start = channels[-1].end()
    end = _HARMONY_END.search(text, start)
    return text[start : end.start() if end else len(text)]
