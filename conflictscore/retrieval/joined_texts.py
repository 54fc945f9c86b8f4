"""Splits a text that joins several documents.

The documents may be separated by tags, rules, numbers, fields or blank lines.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from itertools import islice, pairwise
from typing import Any

from conflictscore.retrieval.documents import MOST_OF_TOOLS
from conflictscore.retrieval.listed_texts import listed_parts

Part = tuple[str, dict[str, Any]]
"""The text of one part, and the fields stated in the part, such as ``title`` and ``date``."""

_FIELDS = {
    **dict.fromkeys(("title", "name", "headline", "heading", "filename", "file name"), "title"),
    **dict.fromkeys(("source", "url", "link", "uri", "href", "address", "path", "file"), "url"),
    **dict.fromkeys(("date", "published", "published date", "publication date"), "date"),
    **{name: name for name in ("metadata", "author", "authors", "score", "relevance", "page")},
    **{name: name for name in ("id", "section", "site", "publisher", "rank")},
}
"""Maps the labels that documents use for fields to this project's field names."""
_CONTENTS = {
    "content",
    "contents",
    "text",
    "snippet",
    "body",
    "passage",
    "excerpt",
    "page content",
    "page_content",
    "chunk",
    "document content",
    "document_content",
    "summary",
    "description",
}
"""Labels of fields that contain a document's text."""
_NOUNS = r"(?:document|doc|passage|result|source|snippet|chunk|excerpt|context|item|page|article)"
# The patterns below match the ways in which search tools and agent frameworks join documents.
_FIELD = re.compile(
    r"[ \t]{0,8}(?:[-*•][ \t]{1,4})?[*_`]{0,2}([A-Za-z][A-Za-z_ ]{1,18}?)[*_`]{0,2}"
    r"[ \t]{0,4}:[*_`]{0,2}(?=\s|$)"
)
# Tags around a document, such as "<document index='1'>".
_TAG = re.compile(
    rf"<({_NOUNS}|search_result|search-result|web_result)((?:\s[^<>]{{0,2000}})?)>", re.IGNORECASE
)
# Tags around all documents.
_WRAPPER = re.compile(r"<(/?)(documents|results|search_results|sources|context|passages)\s*>", re.I)
# An attribute, with or without quotation marks: 'index="1"', "index=1".
_ATTRIBUTE = re.compile(r"""([\w:-]{1,40})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
# An element within a document that contains only text: "<title>Lakes</title>".
_INNER = re.compile(r"<([\w-]{2,30})>([^<]*)</\1>\s*")
# A line of at least three identical signs, such as "-----" or "* * *".
_RULE = re.compile(r"(?m)^[ \t]*(([-=*_─━—~#])(?:[ \t]?\2){2,})[ \t]*$")
_NUMBERED = (
    # [1], 【1】, [Document 1], [doc1]
    re.compile(
        rf"(?mi)^[ \t]{{0,8}}[*_]{{0,2}}[\[【](?:{_NOUNS}[ _#]{{0,3}})?(\d{{1,3}})"
        r"[\]】][*_]{0,2}[:.]?"
    ),
    # Document 1:, ## Result 2, --- Source 3 ---, **Passage 4**, and (Document 5)
    re.compile(
        rf"(?mi)^[ \t]{{0,8}}[-=*#(_]{{0,5}}[ \t]{{0,3}}{_NOUNS}[ _]{{0,3}}"
        r"(?:no\.?|number|nr\.?|#)?[ \t]{0,3}(\d{1,3})"
        r"(?:[ \t]+of[ \t]+\d{1,3}|/\d{1,3})?"
        r"(?:[ \t]{0,3}[-=*#):._]{1,9}|(?=[ \t]{0,3}\()|[ \t]{0,3}$)"
        r"|^[ \t]{0,8}#{1,4}[ \t]{0,3}(\d{1,3})[.):]?(?=[ \t]|$)"
    ),
    # (1) and 1. and 1)
    re.compile(r"(?m)^[ \t]{0,8}\(?(\d{1,3})[.)](?=[ \t])"),
)
_BARE = _NUMBERED[-1]
_LEAD = 200
"""Maximum number of characters in a line before the first document, such as "Found 3 results:".

Chosen by hand. Longer text is taken for a document itself, so the text after it is not split.
"""
# Words that refer back to earlier text. A paragraph that begins with one continues the text above
# it.
_BACK = re.compile(
    r"(?:it|its|this|these|that|those|they|their|he|his|she|her|there|then|however|but|and|or|so|yet"
    r"|also|later|afterwards?|meanwhile|moreover|furthermore|therefore|thus|such|still|similarly"
    r"|finally|in addition|as a result|for example|for instance|by then|since then)\b",
    re.IGNORECASE,
)
# Signs at the end of a finished text.
_SENTENCE_ENDS = (*".!?…。।", "\uff01", "\uff1f")
_ENDS = (*_SENTENCE_ENDS, *"\"”')»]", "\u2019")


def field_of(label: str) -> str | None:
    """Return this project's name for a field label; None for unknown labels."""
    return _FIELDS.get(label.strip().casefold().replace("_", " "))


def parts_of(text: str, *, blank_lines: bool) -> list[str]:
    """Split a text into the documents joined in it; keep it whole if the boundaries are unclear.

    With ``blank_lines``, self-contained paragraphs may count as documents, since LangChain's
    retriever tool and most search tools join documents with blank lines. At most ``MOST_OF_TOOLS``
    + 1 parts are read; the last one shows the caller that there are too many. A part's own title
    and date stay in its text, on separate lines. What a text says about itself never becomes a
    metadata field.
    """
    # the surest separators come first: blank lines also separate the paragraphs of one document
    for split in (_tagged, _ruled, _numbered, _labelled):
        parts = [*islice((part for part in split(text) if part[0]), MOST_OF_TOOLS + 1)]
        if len(parts) > 1:
            return [_shown(part) for part in parts]
    if blank_lines and (results := listed_parts(text, _CONTENTS.__contains__)):
        return results
    if blank_lines and len(paragraphs := _standalone_paragraphs(text)) > 1:
        return paragraphs
    # a single document in tags: its tags are not part of its text
    tagged = [part for part in _tagged(text) if part[0]]
    if tagged:
        return [_shown(tagged[0])]
    return [text] if text else []


def _shown(part: Part) -> str:
    """Return a part as a document's text, with its title and date on the first lines."""
    text, fields = part
    lines = [str(fields[name]) for name in ("title", "date") if fields.get(name)]
    return "\n".join([*lines, text])


def _read(part: str) -> Part:
    """Split a document into its text and the labelled fields before and after the text."""
    lines, about, last = part.strip().split("\n"), dict[str, Any](), dict[str, Any]()
    for number, line in enumerate(lines):
        label, value = _label(line)
        name = field_of(label)
        if name is None:
            text = [value, *lines[number + 1 :]] if label in _CONTENTS else lines[number:]
            while label in _CONTENTS and text and (name := field_of(_label(text[-1])[0])):
                last |= _value(name, _label(text.pop())[1])
            return "\n".join(text).strip(), {**last, **about}
        about |= _value(name, value)
    return "", about


def _label(line: str) -> tuple[str, str]:
    """Return a line's leading label in lower case (empty if none), and the rest of the line."""
    found = _FIELD.match(line)
    return (found.group(1).strip().casefold(), line[found.end() :].strip()) if found else ("", line)


def _value(name: str, value: str) -> dict[str, Any]:
    """Read a field's value. The entries of a mapping in Python syntax become fields."""
    if value.startswith("{"):
        # a text in braces need not be Python; ``literal_eval`` raises all of these
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
            fields = ast.literal_eval(value)
            if isinstance(fields, dict):
                return {field_of(str(key)) or str(key): each for key, each in fields.items()}
    return {name: value.strip("<>`*_ ")} if value else {}


def _tagged(text: str) -> Iterator[Part]:
    """Split at elements such as ``<document title="…">…</document>``.

    The elements may be inside ``<documents>``. If a tool truncated its output, the last element has
    no end tag.
    """
    text = _WRAPPER.sub("", text).strip() if text.lstrip()[:1] == "<" else text
    first = _TAG.search(text)
    if first is None or first.start() > _LEAD:
        return
    name, place, closing = first.group(1), first.start(), f"</{first.group(1)}>"
    # a few letters have a longer form in lower case, which would shift the offsets
    small_text = text.casefold() if len(text.casefold()) == len(text) else text
    is_first = True
    while tag := _TAG.search(text, place):
        if tag.group(1).casefold() != name.casefold():
            place = tag.end()
            continue
        end = small_text.find(closing.casefold(), tag.end())
        if end < 0 and is_first:
            return
        yield _element(tag.group(2), text[tag.end() : end if end >= 0 else None].strip())
        if end < 0:
            return
        is_first = False
        place = end + len(closing)


def _element(attributes: str, inside: str) -> Part:
    """Build a document from an element's attributes, leading child elements and text."""
    about = {
        field_of(key) or key: unescape(next(filter(None, values), ""))
        for key, *values in _ATTRIBUTE.findall(attributes)
    }
    # the number of fields is bounded, since a hostile text may repeat a field endlessly
    for _ in _FIELDS:
        inner = _INNER.match(inside)
        if inner is None or (label := field_of(inner.group(1))) is None:
            break
        about[label], inside = inner.group(2).strip(), inside[inner.end() :]
    content = re.match(r"<([\w-]{2,30})>", inside)
    if content and content.group(1).casefold() in _CONTENTS:
        inside = inside[content.end() :].removesuffix(f"</{content.group(1)}>")
    text, fields = _read(inside)
    return text, {**about, **fields}


def _ruled(text: str) -> Iterator[Part]:
    """Split at rules, except the underlines of headings and the rules around front matter."""
    rules = [match for match in _RULE.finditer(text) if not _is_underline(text, match.start())]
    if not rules or _has_front_matter(text, rules[0].start()):
        return
    [(most, _)] = Counter(match.group(1) for match in rules).most_common(1)
    start = 0
    for rule in (match for match in rules if match.group(1) == most):
        yield _numberless(text[start : rule.start()])
        start = rule.end()
    yield _numberless(text[start:])


def _is_underline(text: str, at: int) -> bool:
    """Return whether a rule underlines the line above it, as in a Markdown heading."""
    above = text[max(0, at - 2 * _LEAD) : at].split("\n")[:-1]
    heading = above[-1].strip() if above else ""
    before = above[-2].strip() if len(above) > 1 else ""
    # headings are short: a longer line (80 characters or more) is text above a rule
    return bool(heading) and not before and len(heading) < 80 and not heading.endswith(_ENDS)


def _has_front_matter(text: str, at: int) -> bool:
    """Return whether a text begins with a line of dashes and a field, as Markdown metadata do."""
    lines = text[at : at + 2 * _LEAD].split("\n")
    return not text[:at].strip() and len(lines) > 1 and bool(re.match(r"\w+:", lines[1]))


def _numberless(part: str) -> Part:
    """Read a part between rules, which may begin with a number such as "[1]" or "Result 1:"."""
    part = part.strip()
    for pattern in _NUMBERED[:2]:
        if found := pattern.match(part):
            return _titled(part[found.end() :])
    return _read(part)


def _titled(part: str) -> Part:
    """Read the part after a number; the rest of that line may be a title, an address or text."""
    head, _, rest = part.partition("\n")
    head = head.strip().strip("-=*#:_ ").strip()
    # a title may end in a bracket or quotation mark, but not like a sentence
    if rest.strip() and len(head) <= _LEAD and not head.endswith(_SENTENCE_ENDS):
        read, about = _read(rest)
        fields = _read(head)[1] if _FIELD.match(head) else {}
        if read and (fields or head):
            return read, {**(fields or {"title": head}), **about}
    return _read(f"{head}\n{rest}" if head else rest)


def _numbered(text: str) -> Iterator[Part]:
    """Split at consecutive numbers: ``[1] …``, ``Document 1: …``, ``1. …``."""
    for pattern in _NUMBERED:
        marks = list[re.Match[str]]()
        for match in pattern.finditer(text):
            if _number(match) in ({_number(marks[-1]) + 1} if marks else {0, 1}):
                marks.append(match)
        if len(marks) < 2 or not _is_lead(text[: marks[0].start()]):
            continue
        ends = [match.start() for match in marks[1:]] + [len(text)]
        pieces = [text[m.end() : end] for m, end in zip(marks, ends, strict=True)]
        # the steps of a recipe are numbered too, but each is a single line; a search result has
        # several lines, or a blank line after it
        apart = all("\n\n" in piece or "\n" in piece.strip() for piece in pieces[:-1])
        if pattern is _BARE and not apart:
            continue
        yield from map(_titled, pieces)
        return


def _number(match: re.Match[str]) -> int:
    return int(next(filter(None, match.groups())))


def _is_lead(before: str) -> bool:
    """Return whether this text may precede the first document.

    The text must be empty or one line that announces results. After a longer text, "[1]" is
    probably a citation whose note comes at the end.
    """
    before = before.strip()
    return len(before) <= _LEAD and before.count("\n") < 2 and "[" not in before


def _labelled(text: str) -> Iterator[Part]:
    """Split before each line that repeats the first field label: ``Source: … Content: …``."""
    starts, first, place = list[int](), "", 0
    for line in text.split("\n"):
        label, _ = _label(line)
        if label and (label in _CONTENTS or field_of(label)):
            if not first and not _is_lead(text[:place]):
                return
            first = first or label
            if label == first:
                starts.append(place)
        place += len(line) + 1
    for start, end in pairwise([*starts, len(text)]):
        yield _read(text[start:end])


def _standalone_paragraphs(text: str) -> list[str]:
    """Return the paragraphs if all are self-contained, or else an empty list."""
    paragraphs = [part.strip() for part in re.split(r"\n[ \t]*\n", text) if part.strip()]
    fit = all(one.endswith(_ENDS) and not one[0].islower() for one in paragraphs)
    if not fit or any(re.match(r"[-*•#>|\[]", one) for one in paragraphs):
        return []
    return [] if any(_BACK.match(one) for one in paragraphs[1:]) else paragraphs
