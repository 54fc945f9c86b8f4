"""Functions that read the claims in a reply, without the headings and remarks that models add.

The numbers were chosen by hand. If these numbers misjudge a line, a remark becomes a claim that no
document supports, or a reply is refused and requested again.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from operator import and_

from conflictscore.answering.list_marks import FULL_STOP, ReplyLine, lines_of, without_titles
from conflictscore.models.json_lists import json_texts
from conflictscore.models.replies import unwrapped
from conflictscore.scripts import terms_in

# Repetitions are bounded or possessive, so that a search through a hostile text takes linear time.
_HEADING = re.compile(
    r"^[\W_]*(?:<\w{1,6}>)?claims[\W_]*(?:</\w{1,6}>)?$|^[*_#\s]*claims[:\uff1a][*_]*\s*(?P<first>\S.*)$",
    re.IGNORECASE,
)
_OTHER_FORM = re.compile(
    r"^[ \t]{0,20}(?:\|(?=[^\n]*-)[ \t:|-]++$|</?(?:li|claim|item|fact|statement)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a table, or tags around claims; such a reply is refused, since its claims are unclear."""
_NOTHING = re.compile(
    r"(?:none|n/a|no\s{1,9}claims"
    r"|(?:the|this)\s{1,9}(?:answer|passage|text)\s{1,9}(?:claims|states|makes|contains|has)"
    r"\s{1,9}(?:nothing|no\s{1,9}claims))",
    re.IGNORECASE,
)
"""Matches a line that says that there are no claims; small models copy it from the request."""
_NOT_WORDS = " \t*_#`-–—.,;:()[]{}\"'"
# Bold or italic text in Markdown.
_STYLED = re.compile(r"(?P<sign>\*\*|__|[*_])(?P<inside>[^*_]+)(?P=sign)")
# A label in bold before a claim, as in "**Opening:** The museum opened in 1901."
_LABEL = re.compile(r"\*\*(?P<label>[^*:\uff1a]{1,60})(?:[:\uff1a]\*\*|\*\*\s?[:\uff1a])\s*(?=\S)")
_WORD = re.compile(r"[^\W\d_]+")
# Maximum number of words of a label to remove; more words may state something themselves.
_LABEL_WORDS = 3
_SHORTEST_STEM, _LONGEST_ENDING = 4, 3
"""Two words are forms of the same word if they have at least this many letters in common at the
start, and at most this many letters follow. "opening" and "opened" qualify, "internal" and
"international" do not.
"""
# Words with which a model comments on its list of claims.
_ADDRESSES_READER = re.compile(
    r"\b(?:(?:let|tell)\s+me|feel\s+free|i\s+(?:hope|have|left|can|could|did|omitted|skipped|split)"
    r"|hope\s+this|(?:would|do|if)\s+you|these\s+(?:are|claims)|this\s+(?:list|covers)|note|please"
    r"|claims?|reasoning|explanation|anything\s+else|that\s+is\s+all)\b",
    re.IGNORECASE,
)
# Maximum number of lines of introduction before a list. With more, the first claims of a list that
# has no marks could be taken for its introduction.
_LEAD_LINES = 3
# Words of a reply and of the answer are compared only by their first letters, so that inflected
# forms count as the same word.
_STEM = 5
_OWN, _FOREIGN = 0.5, 0.34
"""Bounds for the share of a line's words that occur in the answer.

A line with a share of at least ``_OWN`` is a claim; a line with a share below ``_FOREIGN`` may be a
remark. In real replies, the share is 0.8 or more for claims, and almost 0 for remarks.
"""
_MIXED = "its first claim had a bullet or a number, but other lines had none"
_NO_LIST = 'the line "Claims:" was missing'


def read_claims(reply: str, answer: str = "") -> tuple[str, ...]:
    """Read the claims in a reply (Table 6), without bullets or duplicates.

    Claims follow the line "Claims:" or another heading, or form a bulleted, numbered or JSON list.
    If there is neither a heading nor a list mark, each line is read as a claim. Then at least half
    of its words must occur in the answer. Headings, parent items of nested lists and remarks to the
    reader are not claims.

    Raise ValueError for a reply in any other format.
    """
    reply = unwrapped(reply)
    if _OTHER_FORM.search(reply):
        raise ValueError("it was a table, or had tags around its claims")
    listing, has_heading = _after_heading(reply)
    json_claims = json_texts(listing)
    if json_claims is None:
        texts = _texts_of(lines_of(listing), _stems(answer), has_heading=has_heading)
    else:
        lines = lines_of("\n".join(" ".join(text.split()) for text in json_claims))
        texts = [line.text for line in lines if not line.is_heading]
    plain_texts = (
        _STYLED.sub(r"\g<inside>", t) if _STYLED.fullmatch(t) else _without_label(t) for t in texts
    )
    return each_once(text for text in plain_texts if _says_something(text))


