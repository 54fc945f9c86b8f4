"""Reads Markdown answers: finds passages, locates claims, and decides what may replace a passage.

Offsets count characters of the raw answer, so a replacement leaves every other byte unchanged,
including line ends, code, tables, links and citations.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, takewhile
from math import fsum
from operator import eq
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, list_block

from conflictscore.json_answers import json_values, new_literal
from conflictscore.scripts import term_sets, terms_in, word_weights
from conflictscore.sentences import sentence_ends

# matches code and links, in which no sentence ends
_UNCUT = re.compile(r"`[^`]*`|\[[^\[\]]*\]\([^()]*\)")
_LINE_END = re.compile(r"\r\n?|\n")
_BLANK_LINES = re.compile(r"(?:[ \t]*+(?:\r\n?|\n))*+")
# A vertical bar that no backslash keeps from dividing a table's cells.
_PIPE = re.compile(r"(?<!\\)\|")
# Repetitions are bounded, so that a search through a hostile text takes linear time.
_LINK = re.compile(r"\]\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200}){0,9}\)")

# How far before a block to look for a blank line, in characters, so that the search takes the same
# time in a long text. A line of more blanks than this counts as text.
_NEARBY = 200
# A passage of at least this many characters does not occur twice by chance. Shorter ones, such as
# "Yes." or a date, may. Chosen by hand.
_LEAST_TELLING = 15
_LEAST_OVERLAP, _LONGEST_OVERLAP = 2, 60
"""Least and greatest number of words at the end of a replacement that are compared with the text
that follows it. A single word may be the same by chance; few sentences have more than 60 words.
"""
# A replacement may be 3 times as long as its passage plus 400 characters, so that a short passage
# can become a sentence that names both sides. The limits were chosen, not measured.
_GROWTH, _ROOM = 3, 400

# The number of a list item, perhaps within a quotation or another list.
_ORDINAL = re.compile(r"^[ \t>*+-]{0,40}(\d{1,9})[.)][ \t]", re.MULTILINE)


def _list_unless_ordinal(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Apply the parser's list rule, but do not read "12. Mai 1932" as item 12 of a list.

    A number begins a list item only if it belongs to a sequence. Either the number is 0 or 1 and a
    later line begins with the next number, or an earlier line begins with the preceding number.
    """
    start = state.bMarks[line] + state.tShift[line]
    if state.src[start : start + 1].isdigit():
        if "numbers" not in state.env:
            ordinals = [(int(m[1]), m.start(1)) for m in _ORDINAL.finditer(state.src)]
            # the last and the first place of each number
            state.env["numbers"] = dict(ordinals), dict(ordinals[::-1])
        last, first = state.env["numbers"]
        # Markdown allows at most nine digits
        ordinal = re.match(r"\d{1,9}", state.src[start : start + 9])
        number = int(ordinal[0]) if ordinal else 0
        earlier = first.get(number - 1, start) < start
        if not (earlier or (number < 2 and last.get(number + 1, 0) > start)):
            return False
    return list_block(state, line, end, silent)


# Only the block structure is needed, and parsing inline markup would take most of the time.
_parser = MarkdownIt("commonmark").enable("table").disable("inline")
# As under the original rule, a list may interrupt paragraphs, references and block quotes.
_parser.block.ruler.at(
    "list", _list_unless_ordinal, {"alt": ["paragraph", "reference", "blockquote"]}
)


class Passage(NamedTuple):
    """A sentence, a table row, a code block or a value of a JSON answer."""

    start: int
    end: int
    kind: str
    """``text``, ``row``, ``code`` (HTML too), ``value`` (of JSON), or ``whole`` for the entire
    answer."""
    cut: tuple[int, int]
    """The span to delete if the passage is removed.

    The span includes adjoining white space, or whole lines that contain nothing else.
    """


@lru_cache(maxsize=8)  # several steps of a run split the same one or two answers
def passages(answer: str) -> tuple[Passage, ...]:
    """Return the passages of an answer in order, without surrounding space and block marks."""
    if (values := json_values(answer)) is not None:
        return tuple(Passage(v.start, v.end, "value", (v.start, v.end)) for v in values)
    # a single line that begins with a letter is one paragraph, so it need not be parsed
    if answer[:1].isalpha() and answer.isprintable():
        return tuple(_sentences(answer, 0, len(answer.rstrip()), (0, len(answer))))
    return tuple(passage for passage in _in_blocks(answer) if passage.end > passage.start)


