"""Reads the text of captions (.srt, .vtt), without cue numbers, times or styles."""

import re
from collections.abc import Iterator, Sequence
from html import unescape

from conflictscore.retrieval.reading.texts import RichText

# Quantifiers are bounded, so that matching a hostile text takes linear time. The bounds were chosen
# by hand.
_TIMES = re.compile(r"[ \t]{0,9}(?:\d{1,4}:)?\d{1,2}:\d{1,2}(?:[.,]\d{1,3})?[ \t]{0,9}-->")
# The speaker of a WebVTT caption: "<v Mary>".
_SPEAKER = re.compile(r"<v(?:\.[^<>\s]{0,99})?[ \t]([^<>\n]{1,200})>", re.IGNORECASE)
# Tags of captions, and commands in braces such as "{\an8}".
_TAG = re.compile(r"</?[a-zA-Z0-9][^<>\n]{0,300}>|\{\\[^{}\n]{0,200}\}")
# The pronunciation of a word, which is drawn above the word. WebVTT allows a missing end tag.
_PRONUNCIATION = re.compile(r"<rt(?:\.[^<>\s]{0,99})?>[^<>\n]{0,200}(?:</rt>|(?=</ruby>))")
_MOST_REPEATED = 4  # Maximum number of repeated lines; most cues have at most three.


def read_captions(source: str) -> RichText:
    """Return the displayed lines in order; lines that the next cue repeats are returned once.

    Comments and styles in .vtt files are left out. The name of each speaker is put before their
    words.
    """
    shown: list[str] = []
    before: list[str] = []
    for cue in _cues(source):
        shown += cue[_repeated(before, cue) :]
        before = cue
    return RichText("\n".join(shown), "")


def _cues(source: str) -> Iterator[list[str]]:
    """Yield the lines of each cue that has any."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    cue: list[str] = []
    is_cue = False
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if _TIMES.match(line) or not line:
            if cue:
                yield cue
            # a blank line ends a cue, and a line of times begins one; other lines are notes, styles
            # or numbers of cues
            cue, is_cue = [], bool(line)
        # some files have no blank line between a cue and the number of the next one
        elif is_cue and not (line.strip().isdecimal() and _TIMES.match(after)):
            cue += filter(None, [_words(line)])
    if cue:
        yield cue


def _repeated(before: Sequence[str], cue: Sequence[str]) -> int:
    """Return the number of lines at the start of a cue that repeat the end of the previous cue.

    Captions that scroll repeat the last lines of a cue at the start of the next one.
    """
    most = min(len(before), len(cue), _MOST_REPEATED)
    counts = range(most, 0, -1)
    return next((count for count in counts if before[-count:] == cue[:count]), 0)


def _words(line: str) -> str:
    line = _PRONUNCIATION.sub("", line)
    named = _SPEAKER.sub(lambda tag: f"{tag[1].strip()}: ", line)
    # entities are replaced last, since an escaped "<" does not begin a tag
    return " ".join(unescape(_TAG.sub("", named)).split())
