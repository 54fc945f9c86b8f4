"""Shortens documents for questions that ask only for a time, if the model reads slowly.

The embedded model takes most of the time of a first answer to read the documents. If a question
asks when something happened, a sentence without a figure or a word for a time does not answer it.
So only the other sentences are shown. The answer is checked against the whole documents.
"""

import re
from collections.abc import Sequence

from conflictscore.answering.languages import language_of
from conflictscore.calendar_words import MONTHS
from conflictscore.records import Document
from conflictscore.retrieval.token_windows import MARK
from conflictscore.sentences import sentence_starts

_BEFORE = r"(?:(?:in|on|during|since|until|till|by|from|around|about) )?"
_ASKS_YEAR = re.compile(
    rf"\s*{_BEFORE}(?:which|what) (?:year|decade|century)\b"
    rf"|.*\b(?:in|during|since|until|by) (?:which|what) (?:year|decade|century)\W*\Z",
    re.IGNORECASE | re.DOTALL,
)
_ASKS_TIME = re.compile(
    rf"\s*{_BEFORE}(?:when\b|(?:which|what) (?:date|day|month|season)\b)", re.IGNORECASE
)
# A question with several of these words may ask for more than a time.
_ASKING = re.compile(
    r"\b(?:when|which|what|who|whom|whose|where|why|how|name|list|tell|explain|describe)\b",
    re.IGNORECASE,
)
_SPELLED = (
    r"(?:ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty"
    r"|thirty|forty|fifty|sixty|seventy|eighty|ninety|thousand)"
)
# A year in figures or in words ("eighteen seventy-one"), and words for a missing or distant one.
_YEAR_WORDS = (
    rf"\d|\b{_SPELLED}[ -](?:hundred|and|oh|one|two|three|four|five|six|seven|eight|nine"
    rf"|{_SPELLED})\b|\b(?:never|ago|century|centuries|decades?)\b"
)
_STATES_YEAR = re.compile(_YEAR_WORDS, re.IGNORECASE)
# English names of months are in ASCII; names in other languages are not needed, but do no harm.
_STATES_TIME = re.compile(
    rf"{_YEAR_WORDS}|\b(?:{'|'.join(name for name in MONTHS if name.isascii())}"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|yesterday|tomorrow|tonight|dawn|dusk"
    r"|sunrise|sunset|mornings?|noon|midday|afternoons?|evenings?|nights?|midnight|days?|daily"
    r"|weeks?|weekends?|months?|seasons?|spring|summers?|autumn|fall|winters?|years?|annual(?:ly)?"
    r"|reign\w*|wars?|era|epoch|period|dynasty|times?|age|ages|christmas|easter|before|after|during"
    r"|since|until|till|while|when|whenever|once|later|earlier|early|late|soon|recent(?:ly)?"
    r"|previous(?:ly)?|current(?:ly)?|now|then|always|ever|yet|still|anniversary)\b",
    re.IGNORECASE,
)
# Sentences that are shown with the sentence before, since they refer to it.
_REFERS_BACK = re.compile(
    r"\W*(?:it|its|he|his|she|her|they|their|this|that|these|those|there|then|both|the latter"
    r"|the former)\b",
    re.IGNORECASE,
)


def asks_for_time(question: str) -> bool:
    """Return whether a question is in English, and asks for a time and nothing else."""
    return _wanted(question) is not None


def stating_times(documents: Sequence[Document], question: str) -> list[Document]:
    """Return documents with only the sentences that may answer the question, if it asks for a time.

    The first document stays whole. A model server keeps what it has read, so it need not read this
    document again when a later request begins with it.
    """
    states_time = _wanted(question)
    if states_time is None:
        return [*documents]
    return [
        *documents[:1],
        *(
            document.model_copy(update={"text": _stating(document.text, states_time)})
            for document in documents[1:]
        ),
    ]


def _stating(text: str, states_time: re.Pattern[str]) -> str:
    """Return the sentences of a text that match a pattern, in order.

    A text that is not English is returned unchanged. The first sentence, headings, lines before a
    list and rows of tables are kept, too. A sentence that refers to the one before is shown with
    it. Marks stand for the sentences left out.
    """
    if language_of(text) != "en":
        return text
    starts = sentence_starts(text)
    ends = [*starts[1:], len(text)]
    shown = [
        place == 0
        or states_time.search(text, start, end) is not None
        or _is_frame(text, start, end)
        for place, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
    for place in range(len(starts) - 1, 0, -1):
        if shown[place] and _REFERS_BACK.match(text, starts[place]):
            shown[place - 1] = True
    parts, is_gap = list[str](), False
    for is_shown, start, end in zip(shown, starts, ends, strict=True):
        if is_shown:
            parts += [MARK] * is_gap + [text[start:end]]
        is_gap = not is_shown
    return "".join(parts) + MARK.rstrip() * is_gap


def _wanted(question: str) -> re.Pattern[str] | None:
    """Return what a sentence must contain to answer the question; None if any may answer it."""
    if len(_ASKING.findall(question)) != 1 or len(sentence_starts(question)) != 1:
        return None
    if _ASKS_YEAR.match(question):
        return _STATES_YEAR
    return _STATES_TIME if _ASKS_TIME.match(question) else None


def _is_frame(text: str, start: int, end: int) -> bool:
    """Return whether a sentence is a heading, introduces a list, or belongs to a table."""
    is_heading = text[start] == "#" and text[start - 1] == "\n"
    return is_heading or text[start:end].rstrip().endswith(":") or "|" in text[start:end]
