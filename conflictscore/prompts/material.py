"""Untrusted text made safe to stand in a prompt.

A server such as llama.cpp's reads the control tokens of its model's chat template wherever they
stand in a prompt, and has no setting against it: a document that holds ``<|im_end|>`` ends the
user's turn. So no text that is not ours may hold one, or a mark of our own templates.
"""

import hashlib
import re
import unicodedata

__all__ = ["mark_of", "material", "material_line", "neutral", "without_invisibles"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
"""Characters that are not drawn (Unicode's ``Default_Ignorable_Code_Point``)."""
_INVISIBLES = re.compile(f"[{_INVISIBLE}]+")
_LOOK_ALIKE = dict.fromkeys("<\ufe64\uff1c", "\u2039") | dict.fromkeys("[\ufe47\uff3b", "\u2045")
_OPENING = re.compile(f"[{re.escape(''.join(_LOOK_ALIKE))}]")
_LONGEST = 80
_AFTER = re.compile(f"(?:[{_INVISIBLE}]*[^{_INVISIBLE}]){{1,{_LONGEST}}}")
_OURS = r"<\s*+(?:/\s*+)?(?:document|claim|answer)\b"
_PIPED = r"<\|[^\s<>|]{1,64}\|?>|<[^\s<>|]{1,64}\|>|\[\|[^\s\[\]|]{1,64}\|\]"
"""``<|im_end|>`` of ChatML, and so Llama, Phi, Granite, Harmony, Kimi, GLM; the same
with wide pipes, of DeepSeek; ``<|turn>`` and ``<turn|>`` of Gemma; ``[|user|]`` of EXAONE."""
_NAMED = (
    r"</?(?:s|bos|eos|pad|unk|sep|cls|mask|eot|eom|eoh|eoa|sop|eop|think|thinking|system|user"
    r"|assistant|model|human|tool|tool_calls?|tool_response|tool_results?|tools|function_call"
    r"|im_start|im_end|eot_id|seed:\w{1,32}|(?:start|begin|end)_?of_\w{1,32}|end_?of\w{1,32}"
    r"|fim_\w{1,32}|file_sep|repo_name|\w{1,32}_token|unused_?\d+|tokens_unused_\d+|special_\d+"
    r"|extra_id_\d+|reserved_\w{1,32})>|<<?/?sys>>?"
)
"""Llama 2, Gemma, Cohere, Qwen, InternLM, Baichuan, Seed, T5, StarCoder, Nemotron."""
_SQUARE = (
    r"\[/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT"
    r"|TOOL_CALL_ID|CALL_ID|ARGS|THINK|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO|MODEL_SETTINGS"
    r"|PREFIX|MIDDLE|SUFFIX|CLS|SEP|MASK|PAD|UNK|BOS|EOS|gMASK|sMASK|control_\d+"
    r"|UNUSED_TOKEN_\d+)\]|\[e~\["
)
"""Mistral, GLM, BERT, InternLM, MiniMax. In small letters they are none."""
_TOKEN = re.compile(f"(?i:{_OURS}|{_PIPED}|{_NAMED})|{_SQUARE}")
_MARK_DIGITS = 18


def material(text: str) -> str:
    """Make untrusted text safe to stand between marks: it can neither close nor open one.

    Control characters other than tab and newline become spaces; all else is as in :func:`neutral`.
    """
    return neutral(_CONTROL.sub(" ", text.replace("\r\n", "\n")))


def material_line(text: str) -> str:
    """Untrusted text as ``material`` makes it, on one line."""
    return " ".join(material(text).split())


def neutral(text: str) -> str:
    """Untrusted text without a control token of a chat template or a mark of our own.

    The opening bracket of each becomes a look-alike, also where full-width letters or characters
    that are not drawn hide it; all else stays letter by letter.
    """
    return _OPENING.sub(_bracket, text)


def without_invisibles(text: str) -> str:
    """A text without the characters that are not drawn."""
    return _INVISIBLES.sub("", text)


def _bracket(opening: re.Match[str]) -> str:
    text, start = opening.string, opening.start()
    found = _TOKEN.match(text, start)
    if not found and not text.isascii() and (after := _AFTER.match(text, start)):
        found = _TOKEN.match(unicodedata.normalize("NFKC", without_invisibles(after[0])))
    return _LOOK_ALIKE[opening[0]] if found else opening[0]


def mark_of(text: str) -> str:
    """The digits in a text's own marks: 18 of its hash, so that no text can contain its own marks.

    They are the same in every run and on every machine, so prompts can be cached and reproduced;
    and digits take the same number of tokens whichever they are.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return f"{int.from_bytes(digest) % 10**_MARK_DIGITS:0{_MARK_DIGITS}}"
