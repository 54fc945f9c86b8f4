"""Reads the text of captions (.srt, .vtt), without cue numbers, times or styles."""

import re
from html import unescape

from conflictscore.retrieval.reading.texts import RichText

# Quantifiers are bounded, so that matching a hostile text takes linear time.
_TIMES = re.compile(r"[ \t]{0,9}(?:\d{1,4}:)?\d{1,2}:\d{2}[.,]\d{1,3}[ \t]{0,9}-->")
_SPEAKER = re.compile(r"<v(?:\.[^<>\s]{0,99})?[ \t]([^<>\n]{1,200})>", re.IGNORECASE)
# Tags of captions, and commands in braces such as "{\an8}".
_TAG = re.compile(r"</?[a-zA-Z0-9][^<>\n]{0,300}>|\{\\[^{}\n]{0,200}\}")


_PRONUNCIATION = re.compile(r"<rt(?:\.[^<>\s]{0,99})?>[^<>\n]{0,200}(?:</rt>|(?=</ruby>))")


def read_captions(source: str) -> RichText:
    """Return the displayed lines in order; a line that the next cue repeats appears once.

    Comments and styles in .vtt files are left out. The name of each speaker is put before their
    words.
    """
    shown: list[str] = []
    is_cue = False
    lines = source.split("\n")
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if _TIMES.match(line):
            is_cue = True
        elif not line.strip():
            is_cue = False
        elif is_cue and not (line.strip().isdecimal() and _TIMES.match(after)):
            words = _words(line)
            # captions that scroll repeat the last one or two lines in the next cue
            if words and words not in shown[-2:]:
                shown.append(words)
    return RichText("\n".join(shown), "")


def _words(line: str) -> str:
    line = _PRONUNCIATION.sub("", line)
    named = _SPEAKER.sub(lambda tag: f"{tag[1].strip()}: ", line)
    return " ".join(unescape(_TAG.sub("", named)).split())