def _texts_of(lines: list[ReplyLine], words: frozenset[str], *, has_heading: bool) -> list[str]:
    """Return the claims among the lines of a reply.

    If the first claim has a list mark, every claim must have one.
    """
    if not has_heading:
        lines = _without_lead(lines, words)
    claim_lines = [line for line in lines if not line.is_heading]
    if claim_lines and claim_lines[0].marked:
        texts = _marked(lines, words)
    else:
        texts = [line.text for line in _without_remark(claim_lines, words)]
    if lines and not texts:
        raise ValueError("it had headings but no claims")
    return texts


def _without_label(text: str) -> str:
    """Remove a bold label before a claim, if the claim itself contains the label's words.

    If the claim lacks these words, the label may be the claim's subject, as in "**Ada Holm:** Built
    the museum." A word that is written in the same way in both, capitals included, may be a name,
    so it does not count as repeated.
    """
    label = _LABEL.match(text)
    if label is None:
        return text
    claim = text[label.end() :]
    words = _WORD.findall(label["label"])
    # words after two pipes are not part of the claim; see read_placed_claims
    own_words = frozenset(_WORD.findall(claim.partition("||")[0]))
    is_repeated = all(any(_is_other_form(word, own) for own in own_words) for word in words)
    return claim if words and len(words) <= _LABEL_WORDS and is_repeated else text


def _is_other_form(word: str, own: str) -> bool:
    """Return whether two words are different forms of the same word."""
    if word == own:
        return False
    word, own = word.casefold(), own.casefold()
    shared = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, own, strict=False))
    )
    is_stem = shared >= _SHORTEST_STEM and max(len(word), len(own)) - shared <= _LONGEST_ENDING
    return word == own or is_stem


def read_placed_claims(reply: str, answer: str = "") -> tuple[tuple[str, str], ...]:
    """Read claims like :func:`read_claims`, each with the first words of its passage.

    In the reply, these words follow two pipes (``||``). If the model left these words out, as small
    models often do, they are empty.
    """
    claims: dict[str, tuple[str, str]] = {}
    for line in read_claims(reply, answer):
        text, _, opening = line.partition("||")
        if _says_something(text):
            first_words = opening.strip().strip("\"'“”‘’«»").rstrip(".… ")
            claims.setdefault(folded(text), (text.strip(), first_words))
    return tuple(claims.values())