def _in_blocks(answer: str) -> list[Passage]:
    """Return the passages of the blocks of a Markdown text."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(answer)), len(answer)]
    spans: list[Passage] = []
    in_table = False
    for token in _parser.parse(answer):
        if token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        if token.map is None or (in_table and token.type != "tr_open"):
            continue
        block = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]
        if token.type == "inline":
            start, end = _inside(answer, token.content.split("\n"), token.map[0], lines)
            spans += _sentences(answer, start, end, block)
        elif token.type in ("fence", "code_block", "html_block", "tr_open"):
            start, end = _stripped(answer, *block)
            kind = "row" if token.type == "tr_open" else "code"
            spans.append(Passage(start, end, kind, block))
    return spans


def place_of(claim: str, opening: str, answer: str) -> Passage | None:
    """Return the passage of an answer that makes a claim.

    ``opening`` holds the words with which the passage should begin. If exactly one passage contains
    these words unchanged, the function returns that passage. Otherwise it returns the passage that
    shares the most words with the claim; rare words weigh more. The function returns None if no
    passage has a word in common with the claim.
    """
    candidates = passages(answer)
    numbers = _opened_by(opening, answer) or range(len(candidates))
    if opening and len(numbers) == 1:
        return candidates[numbers[0]]
    words, weights = _words_in_passages(answer)
    if len(numbers) < len(candidates):
        words = [words[number] for number in numbers]
        weights = _weights(words)
    claim_words = frozenset(terms_in(claim))
    shares = [fsum([weights[word] for word in own & claim_words]) for own in words]
    # on a tie, the passage with fewer words is closer to the claim
    best = max(range(len(words)), key=lambda i: (shares[i], -len(words[i])), default=None)
    return None if best is None or not shares[best] else candidates[numbers[best]]


def _opened_by(opening: str, answer: str) -> Sequence[int]:
    """Return the indices of the passages that contain ``opening``; none if it is empty."""
    if not opening:
        return ()
    places = [match.start() for match in re.finditer(re.escape(opening), answer)]
    return [
        number
        for number, passage in enumerate(passages(answer))
        if bisect_left(places, passage.start) < bisect_left(places, passage.end)
    ]


@lru_cache(maxsize=8)  # every claim of an answer is compared with the same passages
def _words_in_passages(answer: str) -> tuple[list[frozenset[str]], dict[str, float]]:
    """Return the distinct words of each passage, and the weight of each word."""
    words = term_sets([answer[p.start : p.end] for p in passages(answer)])
    return words, _weights(words)


def _weights(words: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return the weight of each word: the fewer passages contain it, the more it weighs."""
    return word_weights(Counter(chain.from_iterable(words)), len(words))


def misfit(answer: str, passage: Passage, text: str) -> str | None:
    """Return why a text cannot replace a passage, or None if it can.

    An empty string removes the passage. A text that replaces a JSON string comes without quotes.
    """
    before = answer[passage.start : passage.end]
    if passage.kind == "value":
        fits = text and new_literal(before, text)
        return None if fits else "it is not a JSON value of the same type"
    return _misfit_in_place(answer, passage, text) if text else _misfit_gap(answer, passage)


def _misfit_gap(answer: str, passage: Passage) -> str | None:
    """Return why a passage cannot be removed, or None if it can."""
    rest = spliced(answer, [(*passage.cut, "")])
    if not rest.strip():
        return "nothing would be left of the answer"
    return None if _is_without_a_part(_shape(answer), _shape(rest)) else _BROKEN


def _misfit_in_place(answer: str, passage: Passage, text: str) -> str | None:
    """Return why a text that is not empty cannot replace a passage, or None if it can."""
    before = answer[passage.start : passage.end]
    if len(text) > _GROWTH * len(before) + _ROOM:
        return "it is too long to replace the passage"
    if passage.kind != "code" and _marks(before) != _marks(text):
        return _BROKEN
    if passage.kind == "whole":
        return None
    if _repeats(answer, passage, text):
        return "it repeats another part of the answer"
    if passage.kind == "row" and len(_PIPE.findall(before)) != len(_PIPE.findall(text)):
        return "its columns do not match the table"
    put_in = spliced(answer, [(passage.start, passage.end, text)])
    return None if _shape(answer) == _shape(put_in) else _BROKEN


