"""How many of a question's right documents the corpus search finds: bm25, dense, and both.

FILE is RAMDocs, or JSON lines like it: a ``question`` and its ``documents``, each with ``text`` and
``type``. The documents of all questions are one corpus; the right ones of a question are its own
documents of the type ``correct``. Questions without one are left out.
"""

import time
from operator import sub
from pathlib import Path
from typing import NamedTuple, get_args

import click

from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.records import Document
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.ranking import Ranking
from measurements.intervals import mean_interval

__all__ = ["Corpus", "Outcome", "main", "measure", "read_corpus"]

_ROW = "{:>8} | {:<20} | {:<20} | {:<22} | {}"


class Corpus(NamedTuple):
    """The documents of all questions, and which are right for which question."""

    documents: tuple[Document, ...]
    """Each different text once."""
    questions: tuple[tuple[str, frozenset[int]], ...]
    """Each question with the numbers of its right documents, at least one."""


class Outcome(NamedTuple):
    """Results of one way of ranking."""

    shares: list[float]
    """For each question the share of its right documents that were found."""
    first_seconds: float
    """Seconds to build the search and answer a first question."""
    question_seconds: float
    """Seconds a question after that."""


def read_corpus(path: Path) -> Corpus:
    """Read the questions and their documents.

    Raises:
        InputError: The file cannot be read, has no question with a right document, or a line is
            not of this form; names the file and the row.
    """
    numbers: dict[str, int] = {}
    questions = []
    for where, record in read_json_lines(path):
        try:
            question, documents = record["question"], record["documents"]
            given = [(document["text"], document["type"]) for document in documents]
        except (TypeError, KeyError) as error:
            raise InputError(
                f"{where}: not a question with documents of a text and a type ({error!r})"
            ) from error
        for text, _ in given:
            numbers.setdefault(text, len(numbers) + 1)
        if right := frozenset(numbers[text] for text, kind in given if kind == "correct"):
            questions.append((question, right))
    if not questions:
        raise InputError(f"{path}: no question has a document of the type correct")
    documents = tuple(Document(number=number, text=text) for text, number in numbers.items())
    return Corpus(documents, tuple(questions))


def measure(corpus: Corpus, ranking: Ranking, k: int) -> Outcome:
    """Search the corpus for every question."""
    number_of = {document.text: document.number for document in corpus.documents}
    started = time.perf_counter()
    retriever = CorpusRetriever.from_documents(corpus.documents, k, ranking=ranking)
    retriever.invoke(corpus.questions[0][0])
    ready = time.perf_counter()
    shares = []
    for question, right in corpus.questions:
        found = {number_of[document.page_content] for document in retriever.invoke(question)}
        shares.append(len(found & right) / len(right))
    done = time.perf_counter()
    return Outcome(shares, ready - started, (done - ready) / len(shares))


@click.command(help=__doc__)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--k", type=click.IntRange(min=1), default=10, show_default=True)
def main(file: Path, k: int) -> None:
    """Measure the three rankings and print a line each."""
    try:
        corpus = read_corpus(file)
        click.echo(
            f"{len(corpus.questions)} questions, {len(corpus.documents)} documents, the first {k}"
            " found;\nmeans over questions with 95 % bootstrap intervals\n"
        )
        columns = ("ranking", "recall", "at least one", "recall over bm25", "seconds: first, each")
        click.echo(_ROW.format(*columns))
        bm25 = measure(corpus, "bm25", k)
        for ranking in get_args(Ranking):
            outcome = bm25 if ranking == "bm25" else measure(corpus, ranking, k)
            click.echo(
                _ROW.format(
                    ranking,
                    str(mean_interval(outcome.shares)),
                    str(mean_interval([float(share > 0) for share in outcome.shares])),
                    str(mean_interval(list(map(sub, outcome.shares, bm25.shares)))),
                    f"{outcome.first_seconds:.2f}, {outcome.question_seconds:.4f}",
                )
            )
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
