"""Reads the text of a Markdown file, without the parts that a rendered page does not show.

Headings, lists, tables and code keep their Markdown syntax, which models can read. Comments,
struck-out text and link definitions are left out, and HTML is read as on a web page.
"""

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from typing import TYPE_CHECKING

from conflictscore.retrieval.html.signs import marked_inline
from conflictscore.retrieval.html.whole import whole_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.texts import RichText, pictures_note

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Quantifiers are bounded, so that matching a hostile text takes linear time.
_CODE_SPAN = re.compile(r"(?<!`)(`{1,9})(?!`)(?:[^`\n]|(?!\1(?!`))`){1,500}\1(?!`)")
# Text that is struck out by two tildes, or by one. A tilde before "/" begins a path in the home
# folder.
_STRUCK = re.compile(
    r"~~(?=[^\s~])(?:[^~\n]|\n(?![ \t]*\n)){1,2000}(?<=[^\s~])~~"
    r"|(?<![\w~])~(?=[^\s~/])[^~\n]{1,500}(?<=[^\s~])~(?![\w~/])"
)
_UNSEEN_TAG = re.compile(
    r"<(?:(del|s|strike)\b[^<>]{0,200}|(div|p|span|section|details|ul|ol|table)\s(?:[^<>]{0,200}\s)?"
    r"(?:hidden\b|style\s{0,9}=\s{0,9}[\"'][^<>\"']{0,200}display\s{0,9}:\s{0,9}none)[^<>]{0,200})>"
    r".{0,20000}?</(?:\1|\2)\s{0,9}>",
    re.IGNORECASE | re.DOTALL,
)
"""Matches elements that are struck out or hidden. The Markdown parser may split such an element
into several blocks, so the source is searched."""
_CODE_SPAN_OR_STRUCK = re.compile(f"{_CODE_SPAN.pattern}|(?P<gone>{_STRUCK.pattern})")
_COMMENT_OPENS, _COMMENT_ENDS = "<!--", "-->"
_CODE_SPAN_OR_COMMENT = re.compile(f"{_CODE_SPAN.pattern}|{_COMMENT_OPENS}")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
# An address between angle brackets, which is shown as a link.
_AUTOLINK = re.compile(
    r"<([a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]{0,2000}|[\w.+-]{1,64}@[\w.-]{1,255})>"
)
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_TOML_FRONT_MATTER = re.compile(r"\+\+\+[ \t]*\n(.{0,20000}?)\n\+\+\+[ \t]*(?:\n|\Z)", re.S)
_FRONT_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*[\"']?(.{1,300}?)[\"']?[ \t]*$", re.M)
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,1000})\](?:\([^()\n]{0,2000}\)|\[[^\[\]\n]{0,200}\])?")
_IMAGE_TAG = re.compile(r"<img\b[^<>]{0,2000}>", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"\salt\s{0,9}=\s{0,9}([\"'])(.{0,1000}?)\1", re.IGNORECASE | re.DOTALL)
IMAGE_MARK = "[image"
# The definition of a link's target, such as "[1]: https://example.org". "[^1]:" begins a footnote.
_DEFINITION = re.compile(
    r" {0,3}\[(?!\^)[^\[\]\n]{1,999}\]:[ \t]*(?:<[^<>\n]{0,999}>|[^\s<]\S{0,999})"
    r"(?:[ \t]+(?:\"[^\"\n]{0,999}\"|'[^'\n]{0,999}'|\([^()\n]{0,999}\)))?[ \t]*$"
)
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
"""Maps names to the emoji that express a judgement or a warning."""
_SHORT_CODE = re.compile(rf":({'|'.join(map(re.escape, _SHORT_CODES))}):")
_BLOCKS_OF_TEXT = ("inline", "html_block", "fence", "code_block", "hr")


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("inline")


