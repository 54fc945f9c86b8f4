"""Agreement of three ratings, and the command that checks the judge."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.benchmarks.harness import statistics
from conflictscore.benchmarks.harness.statistics import balanced_accuracy
from conflictscore.benchmarks.wikicontradict.data import read_rated
from conflictscore.benchmarks.wikicontradict.judge import JudgedRating, Rating
from conflictscore.benchmarks.wikicontradict.judge_check import agreement
from conflictscore.cli import OneLineErrors
from conflictscore.cli.judge_check import judge_check
from tests.benchmarks.truthfulqa.files import write_jsonl
from tests.benchmarks.truthfulqa.judging import judged_answer
from tests.benchmarks.wikicontradict.records import FLAT, RATED
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer

BAD, HALF, GOOD = Rating
cohen_kappa = partial(statistics.cohen_kappa, scale=tuple(Rating))
PAIRS = st.lists(st.tuples(st.sampled_from(Rating), st.sampled_from(Rating)), max_size=30)


# Figures


def expected_kappa(
    pairs: list[tuple[Rating, Rating]], distance: Callable[[Rating, Rating], float]
) -> float:
    """1 less the disagreement / the disagreement of every pairing of both sides' ratings."""
    seen = sum(distance(true, said) for true, said in pairs) / len(pairs)
    chance = sum(distance(true, said) for true, _ in pairs for _, said in pairs) / len(pairs) ** 2
    return 1 - seen / chance


def steps(one: Rating, other: Rating) -> float:
    order = [Rating.INCORRECT, Rating.PARTIALLY_CORRECT, Rating.CORRECT]
    return abs(order.index(one) - order.index(other))


@given(PAIRS)
def test_kappa_is_agreement_beyond_chance_plain_and_by_steps(
    pairs: list[tuple[Rating, Rating]],
) -> None:
    people, judge = [true for true, _ in pairs], [said for _, said in pairs]
    plain, linear = cohen_kappa(people, judge), cohen_kappa(people, judge, weights="linear")
    if len({*people, *judge}) < 2:
        assert plain is linear is None
        return
    assert plain == pytest.approx(expected_kappa(pairs, lambda one, other: one is not other))
    assert linear == pytest.approx(expected_kappa(pairs, steps))
    assert cohen_kappa(judge, people) == pytest.approx(plain)


def test_one_step_off_counts_less_than_two_only_in_the_weighted_kappa() -> None:
    people = [GOOD, HALF, BAD, GOOD]
    near, far = [HALF, HALF, BAD, GOOD], [BAD, HALF, BAD, GOOD]
    weighted = [cohen_kappa(people, judge, weights="linear") for judge in (near, far)]
    assert weighted[0] is not None
    assert weighted[1] is not None
    assert weighted[0] > weighted[1]
    assert cohen_kappa(people, people) == pytest.approx(1)


@given(PAIRS)
def test_balanced_accuracy_counts_each_rating_of_people_the_same(
    pairs: list[tuple[Rating, Rating]],
) -> None:
    value = balanced_accuracy([true for true, _ in pairs], [said for _, said in pairs])
    given_by_people = {true for true, _ in pairs}
    if len(given_by_people) < 2:
        assert value is None
        return
    assert value is not None
    assert 0 <= value <= 1
    often = pairs + [pair for pair in pairs if pair[0] is pairs[0][0]]
    again = balanced_accuracy([true for true, _ in often], [said for _, said in often])
    assert again == pytest.approx(value)


def test_always_saying_the_same_has_the_balanced_accuracy_of_chance() -> None:
    people = [GOOD, GOOD, GOOD, HALF, BAD]
    assert balanced_accuracy(people, [GOOD] * 5) == pytest.approx(1 / 3)
    assert cohen_kappa(people, [GOOD] * 5) == pytest.approx(0)