_BROKEN = "it would break the answer's Markdown"


def spliced(answer: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """Return the answer with each change (start, end, text) made."""
    pieces, at = list[str](), 0
    for start, end, text in sorted(changes):
        pieces += [answer[at:start], text]
        at = end
    return "".join([*pieces, answer[at:]])


def _repeats(answer: str, passage: Passage, text: str) -> bool:
    """Return whether a replacement repeats a different sentence, or the start of the text after it.

    If a sentence was split in the wrong place, the replacement is a whole sentence, and the second
    half of the old sentence follows it. Then the start of the following text repeats the end of the
    replacement.
    """
    old = _sentences_in(answer[passage.start : passage.end])
    new = _sentences_in(text)
    all_passages = passages(answer)
    parts = (answer[p.start : p.end] for p in all_passages if p != passage)
    if any(len(part) >= _LEAST_TELLING and part in new - old for part in parts):
        return True
    following = next((p for p in all_passages if p.start >= passage.end), None)
    if following is None or passage.kind != "text":
        return False
    return _runs_into(text, answer[following.start : following.end])


def _sentences_in(text: str) -> set[str]:
    return {text[p.start : p.end] for p in passages(text)}


def _runs_into(text: str, following: str) -> bool:
    """Return whether a text ends with the words that begin the following passage."""
    words, tail = following.split(), text.split()[-_LONGEST_OVERLAP:]
    return any(
        tail[-count:] == words[:count]
        for count in range(1, len(tail) + 1)
        if count >= _LEAST_OVERLAP or count == len(words)
    )


def _inside(answer: str, content: Sequence[str], row: int, lines: Sequence[int]) -> tuple[int, int]:
    """Return where the text of a block starts and ends, without block marks."""
    last = row + len(content) - 1
    start = answer.find(content[0], lines[row], lines[row + 1])
    at = answer.rfind(content[-1], max(start, lines[last]), lines[last + 1])
    if start < 0 or at < 0:  # the parser replaces tabs and null characters
        return _stripped(answer, lines[row], lines[last + 1])
    return start, at + len(content[-1])


def _sentences(answer: str, start: int, end: int, block: tuple[int, int]) -> Iterator[Passage]:
    text = answer[start:end]
    uncut = [match.span() for match in _UNCUT.finditer(text)]
    starts = [first for first, _ in uncut]
    before = {end: bisect_left(starts, end) - 1 for end in sentence_ends(text)}
    ends = [end for end, last in before.items() if last < 0 or end >= uncut[last][1]]
    spans = [
        _stripped(text, a, b)
        for a, b in zip([0, *ends], [*ends, len(text)], strict=True)
        if text[a:b].strip()
    ]
    for number, (a, b) in enumerate(spans):
        if len(spans) == 1:
            cut = block[0], _end_of_gap(answer, *block)
        elif number + 1 < len(spans):
            cut = start + a, start + spans[number + 1][0]
        else:
            cut = start + spans[number - 1][1], start + b
        yield Passage(start + a, start + b, "text", cut)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())


def _end_of_gap(text: str, start: int, end: int) -> int:
    """Return the end of a block, including the blank lines after it if a blank line precedes it."""
    gap = _BLANK_LINES.match(text, end)
    begins = start == 0 or text[max(0, start - _NEARBY) : start].splitlines()[-1].strip() == ""
    return gap.end() if gap and begins else end


@lru_cache(maxsize=8)  # each changed text is compared with the same original text
def _shape(text: str) -> tuple[tuple[str, str, str, str], ...]:
    """Return the block structure of a Markdown text, without its words."""
    return tuple((t.type, t.tag, t.markup, t.info) for t in _parser.parse(text))


def _is_without_a_part(whole: Sequence[object], rest: Sequence[object]) -> bool:
    """Return whether ``rest`` is ``whole`` without one contiguous part."""
    same = len(list(takewhile(bool, map(eq, whole, rest))))
    behind = len(list(takewhile(bool, map(eq, reversed(whole), reversed(rest)))))
    return len(rest) <= len(whole) and same + behind >= len(rest)


def _marks(text: str) -> tuple[int, ...]:
    """Return the counts of unclosed marks, which a replacement and its passage must share."""
    return (
        text.count("`") % 2,
        text.count("**") % 2,
        text.count("[") - text.count("]"),
        text.count("](") - len(_LINK.findall(text)),
    )