def read_markdown(source: str) -> RichText:
    """Return the text of a Markdown file as its rendered page shows it.

    The title is the first heading.

    A ``#`` in code is not a heading. A title in front matter (YAML or TOML) takes precedence.
    """
    front = _FRONT_MATTER.match(source) or _TOML_FRONT_MATTER.match(source)
    front_title = _FRONT_TITLE.search(front[1]) if front else None
    body = source[front.end() :] if front else source
    lines = body.split("\n")
    tokens = _parser().parse(body)
    _number_items(tokens, lines)
    pieces: list[str] = []
    prose: list[str] = []
    line = 0
    for block in _verbatim_blocks(tokens):
        first, last = block.map or (line, line)
        prose += lines[line:first]
        pieces += [_seen_prose("\n".join(prose)), "\n".join(lines[first:last])]
        prose, line = [], last
    pieces.append(_seen_prose("\n".join([*prose, *lines[line:]])))
    text = "\n".join(piece for piece in pieces if piece.strip())
    title = front_title[1] if front_title else _first_heading(tokens)
    pictures = text.count(IMAGE_MARK)
    if not pictures:
        return RichText(text, title)
    return RichText(text, title, (pictures_note(pictures),))


def _number_items(tokens: list["Token"], lines: list[str]) -> None:
    """Give list items the numbers that a rendered page shows, which may differ from the source."""
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
            heading = _seen_inline(tokens[number + 1].content).strip()
            if heading.strip("#*_ "):
                return heading
    return ""


def _seen_prose(text: str) -> str:
    """Return prose as a rendered page shows it, without comments, struck-out text or definitions.

    HTML is read as on a web page.
    """
    text = _without_comments(text)
    text = _UNSEEN_TAG.sub("", text) if "</" in text else text
    text = _without(_CODE_SPAN_OR_STRUCK, text) if "~" in text else text
    tokens = _parser().parse(text)
    lines = text.split("\n")
    seen_blocks: list[str] = []
    line = 0
    for token in tokens:
        if token.type != "html_block" or token.map is None:
            continue
        first, last = token.map
        seen_blocks += map(_seen_line, lines[line:first])
        seen_blocks.append(_html_block("\n".join(lines[first:last])))
        line = last
    seen_blocks += map(_seen_line, lines[line:])
    return "\n".join(seen_blocks)


def _seen_line(line: str) -> str:
    if _DEFINITION.match(line):
        return ""
    # a backslash at the end of a line breaks it; in a formula, it begins a command
    breaks = line.endswith("\\") and not line.endswith("\\\\") and "$" not in line
    return _seen_inline(line[:-1] if breaks else line)


def _html_block(html: str) -> str:
    try:
        return whole_text(html).text + "\n"
    except UnreadableError:
        return _TAG.sub("", html)


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
    """Remove the text in the pattern's group ``gone``; other matches are code and are kept."""
    return pattern.sub(lambda match: "" if match["gone"] else match[0], text)


def _seen_inline(line: str) -> str:
    """Return a line of a paragraph as it is shown; code in it is kept unchanged."""
    pieces: list[str] = []
    place = 0
    for code in _CODE_SPAN.finditer(line):
        pieces += [_seen_words(line[place : code.start()]), code[0]]
        place = code.end()
    return "".join([*pieces, _seen_words(line[place:])])


def _seen_words(text: str) -> str:
    if "![" in text:
        text = _IMAGE.sub(lambda image: _image_mark(image[1]), text)
    if ":" in text:
        text = _SHORT_CODE.sub(lambda code: _SHORT_CODES[code[1]], text)
    if "<" in text:
        text = _IMAGE_TAG.sub(_image_of_tag, _AUTOLINK.sub(r"\1", text))
        text = _TAG.sub("", marked_inline(text))
    if "\\" in text and "$" not in text:  # in a formula, a backslash begins a command
        text = _ESCAPED.sub(r"\1", text)
    return unescape(text) if "&" in text else text


def _image_mark(words: str) -> str:
    return f"{IMAGE_MARK}: {' '.join(words.split())}]" if words.strip() else f"{IMAGE_MARK}]"


def _image_of_tag(tag: re.Match[str]) -> str:
    """Return the mark for a picture in HTML.

    It is empty for decorative pictures, which have an empty alternative text.
    """
    words = _ALTERNATIVE.search(tag[0])
    return "" if words and not words[2].strip() else _image_mark(words[2] if words else "")
