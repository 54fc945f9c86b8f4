"""Lists the sentences that people read: in pages, help texts, messages and docstrings.

Pages are Markdown files. In tables, each cell with several words is a separate text. Help texts are
those of the command line's commands and options. Messages are the other sentences in the package's
code, except prompts. The docstrings of attributes are included.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import click

KINDS = ("page", "help", "message", "docstring")
"""The kinds of texts, in the order in which they are listed."""

_FEWEST_WORDS = 4
_WORDS_OF_A_LIST = 8
_IN_OTHER_LANGUAGES = re.compile(
    r"/(?:claim_order|directions|languages|number_words|riders|roles|units|value_check|values"
    r"|word_for_word|word_lists)\.py\Z"
)
"""Matches modules whose literals are words and sentences of several languages."""
_CONTEXTS = {
    "[after a colon] ": re.compile(r"(?:it|its|they|their) "),
    "[after a name] ": re.compile(
        r"(?:already|answered|asks|cannot|contains|could|declares|did|does|has|is|leaves|makes|must"
        r"|needs|redirects|refuses|rejected|says|uses|was|whose) "
    ),
    "[end of a message] ": re.compile(r"[,;:] | \("),
}
"""Notes on the place of texts that are inserted into messages, with patterns for their beginning.

Without these notes, a reader would not know what such a text is about.
"""
_COMMAND_LINE = re.compile(r"\s*(?:conflictscore|bench|record|python) [^.,]*(?:--|$)")
_INSERTED = re.compile(r"\{[^{}]*\}")
_FENCE = re.compile(r"(?ms)^ *(?:```|~~~).*?^ *(?:```|~~~) *$|<!--.*?-->|^%.*?$")
_NEW_TEXT = re.compile(r"\s*(?:[-*>]|\d+\.)\s|\s*$|#")
_RULE_OF_TABLE = re.compile(r"[\s|:-]+")
_SECTION = re.compile(r"(?m)^ *(?:Args|Returns|Yields|Raises|Attributes|Example|Examples):$")
_ARGUMENT = re.compile(r"(?m)^( +)(?:\*{0,2}\w+|[\w.]+Error): ")
_PARAGRAPH = re.compile(r"\n\s*\n|\n\s*[-*] |\n(?= +\*{0,2}\w+: )")
_SENTENCE_END = re.compile(r"(?<=[.!?])[)”\"]*\s+(?=[A-Z`“\"(*\[{:]|--|[a-z]\S*[._])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|Dr|Mr|St|No|Fig|al|[A-Z])\.|[\"“]\d\.)$")
_WORD = re.compile(r"[A-Za-z][A-Za-z’'-]+")
_WHOLE_WORD = re.compile(r"(?<!\S)[“\"(`*]*[A-Za-z][A-Za-z’'–-]*(?=[\s.,:;!?)”\"`*]|$)")
"""Matches a word, but no part of an identifier or address."""
_NOT_PROSE = re.compile(
    r"\\[bwsdSWD(\[]|\(\?|</?\w+[ >]|\{\{|=>|;\s*$"
    r"|\b(?:SELECT|INSERT|CREATE|UPDATE|FROM|TABLE|SET)\b|default-src"
)
"""Matches in regular expressions, SQL, markup and scripts."""


class Sentence(NamedTuple):
    """A sentence with its kind (one of :data:`KINDS`) and its place, ``file:line``."""

    kind: str
    place: str
    text: str


def sentences_of_page(path: str, markdown: str) -> Iterator[Sentence]:
    """Yield the sentences of a page, except headings and code.

    A cell of a table is listed with the first cell of its row and the title of its column.
    """
    blank = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), markdown)
    paragraph: list[str] = []
    start = 0
    titles: list[str] | None = None
    for number, line in enumerate([*blank.splitlines(), ""], start=1):
        if paragraph and (_NEW_TEXT.match(line) or line.startswith("|")):
            yield from _split("page", f"{path}:{start}", " ".join(paragraph))
            paragraph = []
        if line.lstrip().startswith("|"):
            cells = _cells(line)
            if titles is None:
                titles = cells
            elif not _RULE_OF_TABLE.fullmatch(line):
                yield from _sentences_of_row(f"{path}:{number}", titles, cells)
            continue
        titles = None
        if line.strip() and not line.startswith("#"):
            start = start if paragraph else number
            paragraph.append(line.strip())


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _sentences_of_row(place: str, titles: list[str], cells: list[str]) -> Iterator[Sentence]:
    for column, cell in enumerate(cells):
        title = titles[column] if column < len(titles) else ""
        context = f"[{cells[0]} | {title}] " if column else f"[{title}] "
        for sentence in _split("page", place, cell):
            yield sentence._replace(text=context + sentence.text)


def sentences_of_help(
    command: click.Command, places: Mapping[str, str], called: str = ""
) -> Iterator[Sentence]:
    """Yield the sentences in the help of a command, its options and its subcommands.

    Args:
        command: the command.
        places: where texts are in the source, by :func:`beginning` of the text.
        called: the command as a user types it.
    """
    called = called or command.name or ""
    texts = [(called, command.help or "")]
    texts += [
        (f"{called} {parameter.opts[0]}", parameter.help or "")
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    for where, text in texts:
        place = places.get(beginning(text), "")
        for sentence in _split("help", place, text):
            yield sentence._replace(text=f"[{where}] {sentence.text}")
    if isinstance(command, click.Group):
        for name, below in sorted(command.commands.items()):
            yield from sentences_of_help(below, places, f"{called} {name}")


def beginning(text: str) -> str:
    """Return the first letters of a text, by which its place in the source is looked up."""
    return "".join(_WORD.findall(text))[:40]


def places_of_texts(modules: Mapping[str, str]) -> dict[str, str]:
    """Return where texts are in the source, by :func:`beginning` of the text."""
    places: dict[str, str] = {}
    for path, source in modules.items():
        for node in ast.walk(ast.parse(source)):
            text = _text_of(node)
            if text and _has_words(text):
                places.setdefault(beginning(text), f"{path}:{getattr(node, 'lineno', 0)}")
    return places


def sentences_of_module(path: str, source: str) -> Iterator[Sentence]:
    """Yield the sentences in a module's docstrings, and then those in its messages."""
    tree = ast.parse(source)
    docstrings = {
        id(statement.value): statement.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    }
    for docstring in docstrings.values():
        if isinstance(docstring.value, str):
            plain = _SECTION.sub("", _FENCE.sub("", docstring.value))
            yield from _split("docstring", f"{path}:{docstring.lineno}", plain)
    if _IN_OTHER_LANGUAGES.search(path):
        return
    for node in _messages(tree, set(docstrings)):
        text = _text_of(node)
        contexts = (note for note, begins in _CONTEXTS.items() if begins.match(text))
        context = next(contexts, "")
        for line in filter(_has_words, text.splitlines()):
            if not _COMMAND_LINE.match(line):
                yield from _split("message", f"{path}:{node.lineno}", context + line)


