"""Reads the part of a passage's text that may make a claim, in time linear in its length.

Limits without a stated reason were chosen by hand.
"""

import re

from conflictscore.answering.claim_terms import plain_text
from conflictscore.answering.remarks import without_remarks
from conflictscore.json_answers import said_by
from conflictscore.markdown import Passage, passages
from conflictscore.scripts import words_in

# Minimum number of words in a JSON value that may state something of its own. A shorter value is a
# name or a code.
_WORDS_OF_A_VALUE = 3
# Three consecutive words, which code seldom contains. The lookbehinds keep a match from beginning
# within a word, and the possessive repetitions keep the time linear.
_PROSE = re.compile(r"(?<![\w\u2019-])(?<!\w')\w[\w'\u2019-]*+(?:,? \w[\w'\u2019-]*+){2,}+")
# Words that begin lines of code and commands, even if the line looks like prose.
_PROGRAM = re.compile(
    r"(?:public|private|static|const|let|var|import|from|def|class|return|select|insert|update"
    r"|create|for|while|if|else|elif|with|int|void|float|double|pip|npm|git|sudo|apt|cd|export)\b",
    re.IGNORECASE,
)
# A number that only orders parts of an answer, as in "Step 1: Install the pump".
_ORDER = re.compile(
    r"^\W{0,6}(?:step|part|option|tip|phase|schritt|teil|\u00e9tape|partie|paso|parte)\s\d{1,2}"
    r"(?=[:.)]|\s[\u2013\u2014-])",
    re.IGNORECASE,
)
# The title of a Markdown reference, as in [tide]: tide.png "High tide at noon". The passages of a
# text do not include such titles.
_TITLE = re.compile(
    r"^ {0,3}\[[^\]\n]{1,200}\]:[ \t]{0,9}\S{1,2000}[ \t]{1,9}"
    r"[\"'(](?P<title>[^\n]{3,2000})[\"')][ \t\r]{0,9}$",
    re.MULTILINE,
)


def passages_with_titles(answer: str) -> list[Passage]:
    """Return the passages of an answer and the titles of its references, in order."""
    parts = [*passages(answer)]
    if any(part.kind == "value" for part in parts):
        return parts  # JSON has no references
    spans = [match.span("title") for match in _TITLE.finditer(answer)]
    return sorted([*parts, *(Passage(*span, "text", span) for span in spans)])


def text_of(answer: str, part: Passage, asked: frozenset[str] = frozenset()) -> str:
    """Return the part of a passage's text that may make a claim.

    In code, only text that reads like prose counts. In JSON, only values of several words count:
    the model was asked about each plain value ("en", true, a score) separately.
    """
    text = answer[part.start : part.end]
    if part.kind == "value":
        value = said_by(text)
        return plain_text(value) if len(words_in(value)) >= _WORDS_OF_A_VALUE else ""
    # Markdown treats HTML as code, but its text is prose
    if part.kind != "code" or text.lstrip().startswith("<"):
        return without_remarks(plain_text(_ORDER.sub("", text)), asked)
    lines = text.removeprefix("```").removesuffix("```").splitlines()
    prose = (run[0] for line in lines for run in _PROSE.finditer(line))
    # with a full stop between them, the first word of each run counts as the start of a sentence
    return " . ".join(run for run in prose if not _PROGRAM.match(run))
