"""How often the gold answer survives when long documents are cut to their best passages.

FILE is CONFLICTS, or JSON lines like it: ``query``, ``conflict_type``, ``gold_answer`` and ``docs``
with ``text``. Counted are the questions of the type ``No conflict`` with a gold answer other than
yes or no, which says nothing by itself. A document has the answer *strictly* where the answer's
words stand in it one right after the other, and *loosely* where all of them but stop words stand
in it somewhere; case, accents and punctuation aside. Passages are chosen by bm25, dense and both;
for comparison, a document's first window, and a window at random (the mean of 20 draws).
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
import numpy as np
from bm25s.stopwords import STOPWORDS_EN
from langchain_core.documents import Document
from numpy.typing import NDArray

from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.retrieval.passages import cut_to_passages
from conflictscore.retrieval.ranking import Ranker, Ranking, open_ranker
from conflictscore.storage.cache import ContentCache
from conflictscore.tokens import count_tokens
from measurements.intervals import mean_interval

__all__ = ["Case", "Survival", "has_loosely", "has_strictly", "main", "measure", "read_cases"]

_DRAWS = 20
_ROW = "{:>13} | {:<32} | {:<9} | {:<32} | {:<9} | {}"

Rank = Callable[[Sequence[str]], Ranker]
Has = Callable[[str, str], bool]


class Case(NamedTuple):
    """One question without a conflict."""

    question: str
    answer: str
    documents: list[Document]


class Survival(NamedTuple):
    """What was left after the cut; each number is 1 where the answer survived, and else 0."""

    questions: list[float]
    """One a question that had a document with the answer: whether it still has one."""
    documents: list[float]
    """One a document that had the answer: whether it still has it."""


def read_cases(path: Path) -> list[Case]:
    """Read the questions of the type ``No conflict`` with a gold answer but yes and no.

    Raises:
        InputError: The file cannot be read, has no such question, or a line is not of this form;
            names the file and the row.
    """
    cases = []
    for where, record in read_json_lines(path):
        try:
            question, answer = record["query"], record["gold_answer"] or ""
            texts = [document["text"] for document in record["docs"]]
            wanted = record["conflict_type"] == "No conflict"
        except (TypeError, KeyError) as error:
            raise InputError(
                f"{where}: not a query with conflict_type, gold_answer and docs ({error!r})"
            ) from error
        if wanted and _words(answer)[:1] not in ([], ["yes"], ["no"]):
            cases.append(Case(question, answer, [Document(text) for text in texts]))
    if not cases:
        raise InputError(f"{path}: no question without a conflict has a gold answer")
    return cases


def has_strictly(text: str, answer: str) -> bool:
    """Whether the answer's words stand in the text one right after the other."""
    return f" {' '.join(_words(answer))} " in f" {' '.join(_words(text))} "


def has_loosely(text: str, answer: str) -> bool:
    """Whether the answer's words, stop words aside, all stand in the text."""
    words = set(_words(answer))
    return (words - set(STOPWORDS_EN) or words) <= set(_words(text))


def measure(cases: Sequence[Case], cut: Sequence[Sequence[Document]], has: Has) -> Survival:
    """Compare the documents of every question with what the cut left of them."""
    questions, documents = [], []
    for case, passages in zip(cases, cut, strict=True):
        kept = [
            float(has(passage.page_content, case.answer))
            for document, passage in zip(case.documents, passages, strict=True)
            if has(document.page_content, case.answer)
        ]
        if kept:
            questions.append(max(kept))
            documents += kept
    return Survival(questions, documents)


class _Order:
    """Prefers texts in a given order, whatever the question."""

    def __init__(self, texts: Sequence[str], rng: np.random.Generator | None = None) -> None:
        order = np.arange(len(texts), 0, -1)
        self._scores = (rng.permutation(order) if rng else order).astype(np.float32)

    def scores(self, _query: str) -> NDArray[np.float32]:
        return self._scores


def _joined(case: Case) -> Case:
    text = "\n\n".join(document.page_content for document in case.documents)
    return case._replace(documents=[Document(text)])


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text).casefold()
    return re.findall(r"\w+", "".join(c for c in plain if not unicodedata.combining(c)))


@click.command(help=__doc__)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--tokens", default=512, show_default=True, help="Tokens of a window.")
@click.option("--windows", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--joined", is_flag=True, help="Join a question's documents into one, as long as a whole page."
)
def main(file: Path, tokens: int, windows: int, joined: bool) -> None:
    """Cut the documents of every question in each way and print a line each."""
    rng = np.random.default_rng(0)
    cache = ContentCache(":memory:")
    ways: dict[str, list[Rank]] = {
        ranking: [partial(open_ranker, ranking, cache=cache)] for ranking in get_args(Ranking)
    }
    ways["first window"] = [_Order]
    ways["random window"] = [partial(_Order, rng=rng)] * _DRAWS
    settings: dict[str, Any] = {"tokens": tokens, "stride": tokens // 2, "windows": windows}
    try:
        cases = [_joined(case) if joined else case for case in read_cases(file)]
        _print_before(cases, tokens)
        for name, ranks in ways.items():
            cuts = [
                [cut_to_passages(c.question, c.documents, rank=rank, **settings) for c in cases]
                for rank in ranks
            ]
            _print_after(name, cases, cuts)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _print_before(cases: Sequence[Case], tokens: int) -> None:
    sizes = [count_tokens(d.page_content).n for case in cases for d in case.documents]
    whole = [case.documents for case in cases]
    found = [len(measure(cases, whole, has).questions) for has in (has_strictly, has_loosely)]
    click.echo(
        f"{len(cases)} questions with {len(sizes)} documents,"
        f" {sum(size > tokens for size in sizes)} of them longer than {tokens} tokens\n"
        f"before the cut {found[0]} questions have a document with the answer strictly,"
        f" {found[1]} loosely;\nof these survive, with 95 % bootstrap intervals over questions:\n"
    )
    columns = ("strictly: questions", "documents", "loosely: questions", "documents")
    click.echo(_ROW.format("passage", *columns, "tokens kept"))


def _print_after(
    name: str, cases: Sequence[Case], cuts: Sequence[Sequence[Sequence[Document]]]
) -> None:
    columns = []
    for has in (has_strictly, has_loosely):
        draws = [measure(cases, cut, has) for cut in cuts]
        questions = np.mean([draw.questions for draw in draws], axis=0).tolist()
        documents = np.mean([draw.documents for draw in draws])
        columns += [f"{sum(questions):.1f}: {mean_interval(questions)}", f"{documents:.3f}"]
    sizes = [count_tokens(d.page_content).n for case in cases for d in case.documents]
    kept = [count_tokens(d.page_content).n for cut in cuts for case in cut for d in case]
    click.echo(_ROW.format(name, *columns, f"{sum(kept) / len(cuts) / sum(sizes):.3f}"))


if __name__ == "__main__":
    main()
