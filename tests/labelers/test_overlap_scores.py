"""Which pairs are labelled first where not all can be."""

from hypothesis import given
from hypothesis import strategies as st

from conflictscore.labelers.table import most_overlapping, overlap_scores
from tests.labelers.judging import claim, document


def test_a_word_that_every_document_has_tells_next_to_nothing() -> None:
    documents = [document(f"The lamp of {place}.", n) for n, place in enumerate(["Ely", "Rye"], 1)]
    [row] = overlap_scores([claim("The lamp of Ely.")], documents)
    assert row[0] > row[1]
    assert row[1] > 0


def test_a_claim_that_two_documents_speak_of_comes_before_one_that_one_does() -> None:
    assert most_overlapping([[0.9, 0.0], [0.6, 0.6], [0.0, 0.1]], 1) == [1]


def test_claims_keep_their_order() -> None:
    assert most_overlapping([[0.1], [0.9], [0.2], [0.8]], 3) == [1, 2, 3]


@given(st.lists(st.text(max_size=40), max_size=4), st.lists(st.text(max_size=40), max_size=4))
def test_every_pair_has_a_number_from_0_to_1(claims: list[str], texts: list[str]) -> None:
    documents = [document(text, number) for number, text in enumerate(texts, 1)]
    rows = overlap_scores([claim(text) for text in claims], documents)
    assert [len(row) for row in rows] == [len(texts)] * len(claims)
    assert all(0 <= number <= 1 + 1e-9 for row in rows for number in row)
