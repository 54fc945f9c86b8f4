"""A judge held against labels, and the file of its verdicts."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from conflictscore.benchmarks.agreement import Judgements, Request, run_check
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.truthfulqa.judge_check import (
    LabelledAnswer,
    TruthfulQACheck,
    agreement,
)
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.prompts import PromptSet
from tests.benchmarks.truthfulqa.files import labelled, row, write_csv, write_jsonl
from tests.benchmarks.truthfulqa.judging import asks_for, judged_answer, opened
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer

PROMPTS = PromptSet.load()
QUESTION = "When was the lamp lit?"
LABELS = {"1874": True, "1871": False, "1860": False, "7 broken": True}
YES, NO, FAILED = Verdict(value=True), Verdict(value=False), Verdict(value=None, error="down")


def check(
    folder: Path, server: OpenAIServer, prompts: PromptSet = PROMPTS, asks: str = "True"
) -> TruthfulQACheck:
    """A check of the four answers, which are labelled by one of the two measures."""
    said = [
        labelled(QUESTION, text, "yes" if right else "no", asks) for text, right in LABELS.items()
    ]
    return TruthfulQACheck(
        Request(
            answers=str(write_jsonl(folder / "answers.jsonl", said)),
            references=str(write_csv(folder / "questions.csv", [row(QUESTION)])),
            prompts=prompts,
            open_judge=lambda: opened(server),
        )
    )


def says_true(request: ChatRequest) -> str | Fault:
    """Every answer is true but that of 1860; a broken one gets an error."""
    if "broken" in judged_answer(request):
        return Fault(400, message="no")
    assert asks_for(request) == "truthful"
    return f"TRUTHFUL: {judged_answer(request) != '1860'}"


async def test_a_judge_gets_every_answer_and_none_of_the_labels(tmp_path: Path) -> None:
    failed: list[bool] = []

    @contextmanager
    def progress(done: int, total: int) -> Iterator[Callable[[bool], None]]:
        assert (done, total) == (0, 4)
        yield failed.append

    file = tmp_path / "verdicts.jsonl"
    with OpenAIServer(says_true) as server:
        checked = await run_check(check(tmp_path, server), file, progress=progress)
        assert sorted(map(judged_answer, server.requests)) == ["1860", "1871", "1874", "7 broken"]
    kept = [json.loads(line) for line in file.read_text("ascii").splitlines()]
    assert {one["answer"]: one["value"] for one in kept} == {
        "1874": True,
        "1871": True,
        "1860": False,
        "7 broken": None,
    }
    assert sorted(failed) == [False, False, False, True]
    assert checked.shown["usage"]["calls"] == 3
    assert checked.failure is None


async def test_a_wrong_key_ends_the_check_at_once(tmp_path: Path) -> None:
    refused = pytest.raises(ConfigurationError, match="refused the key")
    with OpenAIServer(says_true, api_key="another") as server, refused:
        await run_check(check(tmp_path, server))


def test_the_figures_leave_unjudged_answers_out_and_count_them() -> None:
    labels = [True, True, True, False, False, False, False, True]
    figures = agreement(labels, [YES, YES, NO, NO, NO, NO, YES, FAILED])
    assert (figures.n, figures.unjudged) == (8, 1)
    assert (figures.accuracy.count, figures.accuracy.n) == (5, 7)
    assert figures.balanced_accuracy == pytest.approx((2 / 3 + 3 / 4) / 2)
    # observed 5/7; by chance (3*3 + 4*4) / 49
    assert figures.cohen_kappa == pytest.approx((5 / 7 - 25 / 49) / (1 - 25 / 49))
    assert figures.labelled_yes.to_json() == {"yes": 2, "no": 1, "unjudged": 1}
    assert figures.labelled_no.to_json() == {"yes": 1, "no": 3, "unjudged": 0}


def test_without_a_verdict_there_is_no_figure() -> None:
    figures = agreement([True, False], [FAILED, FAILED])
    assert figures.unjudged == 2
    assert figures.accuracy.value is None
    assert figures.balanced_accuracy is None
    assert figures.cohen_kappa is None


# The file of verdicts


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out" / "verdicts.jsonl"


def log(
    file: Path, server: OpenAIServer, prompts: PromptSet = PROMPTS, asks: str = "True"
) -> Judgements[LabelledAnswer, Verdict]:
    return Judgements(file, check(file.parents[1], server, prompts, asks))


@pytest.fixture
def answers(tmp_path: Path) -> Sequence[LabelledAnswer]:
    with OpenAIServer(says_true) as server:
        return check(tmp_path, server).rows


def test_a_verdict_is_found_again_and_a_failure_is_not(
    file: Path, answers: Sequence[LabelledAnswer]
) -> None:
    with OpenAIServer(says_true) as server:
        with log(file, server) as kept:
            kept.keep(answers[0], Verdict(value=True, explanation="Né \ud800"))
            kept.keep(answers[1], FAILED)
            assert len(file.read_text("ascii").splitlines()) == 2
        with log(file, server) as kept:
            assert kept.known(answers[0]) == Verdict(value=True, explanation="Né \ud800")
            assert kept.known(answers[1]) is None
            assert kept.known(answers[2]) is None
    first = json.loads(file.read_text("ascii").splitlines()[0])
    assert first["question"] == QUESTION
    assert (first["answer"], first["label"], first["value"]) == ("1874", True, True)


def test_the_verdicts_of_another_judge_are_kept_and_not_taken(
    file: Path, tmp_path: Path, answers: Sequence[LabelledAnswer]
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "judge_truthful.txt").write_text("$question $answer $correct_answers $incorrect_answers")
    with OpenAIServer(says_true) as server:
        with log(file, server) as kept:
            kept.keep(answers[0], YES)
        for prompts, asks in ((PromptSet.load(folder=own), "True"), (PROMPTS, "Helpful")):
            with log(file, server, prompts, asks) as other:
                assert other.known(answers[0]) is None
                other.keep(answers[0], NO)
        with log(file, server) as kept:
            assert kept.known(answers[0]) == YES
    assert len(file.read_text().splitlines()) == 3


@pytest.mark.parametrize("half", [b'{"measu', b'{"measure": "truthful", "judge": "x'])
def test_half_a_line_at_the_end_is_cut_off(
    file: Path, half: bytes, answers: Sequence[LabelledAnswer]
) -> None:
    with OpenAIServer(says_true) as server:
        with log(file, server) as kept:
            kept.keep(answers[0], YES)
        whole = file.read_bytes()
        file.write_bytes(whole + half)
        with log(file, server) as kept:
            assert kept.known(answers[0]) == YES
        assert file.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "row"),
    [("notes of mine", 1), ("{}\n", 1), ("[]\n", 1), ("\n", 1), ('{"measure": "truthful"}\n', 1)],
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(
    file: Path, content: str, row: int
) -> None:
    file.parent.mkdir()
    file.write_text(content)
    with OpenAIServer(says_true) as server, pytest.raises(InputError) as refused:
        log(file, server)
    assert str(refused.value).startswith(f"{file}, row {row}: not a verdict of judge-check")
    assert file.read_text() == content


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with OpenAIServer(says_true) as server, pytest.raises(InputError, match="cannot be written"):
        Judgements(tmp_path, check(tmp_path, server))
