"""Measures beside what people say, and beside what a reader prefers."""

import pytest
from scipy.stats import spearmanr

from conflictscore.benchmarks.validity.judged_answers import FORMS, JudgedAnswer
from conflictscore.benchmarks.validity.tracking import made_figures, measures, track
from conflictscore.records import EvidenceLabel
from tests.benchmarks.conflict_detection.claims import C, N, S, U, verdict

Verdicts = dict[str, list[EvidenceLabel]]


def answer(text: str, value: float | None, question: str = "q", part: str = "p") -> JudgedAnswer:
    return JudgedAnswer(part, question, value, text, ("One.", "Two."))


def labelled(one: JudgedAnswer, *labels: str) -> Verdicts:
    """Labels of the claims and then of the whole answer, as words such as ``SC``."""
    named = {"S": S, "C": C, "N": N, "U": U}
    groups = [*one.claims, one.whole]
    return {
        group.id: [verdict(at, named[name], 0.5) for at, name in enumerate(word, start=1)]
        for group, word in zip(groups, labels, strict=True)
    }


def test_the_rivals_are_made_of_the_same_labels() -> None:
    one = answer("Lit in 1871. Built of stone.", None)
    found = measures(one, labelled(one, "SC", "SN", "CN"))
    assert found == {
        "CS-C": 0.5,
        "CS-R": 0.25,
        "claims covered": 1.0,
        "claims supported": 1.0,
        "claims contradicted": 0.5,
        "whole-answer NLI": -0.25,
        "documents supporting": 0.5,
        "words": 6.0,
    }
    # Nothing is known of an answer of which nothing could be labelled.
    assert not any(value == value for value in measures(one, labelled(one, *["UU"] * 3)).values())


def test_a_score_that_falls_as_answers_get_better_has_a_negative_correlation() -> None:
    words = {0.0: ["SC"], 0.5: ["SC", "SS"], 1.0: ["SS"]}
    answers, labels = [], Verdicts()
    for question in range(12):
        for value, shown in words.items():
            text = f"Lamp {question} at {value}, lit in 1871."
            one = answer(text, value, f"q{question}", "a" if question % 2 else "b")
            answers.append(one)
            word = shown[question // 2 % len(shown)]
            labels |= labelled(one, word, word)
    parts = track("lamps", answers, labels)
    assert [part.part for part in parts] == ["a", "b", "all"]
    score = parts[-1].measures[0]
    assert score.measure == "CS-C"
    assert [mean.value for mean in score.means.values()] == [1.0, 0.5, 0.0]
    scored = [(one.value, measures(one, labels)["CS-C"]) for one in answers]
    known = spearmanr(*zip(*scored, strict=True)).statistic
    assert score.rho.value == pytest.approx(known)
    assert score.rho.high is not None
    assert score.rho.high < 0
    # All answers have as many words, so no order follows from their length.
    assert parts[-1].measures[-1].rho.value is None


def test_made_forms_are_ordered_where_their_labels_say_so() -> None:
    answers, labels = [], Verdicts()
    for question in range(3):
        for form in FORMS:
            one = answer(f"{form} of lamp {question}", None, f"q{question}", form)
            answers.append(one)
            word = "SS" if form == "attributed" else "SC"
            labels |= labelled(one, word, word)
    figures = made_figures(answers, labels)
    order = {(one.better, one.worse, one.measure): one for one in figures.order}
    assert order["attributed", "one-sided", "CS-C"].right.value == 1.0
    tie = order["hedged", "one-sided", "CS-R"]
    assert (tie.right.count, tie.same, tie.wrong) == (0, 3, 0)
    assert order["attributed", "evasive", "documents supporting"].right.count == 3
