"""Reads the text of a Markdown file, without the parts that a rendered page does not show.

Headings, lists, tables and code keep their Markdown syntax, which models can read. Comments,
struck-out text and link definitions are left out, and HTML is read as on a web page.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple

from conflictscore.retrieval.html.signs import marked_inline
from conflictscore.retrieval.html.whole import whole_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.texts import RichText, mark, pictures_note

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Quantifiers are bounded, so that matching a hostile text takes linear time. The bounds were chosen
# by hand.

# A span of code ends with as many backticks as it begins with.
_CODE_SPAN = re.compile(r"(?<!`)(`{1,9})(?!`)(?:[^`\n]|(?!\1(?!`))`){1,500}\1(?!`)")
# Text that is struck out by two tildes, or by one. A tilde before "/" begins a path in the home
# folder.
_STRUCK = re.compile(
    r"~~(?=[^\s~])(?:[^~\n]|\n(?![ \t]*\n)){1,2000}(?<=[^\s~])~~"
    r"|(?<![\w~])~(?=[^\s~/])[^~\n]{1,500}(?<=[^\s~])~(?![\w~/])"
)
_ATTRIBUTE = (
    r"\s{1,99}[a-zA-Z_:][\w.:-]{0,99}"
    r"(?:\s{0,9}=\s{0,9}(?:\"[^\"<>]{0,2000}\"|'[^'<>]{0,2000}'|[^\s\"'=<>`]{1,2000}))?"
)
_UNSEEN_TAG = re.compile(
    r"<(?:(del|s|strike)(?=[\s>])[^<>]{0,200}|(div|p|span|section|details|ul|ol|table)"
    rf"(?:{_ATTRIBUTE}){{0,20}}?\s{{1,99}}"
    r"(?:hidden(?=[\s=/>])|style\s{0,9}=\s{0,9}[\"'][^<>\"']{0,200}display\s{0,9}:\s{0,9}none)"
    r"[^<>]{0,200})>.{0,20000}?</(?:\1|\2)\s{0,9}>",
    re.IGNORECASE | re.DOTALL,
)
"""Matches elements that are struck out or hidden. The Markdown parser may split such an element
into several blocks, so the source is searched."""
# Code comes first, since signs in code are not markup.
_CODE_SPAN_OR_STRUCK = re.compile(f"{_CODE_SPAN.pattern}|(?P<gone>{_STRUCK.pattern})")
_COMMENT_OPENS, _COMMENT_ENDS = "<!--", "-->"
_CODE_SPAN_OR_COMMENT = re.compile(f"{_CODE_SPAN.pattern}|{_COMMENT_OPENS}")
# A tag as CommonMark defines it. Other text in angle brackets is shown, such as "Map<K, V>". The
# possessive quantifier keeps a failed match from being tried again with fewer attributes.
_TAG = re.compile(
    r"<(?:/[a-zA-Z][a-zA-Z0-9-]{0,99}\s{0,99}"
    rf"|[a-zA-Z][a-zA-Z0-9-]{{0,99}}(?:{_ATTRIBUTE}){{0,50}}+\s{{0,99}}/?)>"
)
# An address between angle brackets, which is shown as a link.
_AUTOLINK = re.compile(
    r"<([a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]{0,2000}|[\w.+-]{1,64}@[\w.-]{1,255})>"
)
# Metadata between two lines of "---" (YAML) or "+++" (TOML) at the top of a file.
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_TOML_FRONT_MATTER = re.compile(r"\+\+\+[ \t]*\n(.{0,20000}?)\n\+\+\+[ \t]*(?:\n|\Z)", re.S)
# A line of YAML: "name: setting", "- entry", a comment, a bracket, or a continuation line.
_SETTING = re.compile(r"[\w\"'][^:\n]{0,99}:(?:\s|$)|- |-$|#|[\]})]|\s|$")
_FRONT_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*[\"']?(.{1,300}?)[\"']?[ \t]*$", re.M)
# An image with its alternative text: "![a map](map.png)", "![a map][1]".
_IMAGE = re.compile(
    r"!\[([^\[\]\n]{0,1000})\]"
    r"(?:\((?:[^()\n]|\([^()\n]{0,200}\)){0,2000}\)|\[[^\[\]\n]{0,200}\])?"
)
# HTML in Markdown: an image and its alternative text.
_IMAGE_TAG = re.compile(r"<img\b[^<>]{0,2000}>", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"\salt\s{0,9}=\s{0,9}([\"'])(.{0,1000}?)\1", re.IGNORECASE | re.DOTALL)
# A sign that a backslash keeps from being markup.
_ESCAPED = re.compile(r"\\([*_#.+!>~()\[\]-])")
# The number of a list item, perhaps within a quotation or another list.
_ITEM_NUMBER = re.compile(r"([ \t]*(?:[-*+>][ \t]+)*)(\d{1,9})(?=[.)](?:\s|$))")
_SHORT_CODES = {
    "white_check_mark": "✅", "heavy_check_mark": "✔", "ballot_box_with_check": "☑", "x": "❌",
    "negative_squared_cross_mark": "❎", "heavy_multiplication_x": "✖", "warning": "⚠",
    "no_entry": "⛔", "no_entry_sign": "🚫",
    "+1": "👍", "-1": "👎", "thumbsup": "👍", "thumbsdown": "👎", "question": "❓",
    "green_circle": "🟢", "red_circle": "🔴", "star": "⭐", "construction": "🚧", "100": "💯",
}  # fmt: skip
"""Maps names to emoji; contains only emoji that express a judgement or a warning."""
# Next to a letter or digit, colons belong to the text, as in the ratio 1:100:200.
_SHORT_CODE = re.compile(rf"(?<!\w):({'|'.join(map(re.escape, _SHORT_CODES))}):(?!\w)")


class SeenMarkdown(NamedTuple):
    """The text of a Markdown source as rendered, its title, and the number of placeholders."""

    text: str
    title: str
    pictures: int


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # only blocks are parsed here; ``_Prose`` keeps the syntax inside a line
    return MarkdownIt("commonmark").enable("table").disable("inline")


def read_markdown(source: str) -> RichText:
    """Return the text, title and notes of a Markdown file as its rendered page shows them."""
    text, title, pictures = seen_markdown(source)
    return RichText(text, title, (pictures_note(pictures),) if pictures else ())


def seen_markdown(source: str) -> SeenMarkdown:
    """Return the text of a Markdown source as its rendered page shows it.

    The title is the first heading. A ``#`` in code is not a heading. A title in front matter (YAML
    or TOML) takes precedence.
    """
    front = _front_matter(source)
    front_title = _FRONT_TITLE.search(front[1]) if front else None
    body = source[front.end() :] if front else source
    lines = body.split("\n")
    tokens = _parser().parse(body)
    _number_items(tokens, lines)
    seen = _Prose()
    pieces: list[str] = []
    prose: list[str] = []
    line = 0
    for block in _verbatim_blocks(tokens):
        first, last = block.map or (line, line)
        prose += lines[line:first]
        pieces += [seen.text("\n".join(prose)), "\n".join(lines[first:last])]
        prose, line = [], last
    pieces.append(seen.text("\n".join([*prose, *lines[line:]])))
    text = "\n".join(piece for piece in pieces if piece.strip())
    title = front_title[1] if front_title else _first_heading(tokens)
    return SeenMarkdown(text, title, seen.pictures)


def _front_matter(source: str) -> re.Match[str] | None:
    """Match the front matter of a file; None if the file merely begins with a rule ("---")."""
    if toml := _TOML_FRONT_MATTER.match(source):
        return toml
    yaml = _FRONT_MATTER.match(source)
    return yaml if yaml and all(map(_SETTING.match, yaml[1].split("\n"))) else None


def _number_items(tokens: list["Token"], lines: list[str]) -> None:
    """Give list items the numbers that a rendered page shows; the source may have other numbers."""
    numbers: list[int] = []
    for token in tokens:
        if token.type in ("ordered_list_open", "bullet_list_open"):
            numbers.append(int(token.attrs.get("start", 1)) if token.type[0] == "o" else -1)
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            numbers.pop()
        elif token.type == "list_item_open" and token.map and numbers[-1] >= 0:
            line = token.map[0]
            if item := _ITEM_NUMBER.match(lines[line]):
                lines[line] = f"{item[1]}{numbers[-1]}{lines[line][item.end() :]}"
            numbers[-1] += 1


def _verbatim_blocks(tokens: list["Token"]) -> Iterator["Token"]:
    return (token for token in tokens if token.type in ("fence", "code_block") and token.map)


def _first_heading(tokens: list["Token"]) -> str:
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = _Prose().inline(tokens[number + 1].content).strip()
            if heading.strip("#*_ "):
                return heading
    return ""


class _Prose:
    """Returns prose as a rendered page shows it, and counts pictures (shown as placeholders)."""

    def __init__(self) -> None:
        self.pictures = 0

    def text(self, source: str) -> str:
        """Return prose without comments, struck-out text and link definitions.

        HTML is read as on a web page.
        """
        source = _without_comments(source)
        source = _UNSEEN_TAG.sub("", source) if "</" in source else source
        source = _without(_CODE_SPAN_OR_STRUCK, source) if "~" in source else source
        links: dict[str, Any] = {}
        tokens = _parser().parse(source, links)
        lines = source.split("\n")
        for first, last in _definitions(links):
            lines[first:last] = [""] * (last - first)
        seen_blocks: list[str] = []
        line = 0
        for token in tokens:
            if token.type != "html_block" or token.map is None:
                continue
            first, last = token.map
            seen_blocks += map(self._line, lines[line:first])
            seen_blocks.append(self._html_block("\n".join(lines[first:last])))
            line = last
        seen_blocks += map(self._line, lines[line:])
        return "\n".join(seen_blocks)

    def inline(self, line: str) -> str:
        """Return a line of a paragraph as it is shown, with its code unchanged."""
        pieces: list[str] = []
        place = 0
        for code in _CODE_SPAN.finditer(line):
            pieces += [self._words(line[place : code.start()]), code[0]]
            place = code.end()
        return "".join([*pieces, self._words(line[place:])])

    def _line(self, line: str) -> str:
        # a backslash at the end of a line breaks it; in a formula, it begins a command
        breaks = line.endswith("\\") and not line.endswith("\\\\") and "$" not in line
        return self.inline(line[:-1] if breaks else line)

    def _html_block(self, html: str) -> str:
        try:
            whole = whole_text(html)
        except UnreadableError:  # for example, elements that are nested too deeply
            return _TAG.sub("", html)
        self.pictures += whole.pictures
        return whole.text + "\n"  # an empty line, since HTML and the text below are separate blocks

    def _words(self, text: str) -> str:
        if "![" in text:
            text = _IMAGE.sub(lambda image: self._image_mark(image[1]), text)
        if ":" in text:
            text = _SHORT_CODE.sub(lambda code: _SHORT_CODES[code[1]], text)
        if "<" in text:
            text = _IMAGE_TAG.sub(self._image_of_tag, _AUTOLINK.sub(r"\1", text))
            text = _TAG.sub("", marked_inline(text))
        if "\\" in text and "$" not in text:  # in a formula, a backslash begins a command
            text = _ESCAPED.sub(r"\1", text)
        return unescape(text) if "&" in text else text

    def _image_mark(self, words: str) -> str:
        self.pictures += 1
        return mark("image", words)

    def _image_of_tag(self, tag: re.Match[str]) -> str:
        """Return the placeholder for a picture in HTML.

        The placeholder is empty for decorative pictures, whose alternative text is empty.
        """
        words = _ALTERNATIVE.search(tag[0])
        return "" if words and not words[2].strip() else self._image_mark(words[2] if words else "")


def _definitions(links: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield the first and last lines of link definitions, such as "[1]: https://example.org"."""
    for label, link in links.get("references", {}).items():
        if not label.startswith("^"):  # a footnote, whose text is shown
            yield link["map"]
    for link in links.get("duplicate_refs", []):
        if not link["label"].startswith("^"):
            yield link["map"]


def _without_comments(text: str) -> str:
    pieces: list[str] = []
    place = 0
    while match := _CODE_SPAN_OR_COMMENT.search(text, place):
        if match[0] != _COMMENT_OPENS:  # in code, comment marks are shown literally
            pieces.append(text[place : match.end()])
            place = match.end()
            continue
        end = text.find(_COMMENT_ENDS, match.end())
        if end < 0:
            break
        pieces.append(text[place : match.start()])
        place = end + len(_COMMENT_ENDS)
    return "".join([*pieces, text[place:]])


def _without(pattern: re.Pattern[str], text: str) -> str:
    """Remove the text in the group ``gone``; matches without this group are code and are kept."""
    return pattern.sub(lambda match: "" if match["gone"] else match[0], text)
