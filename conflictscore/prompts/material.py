"""Functions that make untrusted text safe to use in a prompt.

Some servers, such as llama.cpp's, interpret the control tokens of a chat template wherever they
occur in a prompt, and no setting prevents this. So ``<|im_end|>`` in a document would end the
user's turn. Therefore, only trusted text may contain such tokens, or the tags that delimit material
in our templates.
"""

import hashlib
import re
import unicodedata
from functools import lru_cache
from string import ascii_lowercase

# Control characters other than tab and line feed.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
"""Invisible characters (``Default_Ignorable_Code_Point`` in Unicode)."""
_INVISIBLES = re.compile(f"[{_INVISIBLE}]+")
# Each bracket is replaced by a character that people read as a bracket but tokenizers do not.
# Normalization (NFKC) turns small and full-width brackets into plain ones, so they are replaced
# too.
_LOOK_ALIKE = {
    alike: stand_in
    for alikes, stand_in in (
        ("<\ufe64\uff1c", "\u2039"),
        (">\ufe65\uff1e", "\u203a"),
        ("[\ufe47\uff3b", "\u2045"),
        ("]\ufe48\uff3d", "\u2046"),
    )
    for alike in alikes
}
_BRACKET = re.compile(r"<(?=[^<>]|<(?i:/?sys))|>(?=>[A-Z_])|\[(?=[|/@a-zA-Z])|\](?=[~!])")
"""Matches brackets with which a token can begin, to skip all others quickly."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_OURS = r"<\s*+(?:/\s*+)?(?:document|claim|answer)\b"
# Repetitions are bounded, so that a search through a hostile text takes linear time.
_PIPED = r"<\|[^\s<>|]{1,64}\|?>|<[^\s<>|]{1,64}\|>|\[\|[^\s\[\]|]{1,64}\|\]"
"""Matches tokens with pipes.

ChatML, Llama, Phi, Granite, Harmony, Kimi and GLM have tokens such as ``<|im_end|>``. DeepSeek has
the same tokens with wide pipes. Gemma has ``<|turn>`` and ``<turn|>``, and EXAONE has ``[|user|]``.
"""
_NAMED = (
    r"</?(?:(?:[a-z0-9]{1,32}:)?[a-z0-9]{1,32}(?:_[a-z0-9]{1,32}){1,6}|[a-z]{3,16}\d{4,6}"
    r"|\w{0,32}\u2581[\w\u2581]{1,64}|\[[^\s<>\[\]]{1,80}\]"
    r"|s|bos|eos|pad|unk|sep|cls|mask|eo[abdhmpstu]|sop|bod|think|thinking|system|user|assistant|model"
    r"|human|role|tool|tools|toolcall|observation|image|end_?of\w{1,32}|unused_?\d+|0x[0-9a-f]{2}"
    r"|(?:seed|mask|toolcall|fim):\w{1,32}|\u7528\u6237)>|<<?/?sys>>?"
)
"""Matches tokens with a name in angle brackets.

Such tokens are used by Llama 2, Gemma, Cohere, Qwen, InternLM, Baichuan, Seed, ERNIE, T5,
StarCoder, Nemotron, MiniCPM, Ling, MiniMax and Hunyuan. Any other name matches if it consists of
words joined by underscores or similar characters, of a word and a number, or of nested brackets. No
HTML element has such a name.
"""
_SQUARE = (
    r"\[/?(?:[A-Z][A-Z0-9]{0,24}(?:_[A-Z0-9]{1,24}){1,4}|(?:control|unused)_?\d{1,6}|@[A-Z]{2,8}@"
    r"|INST|SYS|ARGS|THINK|IMG|AUDIO|TRANSCRIBE|PREFIX|MIDDLE|SUFFIX|USER|SYSTEM|ASSISTANT"
    r"|CLS|SEP|[a-z]?MASK|PAD|UNK|BOS|EOS)\]|\[e~\[|\]~!?b[\[\]]|\]!p~\[|>>[A-Z_]{4,32}<<"
    r"|<(?:PRE|MID|SUF|EOT|AI)>"
)
"""Matches tokens in capitals, most of which are in square brackets.

Such tokens are used by Mistral, GLM, BERT, InternLM, MiniMax, Falcon and Code Llama. The same names
in lower case are not tokens. Any other name matches if it consists of capitals joined by
underscores.
"""
_TOKEN = re.compile(f"(?i:{_OURS}|{_PIPED}|{_NAMED})|{_SQUARE}")
# 18 digits cannot be guessed, and a tokenizer that reads three digits at a time turns them into 6
# tokens.
_MARK_DIGITS = 18
# 13 letters are as hard to guess. They take about 7 tokens, even with tokenizers that turn each
# digit into a token, such as that of the embedded model.
_MARK_LETTERS = 13


def material(text: str) -> str:
    """Make untrusted text safe to put between tags, so that it can neither open nor close them.

    Control characters other than tab and newline become spaces, and the result is made safe by
    :func:`neutral`.
    """
    return neutral(_CONTROL.sub(" ", text.replace("\r\n", "\n")))


def material_line(text: str) -> str:
    """Make untrusted text safe as :func:`material` does, and put it on one line."""
    return " ".join(material(text).split())


@lru_cache(maxsize=64)  # the same document occurs in many prompts
def neutral(text: str) -> str:
    """Neutralise the control tokens of chat templates and the prompts' tags in untrusted text.

    The first bracket of each token or tag is replaced by a similar character, even if full-width
    letters or invisible characters disguise the token. All other text is unchanged.
    """
    plain = _NOT_ASCII.sub(lambda match: _form(match[0]), text)
    openings = [m.start() for m in _BRACKET.finditer(plain) if _TOKEN.match(plain, m.start())]
    if not openings:
        return text
    characters = [*text]
    places = [at for at, character in enumerate(text) for _ in _form(character)]
    for place in openings:
        characters[places[place]] = _LOOK_ALIKE[characters[places[place]]]
    return "".join(characters)


def without_invisibles(text: str) -> str:
    """Return a text without its invisible characters."""
    return _INVISIBLES.sub("", text)


@lru_cache(maxsize=4096)  # the same few characters occur again and again
def _form(character: str) -> str:
    """Return a character as a model may read it: in its plain form, or not at all if invisible."""
    return unicodedata.normalize("NFKC", without_invisibles(character))


def mark_of(text: str) -> str:
    """Return 18 digits of a text's hash for the tags around it; the text cannot contain them.

    The digits are the same in every run and on every machine, so prompts can be cached and
    reproduced. The digits always have the same number of tokens.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return f"{int.from_bytes(digest) % 10**_MARK_DIGITS:0{_MARK_DIGITS}}"


def brief_mark_of(text: str) -> str:
    """Return 13 letters of a text's hash, for the same use as the digits of :func:`mark_of`."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return "".join(ascii_lowercase[byte % 26] for byte in digest[:_MARK_LETTERS])
