"""Extracts the text of a reply, without reasoning and chat-template tokens.

Every step reads replies through this module and :mod:`~conflictscore.models.json_replies`. Damage
is repaired only if nothing was lost. An ambiguous reply raises a ValueError, whose message can be
sent back to the model.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from langchain_core.messages import BaseMessage

INTERRUPTED_REASONING = "it was cut off while the model was still reasoning"

_REASONING = re.compile(
    r"think|thought|reason|reflect|scratch|analy[sz]|(?<![a-z])(?:cot|plan|draft)|思"
)
"""Matches names, or parts of names, that templates and models use for a block of reasoning."""
_CERTAIN = re.compile(r"think|thought|reason|reflect")
"""Matches names that always mean reasoning. A block with a different name is reasoning only if it
begins a reply and is closed."""
# Tags around reasoning, such as "<think>", "[THINK]", "◁think▷" and Gemma's "<|channel>".
_TAG = re.compile(
    r"(?P<line>^[ \t]{0,40})?(?:<(?P<gemma>\|channel>thought|channel\|>)"
    r"|(?:<[|\uff5c]?|◁|\[(?=/?THINK\]))(?P<close>/?)(?P<name>[^\s<>\[\]|\uff5c◁▷/]{1,40})"
    r"(?:\s[^<>]{0,200})?(?:[|\uff5c]?>|\]|▷))",
    re.MULTILINE,
)
# The opening line of a code block: "```json".
_FIRST_FENCE = re.compile(r"\s*```\w*\s*")
_END_NAMES = ("end_", "end▁")
"""Prefixes that mark a closing tag without a slash, such as ``<|END_THINKING|>``."""
_QUOTES = ("`", '"', "'", "“")
"""A closing tag after one of these characters is a quotation, and does not close a block."""
# The header of a message in Harmony, the reply format of OpenAI's open models.
_HARMONY = re.compile(
    r"<\|channel\|>(?P<channel>[^<]*)(?:<\|constrain\|>[^<]*)?<\|message\|>", re.IGNORECASE
)
# Tokens of the Harmony format (gpt-oss) that end a message.
_HARMONY_END = re.compile(r"<\|(?:end|return|call|start)\|>", re.IGNORECASE)
# The names of Harmony's channels without their tokens, which some servers remove. After "assistant"
# and a blank, the name must be a whole word: "assistant analysisBase" is not a header.
_BARE_HARMONY = re.compile(
    r"(?i:assistant[\s:|]{0,3})?(?i:analysis|commentary)(?=\W)"
    r"|(?i:assistant)?(?i:analysis|commentary)(?=\S)"
)
# A Harmony header whose tokens were removed: "analysisThe user asks …".
_CUT_HARMONY = re.compile(r"analysis(?=[A-Z])")
_FINAL_HEADER = re.compile(
    # joined to the text, also in bold print or brackets
    r"(?:\*\*assistantfinal\*\*|\[assistantfinal\]|assistant[_/]?final)[ \t]{0,3}:?"
    # on a separate line, as plain text, in bold print or as a heading
    r"|^assistant[\s:|]{1,3}final[ \t]{0,3}(?::|$)"
    r"|^(?:\*\*|__|#{1,6} )assistant[\s:|]{0,3}final[ \t]{0,3}:?(?:\*\*|__)?:?[ \t]{0,3}$",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches the header of the last channel. Some servers remove its special tokens but leave its
words.

A sentence may contain "final:" or "assistant final". So these words are a header only if they are
joined to the text or stand on a separate line.
"""
_SPACED_HEADER = re.compile(r"(?i:assistant[\s:|]{1,3}final)\b[\s:|]{0,3}(?=[A-Z\d])")
"""The same header after the reasoning, if the reply begins with "assistant analysis"."""
_SPACED_ANALYSIS = re.compile(r"(?i:assistant[\s:|]{1,3}(?:analysis|commentary))\b")
_INNER_HEADER = re.compile(r"(?<=[.!?)\]}>\"”\n])assistantfinal(?=[A-Z\d\s{\[*#\"“-])")
"""The same header at the end of a sentence, in a reply whose reasoning has no header."""
_FIRST_HEADER = re.compile(
    # "<|channel|>final<|message|>", also without some of its signs
    r"(?i:(?:<?\|?start\|?>(?:assistant)?)?<?\|?channel\|?>\s{0,3}final\s{0,3}<?\|?message\|?>)"
    r"|(?i:(?:assistant)?\|?(?:channel\|)?final\|message\|)"
    # the role on a line of its own, unless a channel follows
    r"|assistant[ \t]{0,3}\n(?!\s{0,3}(?i:analysis|commentary|final))"
    r"|(?:(?i:assistant)[\s:|]{0,3})?(?i:final)\s{0,3}(?=<\|message\|>)"
    # the channel before a word with a capital, a number, JSON or Markdown
    r"|assistant[\s:|]{1,3}final[\s:|]{1,3}(?=[A-Z\d{\[*#\"'-])"
    r"|final[ \t]{0,3}\n|final(?=[{\[*#\"])"
    # the channel joined to a word that often begins an answer
    r"|(?i:final)(?=(?:The|It|In|On|At|No|Yes|This|That|There|He|She|They|We|You|Claims)\b)"
)
"""The same header at the beginning of a reply, in the forms that servers leave."""
_GLUED_HEADER = re.compile(r"final(?=(?P<word>[^\W_]\w*+)(?![(=\[]|\.\w))")
"""Matches "final" joined to the next word, unless the word is called, assigned, indexed or followed
by an attribute. The match may still be an ordinary word, or an identifier such as finalScore.
"""
_LEAST_DIGITS = 3
"""Minimum digits of a number joined to "final"; with fewer, as in "final2", it is probably a
name."""
# Signs that text is about code, where a tag may be an example.
_ABOUT_CODE = re.compile(r"`|\b(?:API|camelCase|function|identifier|parameter|variable)s?\b")
_IDENTIFIER = re.compile(r"\b[a-z]{2,40}[A-Z]")
"""The start of an identifier in camel case."""
# Tokens of chat templates that a server has left at the beginning of a reply.
_STARTS = re.compile(
    r"(?:\s{0,9}(?:<s>|<\|(?:im_start|start|start_header_id|message|START_RESPONSE"
    r"|begin_of_solution)\|>|<start_of_turn>)\s{0,9}(?:assistant|model)?\s{0,9}(?:<\|end_header_id\|>)?){1,3}\s*"
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
"""Chat-template tokens that servers leave in a reply."""
# Maximum number of chat-template tokens that are removed from the end of a reply.
_MOST_ENDS = 4
# A tag around a whole reply.
_WRAPPER = re.compile(
    r"<(?P<name>(?:final_?)?answer|final|output|response|reply|result|claims)>(?P<inside>.*)"
    r"</(?P=name)>",
    re.DOTALL | re.IGNORECASE,
)


_EMPTY = re.compile(r"(?i)(?:[\s`~{}\[\]\"':,]|json|null|none)*+")
"""Matches a reply without content: white space, empty brackets or quotes, an empty fence, null."""
_AROUND_LINE = ' \t\r*_#`"“”>-•,'
# Values in tags, such as "<label>SUPPORTS</label>", even if the tags are damaged.
_TAGGED = re.compile(
    r"<?(?P<name>[a-z_]{1,40})>(?P<value>[^<>]*)(?:</?[a-z_]{1,40})?", re.IGNORECASE
)


class FormlessReplyError(ValueError):
    """Raised for a reply without JSON of the requested form.

    ``empty`` means that the reply has no words either. Some servers send such a reply to every
    request with a schema.
    """

    def __init__(self, reason: str, *, empty: bool) -> None:
        super().__init__(reason)
        self.empty = empty


def reply_text(message: BaseMessage, prompt: str = "") -> str:
    """Return a reply without its reasoning; raise ValueError if it ended while reasoning.

    ``prompt`` is the text that the model was asked; see :func:`without_reasoning`.
    """
    content: Any = message.content
    if isinstance(content, list):  # the client's own parser knows only the type "text"
        parts = [part for part in content if isinstance(part, Mapping)]
        texts = [part for part in parts if part.get("type", "text") in {"text", "output_text"}]
        if len(parts) == len(content):
            return without_reasoning("".join(str(part.get("text") or "") for part in texts), prompt)
    return without_reasoning(str(message.text), prompt)


def without_reasoning(text: str, prompt: str = "") -> str:
    """Return a reply's text without reasoning blocks and chat-template tokens left by a server.

    A block starts with a tag such as ``<think>`` at the start of a line and ends with a closing
    tag. Everything before an unmatched closing tag is reasoning too, since some chat templates put
    the opening tag into the prompt. In OpenAI's Harmony format, the reply is the last channel other
    than analysis. Some servers join its header to the answer's first word, as in "finalParis".
    ``prompt`` is the text that the model was asked. If that text or the reply seems to be about
    code, such a word is taken for an identifier.

    Raises:
        ValueError: A block is not closed.
    """
    # a byte-order mark, a zero-width space and a null character are invisible
    text = text.lstrip("\ufeff\u200b\0")
    has_channels = "<|channel|>" in text.lower()
    text = _last_channel(text) if has_channels else _after_bare_header(text, prompt)
    # tokens may stand before the reasoning as well as between it and the answer
    return _without_tokens(_without_blocks(_without_tokens(text)))


def _after_bare_header(text: str, prompt: str) -> str:
    """Return the reply after channel headers that have lost their special tokens.

    For example, the reply follows the last header in ``analysis…assistantfinal…``.
    """
    bare = text.lstrip()
    if (
        header := _FINAL_HEADER.match(bare)
        or _FIRST_HEADER.match(bare)
        or _glued_header(bare, prompt)
    ):
        return bare[header.end() :].lstrip()
    pattern = _INNER_HEADER
    if _BARE_HARMONY.match(bare):
        pattern = _SPACED_HEADER if _SPACED_ANALYSIS.match(bare) else _FINAL_HEADER
    headers = [*pattern.finditer(bare)]
    if headers:
        return bare[headers[-1].end() :].lstrip()
    # other forms, such as "Analysis:", may also begin an ordinary reply
    if _CUT_HARMONY.match(bare):
        raise ValueError(INTERRUPTED_REASONING)
    return text


def _glued_header(text: str, prompt: str) -> re.Match[str] | None:
    """Return the header joined to the first word, unless reply or prompt seems to be about code."""
    header = _GLUED_HEADER.match(text)
    if header is None or not _begins_sentence(header["word"]):
        return None
    return None if _is_about_code(prompt) or _is_about_code(text[header.end() :]) else header


def _begins_sentence(word: str) -> bool:
    """Return whether a word may begin an answer: one with a capital, a number, or a caseless word.

    Words of scripts without capitals, such as Japanese, are caseless.
    """
    first, rest = word[0], word[1:]
    if first.isdigit():
        return word.isdigit() and len(word) >= _LEAST_DIGITS
    if first.isupper():
        return rest.islower() or word.isupper()
    return not first.islower()


def _is_about_code(text: str) -> bool:
    return any(pattern.search(text) is not None for pattern in (_ABOUT_CODE, _IDENTIFIER))


def _without_blocks(text: str) -> str:
    """Return text without its blocks of reasoning; raise ValueError if a block is left open.

    Some chat templates put the opening tag into the prompt, so an unmatched closing tag also ends a
    block. A closing tag in quotation marks is just text, and does not close a block.
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
    """Return the position after leading blanks and the first line of a code fence."""
    fence = _FIRST_FENCE.match(text)
    return fence.end() if fence else len(text) - len(text.lstrip())


def _starts_block(tag: re.Match[str], begins: int, *, certain: bool) -> bool:
    """Return whether an opening tag starts a line; an uncertain tag must start the whole text."""
    return tag["line"] is not None and (certain or tag.start() <= begins)


def _name_of(tag: re.Match[str]) -> tuple[str, bool]:
    """Return the name of a block's tag in lower case, and whether the tag closes the block."""
    if tag["gemma"]:
        return "thought", tag["gemma"].startswith("channel")
    name = tag["name"].casefold()
    return name, bool(tag["close"]) or name.startswith(_END_NAMES)


def _without_tokens(text: str) -> str:
    """Return text without chat-template tokens at its beginning and its end."""
    if match := _STARTS.match(text):
        text = text[match.end() :]
    for _ in range(_MOST_ENDS):
        bare = text.rstrip()
        if not bare.endswith(_ENDS):
            break
        text = bare.removesuffix(next(filter(bare.endswith, _ENDS)))
    return text


def unwrapped(text: str) -> str:
    """Return text without tags that enclose all of it, such as ``<answer>…</answer>``."""
    match = _WRAPPER.fullmatch(text.strip())
    return match["inside"].strip() if match else text


def unfenced(text: str) -> str:
    """Return text without a byte-order mark, and without a code fence around all of it."""
    bare = text.lstrip("\ufeff").strip()
    first, _, rest = bare.partition("\n")
    for fence in ("```", "~~~"):
        if first.startswith(fence) and rest.endswith(fence) and fence not in rest[:-3]:
            return rest[:-3].strip()
    return bare


def is_empty(reply: str) -> bool:
    """Return whether a reply contains nothing but white space and JSON punctuation."""
    return _EMPTY.fullmatch(reply) is not None


def labelled_lines(reply: str, names: Collection[str]) -> dict[str, str]:
    """Return values from lines ``NAME: value`` or tags ``<name>value</name>``, by lower-case name.

    Bullets, bold print and quotation marks around names and values are ignored.

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
    """Return the text of the last Harmony channel that is not reasoning.

    Raises:
        ValueError: All channels are reasoning.
    """
    channels = [
        match for match in _HARMONY.finditer(text) if "analysis" not in match["channel"].lower()
    ]
    if not channels:
        raise ValueError(INTERRUPTED_REASONING)
    start = channels[-1].end()
    end = _HARMONY_END.search(text, start)
    return text[start : end.start() if end else len(text)]
