"""Answers in lists and data frames, scored with the instant judge."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document as Retrieved

from conflictscore import RunStatus, ascore, score, score_frame
from conflictscore.errors import InputError
from tests.scoring_files.instant_judge import InstantJudge, InstantModel

pandas = pytest.importorskip("pandas")
arrow = pytest.importorskip("pyarrow")

ANSWERS = ["The lamp was lit in 1871. It is white.", "It was never lit."]
CONTEXTS: list[list[Any]] = [
    ["Ledger: the lamp was lit.", {"text": "Log: it was dark.", "title": "Log"}],
    [Retrieved("The lamp was lit.", metadata={"source": "a.pdf"})],
]
RAGAS = {"user_input": ["?", "?"], "response": ANSWERS, "retrieved_contexts": [["a", "b"], ["a"]]}
QUIET: dict[str, Any] = {"labeler": InstantJudge(), "cache": False, "progress": False}


def test_answers_come_back_scored_in_their_order_and_become_a_table() -> None:
    scores = score(ANSWERS, CONTEXTS, InstantModel(), **QUIET)

    assert [run.answer for run in scores] == ANSWERS
    assert [document.url for document in scores[1].documents] == ["a.pdf"]
    assert len(scores) == 2
    table = scores.to_pandas()
    assert list(table["claims"]) == [2, 1]
    assert list(table["coverage"]) == [1.0, 1.0]
    assert list(table["cs_c"]) == [run.report.cs_c for run in scores if run.report]
    assert table["error"].isna().all()


def test_weights_add_two_columns_of_their_own() -> None:
    trust = {"hosts": {"log.test": 0}}
    contexts = [["Log: the lamp was lit.", {"text": "It was dark.", "url": "https://log.test"}]] * 2
    plain = score(ANSWERS, contexts, InstantModel(), **QUIET).columns()
    weighed = score(ANSWERS, contexts, InstantModel(), trust=trust, **QUIET).columns()

    without = score(ANSWERS, [one[:1] for one in contexts], InstantModel(), **QUIET).columns()
    assert weighed.pop("weighted_cs_c") == without["cs_c"]
    assert weighed.pop("weighted_cs_r") == without["cs_r"]
    assert weighed == plain


async def test_a_single_answer_is_scored_inside_an_event_loop_too() -> None:
    (run,) = await ascore(ANSWERS[0], CONTEXTS[0], InstantModel(), **QUIET)

    assert run.report is not None
    assert run.report.coverage == 1.0


def test_an_answer_that_cannot_be_scored_fails_alone_and_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers: list[Any] = [ANSWERS[0], float("nan"), " ", "Yes.", "No."]
    contexts = [["Yes."], ["Yes."], ["Yes."], ["Yes.", 3], None]

    scores = score(answers, contexts, InstantModel(), **QUIET | {"progress": True})

    assert [run.status is RunStatus.FAILED for run in scores] == [False, True, True, True, True]
    assert scores.columns()["error"] == [
        None,
        "the answer is float, not a string",
        "the answer is empty",
        "document 2: int, not a string, a mapping with text, or a LangChain Document",
        "there are no documents to score the answer against",
    ]
    assert "scoring: 5 of 5 answers, 4 failed" in capsys.readouterr().err


def lazy(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").LazyFrame(columns)


# objects that another test left open may be collected during this one
@pytest.mark.filterwarnings("error", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("held", [dict, pandas.DataFrame, arrow.table, lazy, lambda f: _Samples(f)])
def test_frames_are_scored_by_the_columns_of_ragas(held: Callable[[Any], Any]) -> None:
    scores = score_frame(held(RAGAS), InstantModel(), **QUIET)

    assert [run.answer for run in scores] == ANSWERS
    assert [len(run.documents) for run in scores] == [2, 1]


class _Samples:
    """Samples like RAGAS's: indexed by row, and converted to a frame only on request."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    def __getitem__(self, row: int) -> Any:
        raise NotImplementedError

    def to_pandas(self) -> Any:
        return pandas.DataFrame(self._columns)


def test_columns_of_other_names_are_named() -> None:
    frame = pandas.DataFrame({"reply": ANSWERS, "found": [["a"], ["b"]]}, index=[7, 3])

    scores = score_frame(frame, InstantModel(), answer="reply", documents="found", **QUIET)

    assert list(frame.assign(**scores.columns()).index) == [7, 3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: score(ANSWERS, [["a"]], InstantModel()),
            "the numbers of answers (2) and lists of documents (1) differ",
        ),
        (lambda: score(ANSWERS, CONTEXTS, InstantModel(), concurrency=0), "concurrency is 0"),
        # before a model is opened, which may have to be downloaded
        (lambda: score(ANSWERS, [["a"]], "local:none.gguf"), "the numbers of answers (2)"),
        (lambda: score([], [], "local:none.gguf", concurrency=0), "concurrency is 0"),
        (
            lambda: score_frame({"reply": ANSWERS}, InstantModel()),
            "the frame has no field answer; it has reply",
        ),
        (
            lambda: score_frame({"answer": ANSWERS}, InstantModel(), documents="found"),
            "the frame has no field found; it has answer",
        ),
        (lambda: score_frame(ANSWERS, InstantModel()), "list is not a frame with columns"),
    ],
)
def test_what_cannot_be_taken_is_refused_in_one_line(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        call()


@pytest.mark.parametrize(
    "columns",
    [
        {"outputs.answer": ANSWERS, "outputs.contexts": [["One."]] * len(ANSWERS)},
        {"outputs": [{"answer": text, "contexts": ["One."]} for text in ANSWERS]},
        {"actual_output": ANSWERS, "retrieval_context": ["One.|Two."] * len(ANSWERS)},
    ],
)
def test_frames_of_other_tools_are_scored_as_they_are(columns: dict[str, Any]) -> None:
    frame = pytest.importorskip("pandas").DataFrame(columns)

    scores = score_frame(frame, InstantModel(), **QUIET)

    assert [run.answer for run in scores] == list(ANSWERS)
    assert all(run.status is not RunStatus.FAILED for run in scores)


def test_other_columns_of_one_name_do_not_matter_to_a_path() -> None:
    names = ["outputs", "documents", "mine", "mine"]
    frame = pandas.DataFrame(
        [[{"answer": text}, ["a"], 1, 2] for text in ANSWERS], columns=names, dtype=object
    )

    scores = score_frame(
        frame, InstantModel(), answer="outputs.answer", documents="documents", **QUIET
    )

    assert [run.answer for run in scores] == ANSWERS