def test_the_figures_stand_for_all_and_by_prompt_and_type(tmp_path: Path) -> None:
    answers = read_rated(write_jsonl(tmp_path / "h.jsonl", [RATED]))
    said = [BAD, GOOD, None, HALF, HALF]
    figures = agreement(
        answers, [JudgedRating(rating=one, error=None if one else "down") for one in said]
    )
    overall = figures.overall
    assert (overall.n, overall.unjudged) == (5, 1)
    assert (overall.accuracy.count, overall.accuracy.n) == (3, 4)
    assert overall.accuracy_by_question.value == 0.75
    assert (overall.commonest.count, overall.commonest.n) == (2, 4)
    assert overall.balanced_accuracy == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert overall.confusion[GOOD] == {BAD: 0, HALF: 1, GOOD: 1, "unjudged": 1}
    assert overall.confusion[BAD] == {BAD: 1, HALF: 0, GOOD: 0, "unjudged": 0}
    assert list(figures.by_prompt) == [1, 2, 3, 4, 5]
    assert figures.by_prompt[5].accuracy.count == 0
    assert (figures.by_prompt[3].unjudged, figures.by_prompt[3].cohen_kappa) == (1, None)
    assert figures.by_type["not known"] == overall


def test_a_mean_over_questions_counts_each_question_the_same(tmp_path: Path) -> None:
    rows = [RATED, RATED | {"model": "b"}, RATED | {"question": "Who lit it?"}]
    answers = read_rated(write_jsonl(tmp_path / "h.jsonl", rows))
    figures = agreement(
        answers,
        [JudgedRating(rating=a.rating if a.question == "Who lit it?" else BAD) for a in answers],
    )
    assert figures.overall.accuracy.value == pytest.approx(7 / 15)
    assert figures.overall.accuracy_by_question.value == pytest.approx((1 / 5 + 1) / 2)


# The command


def strict(request: ChatRequest) -> str | Fault:
    """Correct where both years are in the answer, or the one that is asked for; 1850 is broken."""
    if "1850" in judged_answer(request):
        return Fault(400, message="no")
    listed = request.prompt.partition("where the lines disagree:\n")[2].partition("\n\n")[0]
    right = [line.removeprefix("- ") for line in listed.splitlines()]
    found = [one for one in right if one in judged_answer(request)]
    if len(found) == len(right):
        return "COMMENT: all.\nRATING: correct"
    return f"RATING: {'partially correct' if found else 'incorrect'}"


def judging(rated: Path, server: OpenAIServer) -> list[str]:
    """The arguments that every check has."""
    judge = ["--model", "scripted", "--base-url", server.base_url, "--no-cache"]
    return ["--benchmark", "wikicontradict", "--answers", str(rated), *judge]


def run(*args: str) -> Result:
    return CliRunner().invoke(OneLineErrors("conflictscore", [judge_check]), ["judge-check", *args])


