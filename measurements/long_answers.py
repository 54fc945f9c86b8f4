"""Long answers made of claims that people labelled, so that what is disputed in them is known."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from conflictscore.benchmarks.json_lines import documents_of, read_json_lines, text_of
from conflictscore.errors import ConflictScoreError
from conflictscore.markdown import passages
from conflictscore.records import Label

__all__ = ["CITED", "DENIED", "HEDGED", "LongAnswer", "long_answers"]

DENIED, HEDGED = "Contrary to what is often said, this is wrong: ", "Sources disagree on this: "
_MOST_DOCUMENTS = 3
_CLAIM_CHARS = range(40, 240)
_MARKS = set("*_`[]|<>#\n\\~")
CITED = r"(?: \[\d+\])?"


class _Sentence(NamedTuple):
    text: str
    labels: tuple[Label, ...]
    documents: tuple[str, ...]

    @property
    def disputed(self) -> bool:
        return Label.CONTRADICTS in self.labels


@dataclass(frozen=True)
class LongAnswer:
    """An answer with its documents and what people know of them."""

    text: str
    documents: tuple[str, ...]
    labels: dict[str, dict[str, Label]]
    """By sentence and document, people's label; all others are irrelevant."""
    disputed: tuple[str, ...]
    """The sentences that a document contradicts, in their order."""

    @property
    def undisputed(self) -> list[str]:
        """Text before, between and after the disputed sentences with their citations."""
        disputed = "|".join(map(re.escape, self.disputed))
        return re.split(rf"(?:{disputed}){CITED}", self.text)

    def refuted(self, sentence: str) -> bool:
        """Whether no document supports a disputed sentence."""
        return Label.SUPPORTS not in self.labels[sentence].values()

    def label(self, claim: str, document: str) -> Label | None:
        """People's label of a sentence, or of one that denies or hedges it; None of any other."""
        known = next((text for text in self.labels if text in claim), None)
        if known is None:
            return None
        label = self.labels[known].get(document, Label.IRRELEVANT)
        if label is Label.IRRELEVANT:
            return label
        if HEDGED in claim:
            return Label.SUPPORTS
        if DENIED in claim:
            return Label.CONTRADICTS if label is Label.SUPPORTS else Label.SUPPORTS
        return label


def long_answers(files: Iterable[Path], count: int, seed: int) -> list[LongAnswer]:
    """So many answers, put together by seed; every other one is in Markdown.

    Args:
        files: JSON lines of groups, with ``claim`` and ``docs`` (``text``, ``label``).
        count: How many; sentences are used again where there are too few.
        seed: Of the draw.

    Raises:
        InputError: A file cannot be read; the line names file, row and field.
        ConflictScoreError: There are no disputed sentences in the files, or no others.
    """
    known = list({one.text: one for file in files for one in _sentences(file)}.values())
    draw = random.Random(seed)  # noqa: S311 - a draw, not a secret
    draw.shuffle(known)
    disputed, others = ([one for one in known if one.disputed is kind] for kind in (True, False))
    if len(disputed) < 3 or len(others) < 11:
        raise ConflictScoreError("the files have too few disputed claims, or too few others")
    return [_answer(disputed, others, draw, markdown=bool(n % 2)) for n in range(count)]


def _sentences(file: Path) -> Iterator[_Sentence]:
    for where, record in read_json_lines(file):
        text = " ".join(text_of(record, "claim", where).split())
        text = text if text.endswith(".") else f"{text}."
        told = [
            (document.get("label"), document.get("text"))
            for _, document in documents_of(record, "docs", where)
            if document.get("label") in set(Label)
        ]
        sides = sorted(told, key=lambda one: one[0] == Label.IRRELEVANT)[:_MOST_DOCUMENTS]
        if len(text) not in _CLAIM_CHARS or _MARKS & set(text) or not text[0].isupper():
            continue
        if len(passages(text)) == 1 and sides and sides[0][0] != Label.IRRELEVANT:
            labels, texts = zip(*sides, strict=True)
            yield _Sentence(text, tuple(map(Label, labels)), texts)


def _answer(
    disputed: Sequence[_Sentence],
    others: Sequence[_Sentence],
    draw: random.Random,
    *,
    markdown: bool,
) -> LongAnswer:
    wrong = draw.sample(disputed, draw.randint(1, 3))
    chosen = draw.sample(others, draw.randint(6, 12) - len(wrong))
    for place in sorted(draw.sample(range(len(chosen) + 1), len(wrong)), reverse=True):
        chosen.insert(place, wrong.pop())  # no two side by side
    labels: dict[str, dict[str, Label]] = {
        one.text: dict(zip(one.documents, one.labels, strict=True)) for one in chosen
    }
    told = [one.text for one in chosen]
    return LongAnswer(
        text=_markdown(told) if markdown else _plain(told),
        documents=tuple(dict.fromkeys(text for one in chosen for text in one.documents)),
        labels=labels,
        disputed=tuple(one.text for one in chosen if one.disputed),
    )


def _plain(sentences: Sequence[str]) -> str:
    half = len(sentences) // 2
    return f"{' '.join(sentences[:half])}\n\n{' '.join(sentences[half:])}"


def _markdown(sentences: Sequence[str]) -> str:
    first, second = sentences[: len(sentences) // 2], sentences[len(sentences) // 2 :]
    listed = "\r\n".join(f"- {sentence} [{n}]" for n, sentence in enumerate(second, start=1))
    return (
        f"## What is known\r\n\r\n**In short**\r\n\r\n{' '.join(first)}\r\n\r\n{listed}\r\n\r\n"
        "| what | how |\r\n|---|---|\r\n| asked | once |\r\n\r\n"
        "```sh\r\ncurl -s https://a.test/x  # see [1]\r\n```\r\n\r\nSee [more](https://a.test/b(c))."
    )