def each_once(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct texts; differences in case, spaces and a final full stop are ignored."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(folded(text), text)
    return tuple(first.values())


def folded(text: str) -> str:
    """Return a text in lower case, with single spaces and no final full stop, for comparison."""
    return " ".join(text.casefold().split()).rstrip(".")


def _after_heading(reply: str) -> tuple[str, bool]:
    """Return the text after the heading of a reply, and whether the reply has a heading.

    If no line says "Claims:", any heading in the first lines counts, unless the list has begun.
    """
    rows = reply.splitlines()
    for number, row in enumerate(rows):
        # `"claims": [` is not a heading but the beginning of JSON, which is read as a whole
        if not row.rstrip().endswith(("[", "{")) and (heading := _HEADING.match(row.strip())):
            return "\n".join([heading["first"] or "", *rows[number + 1 :]]), True
    for number, row in enumerate(rows[:_LEAD_LINES]):
        for line in lines_of(row):
            if line.marked:
                return reply, False
            if line.is_heading:
                return "\n".join(rows[number + 1 :]), True
    return reply, False


def _without_lead(lines: Sequence[ReplyLine], words: frozenset[str]) -> list[ReplyLine]:
    """Return the lines of a list, without its introduction.

    If lines have list marks, the list begins at the first marked line. In a list without marks, at
    least half of the words of each line must occur in the answer. Raise ValueError if the lines are
    not a list of claims.
    """
    has_mark = [line.marked for line in lines]
    if any(has_mark[: _LEAD_LINES + 1]):
        return [*lines[has_mark.index(True) :]]
    claim_lines = _without_remark(lines, words)
    if not claim_lines or not words or any(_share(line, words) < _OWN for line in claim_lines):
        raise ValueError(_NO_LIST)
    return claim_lines


def _marked(lines: Sequence[ReplyLine], words: frozenset[str]) -> list[str]:
    """Return the claims of a marked list, each joined with its continuation lines."""
    last = max(number for number, line in enumerate(lines) if line.marked)
    claims = _joined(lines[: last + 1])
    last_claim, rest = claims[-1], lines[last + 1 :]
    continuing = [*takewhile(lambda line: _continues(line, last_claim), rest)]
    for line in continuing:
        claims[-1] = _with_line(claims[-1], line)
    rest = rest[len(continuing) :]
    # An unfinished last claim may go on in the rest. A block with the answer's words may be claims
    # without marks.
    goes_on = rest and not rest[0].apart and not FULL_STOP.search(claims[-1].text)
    if goes_on or (words and any(map(all, _own_blocks(rest, words)))):
        raise ValueError(_MIXED)
    if len(claims) > 1 and _is_alien(claims[-1], claims[:-1], words):
        claims.pop()  # a remark to the reader that has a mark like the claims
    return [claim.text for claim in without_titles(claims)]


def _joined(lines: Sequence[ReplyLine]) -> list[ReplyLine]:
    """Return the marked lines, each joined with its continuation lines; headings are left out."""
    claims: list[ReplyLine] = []
    for line in lines:
        if line.marked:
            claims.append(line)
        elif claims and _continues(line, claims[-1]):
            claims[-1] = _with_line(claims[-1], line)
        elif not line.is_heading:
            raise ValueError(_MIXED)
    return claims


def _continues(line: ReplyLine, claim: ReplyLine) -> bool:
    """Return whether a line without a mark is directly below a claim and indented further."""
    return not line.apart and line.indent > claim.indent


def _with_line(claim: ReplyLine, line: ReplyLine) -> ReplyLine:
    return claim._replace(text=f"{claim.text} {line.text}")


def _own_blocks(lines: Sequence[ReplyLine], words: frozenset[str]) -> list[list[bool]]:
    """Return, per line, whether most of its words are from the answer; one list per block."""
    blocks: list[list[bool]] = []
    for line in lines:
        if line.apart or not blocks:
            blocks.append([])
        blocks[-1].append(_share(line, words) >= _OWN)
    return blocks


def _without_remark(lines: Sequence[ReplyLine], words: frozenset[str]) -> list[ReplyLine]:
    """Remove closing remarks to the reader from the lines of a list.

    Such a remark shares almost no words with the answer, and it either follows a blank line or
    addresses the reader.
    """
    shares = [_share(line, words) for line in lines] if words else []
    all_own = [*accumulate((share >= _OWN for share in shares), and_)]
    n_blank = [*accumulate(line.apart for line in lines)]

    def is_remark(place: int) -> bool:
        # The line has no word of the answer, but the lines before it consist mostly of such words.
        if words and not shares[place] and all_own[place - 1]:
            return True
        if words and shares[place] >= _FOREIGN:
            return False
        # a blank line separates a remark only if it is the only one; otherwise, blank lines
        # separate all the claims
        stands_apart = lines[place].apart and n_blank[place - 1] == n_blank[0]
        addresses = _ADDRESSES_READER.search(lines[place].text) is not None
        return addresses or (stands_apart and bool(words))

    count = len(lines)
    while count > 1 and is_remark(count - 1):
        count -= 1
    return [*lines[:count]]


def _is_alien(line: ReplyLine, others: Sequence[ReplyLine], words: frozenset[str]) -> bool:
    """Return whether the answer has no word of a line, but most words of every other line."""
    return bool(words) and not _share(line, words) and all(_share(o, words) >= _OWN for o in others)


def _stems(text: str) -> frozenset[str]:
    return frozenset([term[:_STEM] for term in terms_in(text)])


def _share(line: ReplyLine, words: frozenset[str]) -> float:
    own = _stems(line.text)
    return len(own & words) / len(own) if own else 0.0


def _says_something(text: str) -> bool:
    bare = text.strip(_NOT_WORDS)
    return any(map(str.isalnum, bare)) and not _NOTHING.fullmatch(bare)
