"""Ranking by shared words."""

import pytest

from conflictscore.retrieval.ranking import BM25Ranker


def test_a_text_without_a_word_of_the_question_scores_zero_by_words() -> None:
    scores = BM25Ranker(["The sky is blue.", "Bread.", "The", ""]).scores("What is the sky?")
    assert scores[0] > 0
    assert scores[1:].tolist() == [0, 0, 0]


@pytest.mark.parametrize("texts", [["", "the"], ["sky"]])
def test_nothing_scores_where_there_is_no_word_on_one_side(texts: list[str]) -> None:
    assert BM25Ranker(texts).scores("the?").tolist() == [0.0] * len(texts)
