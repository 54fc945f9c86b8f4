"""Finds wordings to review, and measures how easy the pages are to read.

Wordings: regular expressions for calques and fragments that are frequent in this project's English.
Matches of these expressions are listed for review. Matches fail no test, since each expression also
matches good sentences.

Reading ease: Flesch's formula (1948), 206.835 - 1.015 words per sentence - 84.6 syllables per word.
Higher is easier; technical prose mostly scores between 30 and 60. Code, tables and addresses are
left out. Syllables are counted as groups of vowels, without a silent e at the end. The count may be
wrong for some words. Texts can still be compared, since all are counted in the same way. The number
of words of each page is printed next to it. Pages have no maximum length.

Sentences for readers: --draw prints sentences drawn at random from pages, help, messages and
docstrings, with the same number of each kind. A reader marks each sentence that needs a second
reading. --all prints every sentence below a folder.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import click

from conflictscore.cli import main as command_line
from measurements import prose

WORDINGS: Mapping[str, str] = {
    "fragments that begin with Of": r"(?:\A|[.:;] |\n)Of (?!course\b)[a-z]+",
    "'where' for an exception": r"\b[Ww]here (?:there (?:is|are) (?:none|no)|(?:that|it) is no)",
    "held against": r"\bheld? against\b",
    "is told": r"\b(?:is|are|was|were|be) told\b",
    "so many": r"\bso many\b(?! that)",
    "anew": r"\banew\b",
    "of what, by what, than what": r"\b(?:of|by|than|with) what\b",
    "'no' and a noun as a negation": r"\b(?:is|are) no (?!longer\b|more\b|better\b|such\b)[a-z]+",
    "those that, those of": r"\b[Tt]hose (?:that|of)\b",
    "beside it": r"\bbeside\b",
    "stands": r"\bstands?\b",
    "as it is": r"\bas (?:it is|they are)\b",
}
"""Regular expressions by the name of the pattern."""

_BESIDE = ("httpx", "inspect_ai", "langgraph", "openai")
"""Packages whose descriptions are measured for comparison, if they are installed."""
_FENCE = re.compile(r"(?ms)^ *(```|~~~).*?^ *\1")
_NO_PROSE = re.compile(
    r"(?m)^ *(?:\||#|<|%|:).*$|https?://\S+|`[^`\n]*`|!?\[|\]\([^)\n]*\)|[*_]{1,3}"
)
_SENTENCE_END = re.compile(r"[.!?:](?=\s|$)|\n\s*\n|\n\s*[-*] ")
_WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")
_VOWELS = re.compile(r"[aeiouy]+")


def wordings_in(texts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Find matches of :data:`WORDINGS` in texts, which are given with their places.

    Returns:
        ``place: words`` for each match, by the name of the pattern.
    """
    matches: dict[str, list[str]] = {name: [] for name in WORDINGS}
    for place, text in texts:
        for name, expression in WORDINGS.items():
            for match in re.finditer(expression, text):
                matches[name].append(f"{place}: {' '.join(match[0].split())}")
    return matches


def reading_ease(markdown: str) -> float | None:
    """Return Flesch's reading ease for the prose in Markdown; None if there are no words."""
    prose = _NO_PROSE.sub("", _FENCE.sub("", markdown))
    sentences = [part for part in _SENTENCE_END.split(prose) if _WORD.search(part)]
    words = _WORD.findall(prose)
    if not words:
        return None
    syllables = sum(map(_syllables, words))
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * syllables / len(words)


def _syllables(word: str) -> int:
    letters = word.lower()
    groups = len(_VOWELS.findall(letters))
    has_silent_end = letters.endswith("e") and not letters.endswith(("le", "ee"))
    return max(1, groups - has_silent_end)


def pages_below(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the names and Markdown of a repository's pages: at the top level, then in docs/."""
    for path in (*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))):
        yield path.relative_to(root).as_posix(), path.read_text("utf-8")


def other_descriptions() -> Iterator[tuple[str, str]]:
    """Yield the names and descriptions of well-known packages that are installed here."""
    for name in _BESIDE:
        try:
            metadata = distribution(name).read_text("METADATA") or ""
        except PackageNotFoundError:
            continue
        _, _, description = metadata.partition("\n\n")
        if description.strip():
            yield f"README of {name}", description


def readability_lines(root: Path) -> Iterator[str]:
    """Yield a line with a page's reading ease and number of words, for each page.

    The same lines for other projects' descriptions follow. A page's number of words includes code
    and tables.
    """
    for name, markdown in (*pages_below(root), *other_descriptions()):
        ease = reading_ease(markdown)
        if ease is not None:
            yield f"{name:<42} {ease:>8.1f} {len(markdown.split()):>8,}"


def sentences_below(root: Path) -> list[prose.Sentence]:
    """Return the sentences of a repository: of its pages, help texts, and modules.

    Docstrings come from the package and from measurements/, and messages from the package. Prompts
    are left out, since only models read them.
    """
    modules = {
        path.relative_to(root).as_posix(): path.read_text("utf-8")
        for folder in ("conflictscore", "measurements")
        for path in sorted((root / folder).rglob("*.py"))
    }
    sentences = [
        sentence
        for name, markdown in pages_below(root)
        for sentence in prose.sentences_of_page(name, markdown)
    ]
    places = prose.places_of_texts(modules)
    sentences += prose.sentences_of_help(command_line, places, "conflictscore")
    for path, source in modules.items():
        of_module = prose.sentences_of_module(path, source)
        in_package = path.startswith("conflictscore/")
        sentences += [one for one in of_module if in_package or one.kind == "docstring"]
    return prose.distinct(sentences)


def drawn(sentences: Iterable[prose.Sentence], seed: int, count: int) -> list[prose.Sentence]:
    """Draw the same number of sentences of each kind; a kind that has fewer is drawn completely."""
    generator = random.Random(seed)  # noqa: S311 - a sample, not a secret
    by_kind: dict[str, list[prose.Sentence]] = {kind: [] for kind in prose.KINDS}
    for sentence in sentences:
        by_kind[sentence.kind].append(sentence)
    share = count // len(by_kind)
    return [
        sentence
        for of_kind in by_kind.values()
        for sentence in generator.sample(of_kind, min(share, len(of_kind)))
    ]


@click.command(help=__doc__)
@click.option("--draw", "seed", type=int, help="Draw sentences with this seed.")
@click.option("--count", default=200, show_default=True, help="How many sentences to draw.")
@click.option("--all", "folder", help="Print all sentences of files whose path begins with this.")
def main(seed: int | None, count: int, folder: str | None) -> None:
    """See the module."""
    root = Path(__file__).parents[1]
    if seed is None and folder is None:
        click.echo("\n".join(readability_lines(root)))
        return
    sentences = [one for one in sentences_below(root) if one.place.startswith(folder or "")]
    shown = sentences if seed is None else drawn(sentences, seed, count)
    for number, sentence in enumerate(shown, start=1):
        click.echo(f"{number}. {sentence.kind} {sentence.place}: {sentence.text}")


if __name__ == "__main__":
    main()