def _messages(tree: ast.Module, skipped: set[int]) -> Iterator[ast.expr]:
    """Yield string literals, f-strings as a whole, that look like sentences of a message."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node) if part is not node}
        is_list = isinstance(node, ast.Attribute) and node.attr in ("split", "splitlines")
        is_help = isinstance(node, ast.keyword) and node.arg in ("help", "epilog")
        if is_list or is_help:
            skipped |= {id(part) for part in ast.walk(node)}
        if not isinstance(node, ast.expr) or id(node) in skipped:
            continue
        text = _text_of(node)
        if _has_words(text) and not (_NOT_PROSE.search(text) or _is_word_list(text)):
            yield node


def _text_of(node: ast.AST) -> str:
    """Return the text of a literal, with ``{…}`` for each value in it; empty for other nodes."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _text_of(part) if isinstance(part, ast.Constant) else f"{{{_named(part)}}}"
            for part in node.values
        )
    return ""


def _named(part: ast.expr) -> str:
    return ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""


def _has_words(text: str) -> bool:
    return len(_WHOLE_WORD.findall(_INSERTED.sub("", text))) >= _FEWEST_WORDS


def _is_word_list(text: str) -> bool:
    """Whether a text is a list of words that code looks up."""
    words = text.split()
    return len(words) >= _WORDS_OF_A_LIST and all(map(str.isalpha, words)) and text.islower()


def _split(kind: str, place: str, text: str) -> Iterator[Sentence]:
    """Split a text into sentences, and yield those that have several words."""
    for paragraph in _PARAGRAPH.split(text.replace("\b", "")):
        begun = ""
        for part in _SENTENCE_END.split(" ".join(paragraph.split())):
            begun = f"{begun} {part}".strip()
            if _ABBREVIATION.search(begun):
                continue
            if _has_words(begun):
                yield Sentence(kind, place, begun)
            begun = ""
        if _has_words(begun):
            yield Sentence(kind, place, begun)


def distinct(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Return sentences without repetitions of the same text, in their order."""
    first: dict[str, Sentence] = {}
    for sentence in sentences:
        first.setdefault(sentence.text.rpartition("] ")[2], sentence)
    return [*first.values()]
