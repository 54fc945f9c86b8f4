"""Scores answers and documents from lists or from a data frame."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from operator import add
from typing import Any, Unpack

from pydantic import BaseModel
from rich.console import Console

from conflictscore.errors import InputError
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.graph.create import run_context
from conflictscore.graph.keywords import Model, ScoringOptions, explicit_kwargs
from conflictscore.loop.state import RagState, RunContext
from conflictscore.models.callbacks import shared_callbacks
from conflictscore.nodes.record import run_of
from conflictscore.progress import CountBar
from conflictscore.records import Run, RunStatus, Usage
from conflictscore.retrieval.documents import DocumentLike
from conflictscore.scoring_files.columns import Columns, value_at
from conflictscore.scoring_files.engine import default_concurrency, score_answer, unscored_reason
from conflictscore.scoring_files.tool_shapes import answer_text, documents_list
from conflictscore.threads import each

_SCORES = ("cs_c", "cs_r", "coverage")


class Scores(tuple[Run, ...]):
    """The scored answers in the order of the input, each as a run with all its evidence.

    A run without scores has the status ``failed`` and a ``reason``.
    """

    __slots__ = ()

    @property
    def usage(self) -> Usage:
        """Calls and tokens of all answers together."""
        return reduce(add, (run.usage for run in self), Usage())

    def columns(self) -> dict[str, list[Any]]:
        """Return columns for ``pandas.DataFrame`` and ``frame.assign``, with one value per answer.

        The columns ``cs_c``, ``cs_r`` and ``coverage`` are in [0, 1]. ``claims`` is the number of
        claims, ``conflicting`` the number of claims with evidence on both sides, and ``uncovered``
        the number of claims with evidence on neither side. ``error`` says why an answer has no
        scores. Unknown values are None. If documents have weights, there are also columns
        ``weighted_cs_c`` and ``weighted_cs_r``.
        """
        reports = [run.report for run in self]
        weighted_reports = [report and report.weighted for report in reports]
        count_names = ("claims", "conflicting", "uncovered")
        by_column: dict[str, list[Any]] = {
            **{name: [getattr(report, name, None) for report in reports] for name in _SCORES},
            **{
                name: [report and len(getattr(report, name)) for report in reports]
                for name in count_names
            },
            "error": [unscored_reason(run.report) if run.report else run.reason for run in self],
        }
        # weights do not change the third score, coverage, since it counts labelled pairs
        for name in _SCORES[:2] if any(weighted_reports) else ():
            by_column[f"weighted_{name}"] = [
                getattr(report, name, None) for report in weighted_reports
            ]
        return by_column

    def to_pandas(self) -> Any:
        """Return the columns as a pandas ``DataFrame``."""
        import pandas

        return pandas.DataFrame(self.columns())


@explicit_kwargs(ScoringOptions)
def score(
    answers: str | Iterable[str],
    contexts: Iterable[Any],
    judge: Model | None = None,
    *,
    concurrency: int | None = None,
    progress: bool = True,
    **settings: Unpack[ScoringOptions],
) -> Scores:
    """Score existing answers, each against its own documents.

    ```python
    scores = conflictscore.score(["Lit in 1871."], [["Lit in 1871.", "Lit in 1874."]])
    print(scores[0].report.cs_r, scores.to_pandas())
    ```

    An answer that cannot be scored does not affect the others. Verdicts are cached by content, so a
    call that is stopped and repeated pays for no verdict twice.

    Args:
        answers: The answers, or a single answer.
        contexts: The documents of each answer: texts, LangChain ``Document``s, or mappings with a
            ``text``. For a single answer, the list contains its documents.
        judge: The model that decomposes answers and labels claims, as for
            :func:`create_conflict_scorer`.
        concurrency: Number of answers scored at a time; by default 16, and 1 with a local model.
        progress: Whether progress is shown on stderr.

    Raises:
        InputError: The numbers of answers and of lists of documents differ, or a setting is out of
            range.
        ConfigurationError: A model, key, prompt folder or labeler is missing or wrong.
    """
    states = _states(answers, contexts, concurrency)
    context = run_context(judge, **settings)
    return run_for_sync_caller(_scored(context, states, concurrency, progress=progress))


@explicit_kwargs(ScoringOptions)
async def ascore(
    answers: str | Iterable[str],
    contexts: Iterable[Any],
    judge: Model | None = None,
    *,
    concurrency: int | None = None,
    progress: bool = True,
    **settings: Unpack[ScoringOptions],
) -> Scores:
    """Score existing answers asynchronously; see :func:`score`."""
    states = _states(answers, contexts, concurrency)
    context = run_context(judge, **settings)
    return await _scored(context, states, concurrency, progress=progress)


@explicit_kwargs(ScoringOptions)
def score_frame(
    frame: Any,
    judge: Model | None = None,
    *,
    answer: str | None = None,
    documents: str | None = None,
    concurrency: int | None = None,
    progress: bool = True,
    **settings: Unpack[ScoringOptions],
) -> Scores:
    """Score the rows of a data frame; see :func:`score`.

    ``frame.assign(**scores.columns())`` adds the scores to a pandas frame.

    Args:
        frame: A pandas or polars frame, a Hugging Face ``Dataset``, an Arrow table,
            a RAGAS ``EvaluationDataset``, or a mapping of columns.
        judge: The model that decomposes answers and labels claims.
        answer: The column with the answers, or a path into it (``outputs.answer``). By default it
            is found by the names that this library, RAGAS, DeepEval, TruLens, LangChain, LangSmith
            and Phoenix use.
        documents: The column with the documents of each row, or a path into it. By default it
            is found by name too.
        concurrency: Number of rows scored at a time.
        progress: Whether progress is shown on stderr.

    Raises:
        InputError: ``frame`` is not a data frame, or lacks a column.
    """
    # Polars' LazyFrame is tested first: reading its columns would run its query, with a warning.
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        frame = frame.collect()
    # a dataset of RAGAS has no columns of its own, but can be converted
    if not any(hasattr(frame, name) for name in ("column_names", "columns", "keys")):
        frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    names = _column_names(frame)
    columns = Columns(answer, documents)
    try:
        paths = columns.among(names)
    except InputError as missing:
        raise InputError(f"the frame {missing}; it has {', '.join(map(str, names)):.500}") from None
    pairs = _pairs(frame, names, columns, paths)
    answers, contexts = zip(*pairs, strict=True) if pairs else ((), ())
    return score(answers, contexts, judge, concurrency=concurrency, progress=progress, **settings)


def _pairs(
    frame: Any, names: Collection[Any], columns: Columns, paths: tuple[str, str]
) -> list[tuple[Any, Any]]:
    """Return the answer and documents of each row, with None for a missing answer or documents.

    If a path leads into a column, all columns whose names are strings are read, since another
    tool's names may fit some rows. Columns that share a name are left out, since pandas returns
    them together.
    """
    if all(path in names for path in paths):
        rows = [
            dict(zip(paths, cells, strict=True))
            for cells in zip(*(_values(frame[path]) for path in paths), strict=True)
        ]
        return [_pair(fields, paths) for fields in rows]
    counts = Counter(names)
    column_names = [name for name in names if isinstance(name, str) and counts[name] == 1]
    cells = zip(*(_values(frame[name]) for name in column_names), strict=True)
    pairs: list[tuple[Any, Any]] = []
    for row in cells:
        fields = dict(zip(column_names, row, strict=True))
        try:
            pairs.append(_pair(fields, columns.of(fields)))
        except InputError:  # the row is refused when it is scored
            pairs.append((None, None))
    return pairs


def _pair(fields: Mapping[str, Any], paths: tuple[str, str]) -> tuple[Any, Any]:
    answer, documents = (value_at(fields, path) for path in paths)
    for method in ("tolist", "to_list"):  # an array of NumPy (pandas), or a series of polars
        if hasattr(documents, method):
            documents = getattr(documents, method)()
    return answer_text(answer), documents_list(documents, paths[1])


def _column_names(frame: Any) -> Collection[Any]:
    names = getattr(frame, "column_names", None)  # in Arrow, ``columns`` contains the values
    if names is None:
        names = frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", None)
    if names is None or isinstance(names, Mapping):  # each split has its own columns
        kind = type(frame).__name__
        raise InputError(
            f"{kind} is not a frame with columns; if it is a dataset with splits, give one split"
        )
    return list(names)


def _values(column: Any) -> Iterator[Any]:
    for cell in column.to_pylist() if hasattr(column, "to_pylist") else column:
        with suppress(UnicodeDecodeError):  # bytes that are not text are refused with their row
            cell = cell.decode() if isinstance(cell, bytes) else cell
        yield cell


def _states(
    answers: str | Iterable[str], contexts: Iterable[Any], concurrency: int | None
) -> list[RagState]:
    """Check the arguments before a model is opened, and return the input of each run."""
    if concurrency is not None and concurrency < 1:
        raise InputError(f"concurrency is {concurrency}; it must be at least 1")
    if isinstance(answers, str):
        answers, contexts = [answers], [contexts]
    texts, document_lists = list(answers), list(contexts)
    if len(texts) != len(document_lists):
        raise InputError(
            f"the numbers of answers ({len(texts)}) and lists of documents"
            f" ({len(document_lists)}) differ"
        )
    return [
        {"answer": text, "documents": _documents(row_documents)}
        for text, row_documents in zip(texts, document_lists, strict=True)
    ]


def _documents(row_documents: Any) -> Sequence[DocumentLike]:
    """Return a row's documents as a list; other values stay as they are and are refused later."""
    single = isinstance(row_documents, str | Mapping | BaseModel)
    return (
        list(row_documents) if isinstance(row_documents, Iterable) and not single else row_documents
    )


async def _scored(
    context: RunContext, states: Sequence[RagState], concurrency: int | None, *, progress: bool
) -> Scores:
    runs: dict[int, Run] = {}
    failures = 0
    with CountBar(Console(stderr=True, quiet=not progress), "scoring", "answers") as bar:

        async def work(place_and_state: tuple[int, RagState]) -> None:
            nonlocal failures
            place, state = place_and_state
            outcome = await score_answer(context, state)
            runs[place] = _failed(state, outcome) if isinstance(outcome, str) else run_of(outcome)
            failures += runs[place].status is RunStatus.FAILED
            bar.show(len(runs), len(states), f"{failures} failed" if failures else "")

        with shared_callbacks():
            await each(enumerate(states), work, concurrency or default_concurrency(context))
    return Scores(runs[place] for place in range(len(states)))


def _failed(state: RagState, reason: str) -> Run:
    answer: object = state["answer"]  # the answer may be of any type, since the caller gave it
    return Run(
        answer=answer if isinstance(answer, str) else None,
        reason=reason,
        notes=(reason,),
        status=RunStatus.FAILED,
    )
