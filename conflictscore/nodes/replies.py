"""Reading the replies of a model; a reply in another form is refused, never guessed at."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from conflictscore.prompts import material
from conflictscore.records import Way

__all__ = [
    "Choice",
    "Revised",
    "cited_documents",
    "copied",
    "of_the_task",
    "read_choice",
    "read_claims",
    "read_placed_claims",
    "read_queries",
    "read_reconsidered_choice",
    "read_revision",
    "read_text",
    "unframed",
]

_CLAIMS = re.compile(
    r"^[\W_]*claims[\W_]*$|^[*_#\s]*claims:[*_]*\s+(?P<first>\S.*)$", re.IGNORECASE
)
_BULLET = re.compile(r"^(?:[-*•–]|\d{1,3}[.)])\s+")
_NOTHING = re.compile(r"[\W_]*(?:none|n/a|no\s+claims)[\W_]*", re.IGNORECASE)
_LETTER = re.compile(r"^(?:\((?P<inner>[AB])\)|(?P<bare>[AB])(?=$|[\s.:)–—-]))[.:)]?(?P<rest>.*)$")
_DASH = re.compile(r"^\s*[–—-]\s*")
_JUSTIFICATION = re.compile(r"^justification:\s*(?P<reason>\S.*)$", re.IGNORECASE)
_QUERY_CHARS = 300
"""The most of a query that is searched for."""
_TASK = re.compile(r"\b(?:the|this|new|old|earlier)\s+passage\b(?!\s+(?:of|to|from|through))", re.I)
_FRAME = re.compile(
    r"<(?P<mark>answer|claim|document)\b[^<>]*>\s*(?P<inside>.*?)\s*</(?P=mark)>", re.DOTALL
)
_MARK = re.compile(r"</?(?:answer|claim|document)\b[^<>]*>")
_CITATION = re.compile(
    r"\(\s*doc(?:ument)?s?\.?\s+(\d{1,9}(?:(?:\s*,\s*|\s*&\s*|,?\s+and\s+)\d{1,9})*)\s*\)", re.I
)


class Choice(NamedTuple):
    """A chosen option, from 0, with the reason where one was asked for."""

    option: int
    justification: str | None = None
    cited: tuple[int, ...] = ()


class Revised(NamedTuple):
    """What is to become of a passage."""

    way: Way
    reason: str | None = None
    text: str = ""
    """What takes its place; empty where nothing does."""


def read_text(reply: str) -> str:
    """A free-form answer: any text.

    Raises:
        ValueError: There is none.
    """
    if not (text := reply.strip()):
        raise ValueError("it was empty")
    return text


def read_claims(reply: str) -> tuple[str, ...]:
    """The claims that follow the line "Claims:" (Table 6), without bullets, each once.

    Raises:
        ValueError: There is no such line, or others stand beside claims with bullets or numbers.
    """
    lines = [line.strip() for line in reply.splitlines()]
    for start, line in enumerate(lines):
        if match := _CLAIMS.match(line):
            listed = [match["first"] or "", *lines[start + 1 :]]
            return _each_once(_listed([line for line in listed if _says_something(line)]))
    raise ValueError('the line "Claims:" was missing')


def read_placed_claims(reply: str) -> tuple[tuple[str, str], ...]:
    """Claims as :func:`read_claims` reads them, each with the first words of its passage.

    The words follow two bars; they are empty where a small model leaves them out.

    Raises:
        ValueError: As for :func:`read_claims`.
    """
    placed: dict[str, tuple[str, str]] = {}
    for line in read_claims(reply):
        text, _, opening = line.partition("||")
        if _says_something(text):
            said = opening.strip().strip("\"'“”‘’«»").rstrip(".… ")
            placed.setdefault(_folded(text), (text.strip(), said))
    return tuple(placed.values())


def read_queries(reply: str) -> tuple[str, ...]:
    """The queries on the lines ``FOR: …`` and ``AGAINST: …``, one or two different ones.

    Raises:
        ValueError: There is no such line with a query.
    """
    lines = dict(_field(line.strip(" *_#-")) for line in reply.splitlines() if line.strip())
    said = [" ".join(lines.get(name, "").strip('"“” ').split()) for name in ("FOR", "AGAINST")]
    queries = _each_once(query[:_QUERY_CHARS] for query in said if any(map(str.isalnum, query)))
    if not queries:
        raise ValueError('no query followed "FOR:" or "AGAINST:"')
    return queries


def read_revision(reply: str, ways: Collection[Way]) -> Revised:
    """``WAY: …``, ``REASON: …`` and, where there is a new passage, ``PASSAGE:`` and its text.

    The way is as clear where a small model leaves the reason out.

    Args:
        reply: The reply.
        ways: Those that were to choose from.

    Raises:
        ValueError: The reply has another form, names none of the ways, or has no text where there
            is to be one; says what is wrong.
    """
    head, marker, text = reply.partition("PASSAGE:")
    lines = [line.strip(" *_#") for line in head.splitlines() if line.strip(" *_#")]
    said = dict(_field(line) for line in lines)
    known = {way.name: way for way in ways}
    way = known.get(said.pop("WAY", "").strip(" .*_").upper())
    if way is None:
        raise ValueError(f'its first line was not "WAY:" with one of {", ".join(known)}')
    reason = " ".join(said.pop("REASON", "").split()) or None
    if said:
        raise ValueError('it had more than the lines "WAY:", "REASON:" and "PASSAGE:"')
    if way in (Way.KEEP, Way.REMOVE):
        return Revised(way, reason)
    if not marker or not text.strip():
        raise ValueError(f'there was no text after "PASSAGE:", which {way.name} needs')
    return Revised(way, reason, text.strip())


def copied(text: str, request: str, own: str) -> bool:
    """Whether a model copied a text from the request, as small ones do; two words may be chance.

    Args:
        text: What it wrote.
        request: The request without the material in it.
        own: The material, in which the text may stand too.
    """
    return len(text.split()) > 2 and text.casefold() in request.casefold() and text not in own


def of_the_task(text: str, passage: str) -> bool:
    """Whether a replacement speaks of what was asked and not of what the passage says.

    Small models write "The passage is kept as it stands." in place of the passage; "the passage of
    the act" is another one.
    """
    return bool(_TASK.search(text)) and not _TASK.search(passage)


def unframed(text: str, passage: str) -> str:
    """A replacement without the marks that a prompt puts around a passage, which models copy.

    Args:
        text: What is to take the passage's place.
        passage: The passage; one that holds such a mark itself may keep them.

    Raises:
        ValueError: A mark stands elsewhere than around the whole text, or around nothing.
    """
    if _MARK.search(passage):
        return text
    while framed := _FRAME.fullmatch(text):
        text = framed["inside"]
        if not text:
            raise ValueError("there was nothing between the marks of the new passage")
    if mark := _MARK.search(text):
        raise ValueError(f'the new passage held "{mark[0]}", a mark of the request')
    return text


def read_choice(reply: str, options: Sequence[str]) -> Choice:
    """The letter of a choice (Tables 14 and 15): ``(A)`` or ``(B)``, alone or with its option.

    Raises:
        ValueError: The reply is anything else.
    """
    return Choice(_option(reply.strip(), options))


def read_reconsidered_choice(
    reply: str, options: Sequence[str], documents: Collection[int]
) -> Choice:
    """The two lines of a regenerated choice (Table 16).

    Args:
        reply: ``A – option`` or ``B – option``, then ``Justification: …`` on a line of its own.
            The choice is as clear where a small model leaves the second line out.
        options: The two options.
        documents: Numbers that can be cited; others are left out of ``cited``.

    Raises:
        ValueError: The reply has another form; says which line is wrong.
    """
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    if not 1 <= len(lines) <= 2:
        raise ValueError(f"it had {len(lines)} lines instead of two")
    option = _option(lines[0], options)
    if len(lines) == 1:
        return Choice(option)
    match = _JUSTIFICATION.match(lines[1])
    if match is None:
        raise ValueError('its second line did not begin with "Justification:"')
    return Choice(option, match["reason"], cited_documents(match["reason"], documents))


def cited_documents(justification: str, documents: Collection[int]) -> tuple[int, ...]:
    """Numbers of existing documents that a justification cites, such as ``(Docs 2, 5)``."""
    numbers = {
        int(number)
        for citation in _CITATION.findall(justification)
        for number in re.findall(r"\d+", citation)
    }
    return tuple(sorted(numbers.intersection(documents)))


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    return (name.strip(" *_").upper(), value.strip(" *_")) if colon else (line, "")


def _option(line: str, options: Sequence[str]) -> int:
    match = _LETTER.match(line)
    if match is not None:
        option = "AB".index(match["inner"] or match["bare"])
        text = _DASH.sub("", match["rest"]).strip()
        if not text or _folded(text) == _folded(material(options[option])):
            return option
    raise ValueError("it was neither (A) nor (B) in the asked form")


def _says_something(line: str) -> bool:
    text = _BULLET.sub("", line)
    return any(map(str.isalnum, text)) and not _NOTHING.fullmatch(text)


def _listed(lines: Sequence[str]) -> list[str]:
    texts = [_BULLET.sub("", line).strip() for line in lines]
    marked = [text != line for text, line in zip(texts, lines, strict=True)]
    # a remark after the list would be scored as a claim of the answer
    if marked and marked[0] and not all(marked):
        raise ValueError(
            "not all of its lines were claims with a bullet or a number, as the first was"
        )
    return texts


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(_folded(text), text)
    return tuple(first.values())


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