class Check:
    """The command, with the human evaluation and questions of a folder."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "runs" / "j.jsonl"
        self.rated = write_jsonl(folder / "h.jsonl", [RATED, RATED | {"model": "b"}])
        self.questions = write_jsonl(folder / "q.jsonl", [FLAT])

    def __call__(self, server: OpenAIServer, *more: str) -> Result:
        given = ["--references", str(self.questions), "--out", str(self.out), *more]
        return run(*judging(self.rated, server), *given)

    def figures(self, server: OpenAIServer, *more: str) -> dict[str, Any]:
        done = self(server, "--json", *more)
        assert done.exit_code == 0, done.output
        shown: dict[str, Any] = json.loads(done.stdout)
        return shown


@pytest.fixture
def check(tmp_path: Path) -> Check:
    return Check(tmp_path)


def test_the_check_goes_on_where_it_was_and_asks_again_for_what_failed(check: Check) -> None:
    with OpenAIServer(strict) as server:
        first = check.figures(server, "--sample", "6")
        asked = len(server.requests)
        assert asked == first["overall"]["n"] == 6
        whole = check.figures(server)
        failed = first["overall"]["unjudged"]
        assert len(server.requests) == 10 + failed
        assert whole["overall"]["n"] == 10
        assert whole["overall"]["unjudged"] == 2
        assert whole["overall"]["accuracy"]["value"] == 1
        assert whole["overall"]["confusion"]["incorrect"]["unjudged"] == 2
        assert list(whole["by_type"]) == ["Explicit"]
        assert whole["usage"]["calls"] == 2 + failed, "what failed is counted as unjudged"
    assert len(check.out.read_text("ascii").splitlines()) == 10 + failed


def test_the_judge_sees_no_rating_of_people(check: Check) -> None:
    with OpenAIServer(strict) as server:
        check.figures(server)
        prompts = [request.prompt for request in server.requests]
    for prompt in prompts:
        assert "Correct\n" not in prompt
        assert "llm-a" not in prompt


def test_the_table_shows_the_confusion_and_every_prompt(check: Check) -> None:
    with OpenAIServer(strict) as server:
        done = check(server)
    assert done.exit_code == 0, done.output
    assert [line.split()[:2] for line in done.stdout.splitlines() if "template" in line] == [
        ["template", str(number)] for number in range(1, 6)
    ]
    confusion = next(line for line in done.stdout.splitlines() if "  correct |" in line)
    assert confusion.split("|")[1].split() == ["6", "0", "0", "0"]
    assert "10 of 10 answers, 2 unjudged" in done.stderr


def test_another_prompt_and_another_right_answer_are_asked_for(
    check: Check, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "wikicontradict_judge.txt").write_text(
        "$question Also where the lines disagree:\n$correct_answers\n\n<answer>\n$answer\n</answer>"
    )
    with OpenAIServer(strict) as server:
        check.figures(server, "--sample", "4")
        check.figures(server, "--sample", "4", "--prompts", str(own))
        assert len(server.requests) == 8
        write_jsonl(check.rated, [RATED | {"gt_answer_1": "1870"}])
        before = len(server.requests)
        check.figures(server)
        assert len(server.requests) - before >= 4, "only what is judged by 1874 alone is known"


def test_a_wrong_key_and_a_wrong_file_are_one_line(check: Check) -> None:
    with OpenAIServer(strict, api_key="another") as server:
        done = check(server)
        assert done.exit_code == 2
        assert done.stderr.splitlines()[-1].startswith("conflictscore: ")
        check.rated.write_text("{}\n")
        done = check(server)
    assert done.stderr == f"conflictscore: {check.rated}, row 1, field question: a text is" + (
        " needed that is not empty\n"
    )


def test_without_any_judgement_the_check_failed(check: Check) -> None:
    with OpenAIServer(lambda request: Fault(400, message="no")) as server:
        done = check(server, "--sample", "2")
    assert done.exit_code == 1
    assert "conflictscore: no answer could be judged: scripted failed" in done.stderr
    assert done.stdout.count(" 0/") >= 2


def test_the_types_of_contradiction_may_be_left_out(check: Check) -> None:
    with OpenAIServer(strict) as server:
        done = run(*judging(check.rated, server), "--json")
    assert list(json.loads(done.stdout)["by_type"]) == ["not known"]


def test_the_nli_model_is_checked_without_a_language_model(check: Check) -> None:
    with OpenAIServer(strict) as server:
        figures = check.figures(server, "--nli-judge")
        again = check.figures(server, "--nli-judge")
        assert not server.requests
    assert figures["judge"] == "nli(minilm)"
    assert figures["overall"]["n"] == 10
    assert figures["overall"]["unjudged"] == 0
    assert again == figures
    assert len(check.out.read_text("ascii").splitlines()) == 10


def test_the_nli_model_rates_wikicontradict_alone() -> None:
    refused = run("--benchmark", "natconfqa", "--answers", "h.jsonl", "--nli-judge")
    assert refused.exit_code == 2
    assert "--nli-judge is for --benchmark wikicontradict" in refused.stderr
