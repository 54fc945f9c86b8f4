"""The embedding model in numpy, against what PyTorch and Transformers make of the same weights."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from conflictscore.retrieval.dense import SentenceEncoder

LONG = "The keeper lit the lamp of the lighthouse at dusk. " * 21
"""231 tokens."""

REFERENCE = {
    "Why is the sky blue?": [0.010077, -0.001739, 0.05018, 0.047025, 0.054925, 0.008695],
    "": [-0.118838, 0.048299, -0.002548, -0.011011, 0.051951, 0.010292],
    "Der Himmel über Köln; 空は青い 😀": [
        *(0.029433, 0.152229, 0.025892),
        *(0.017785, -0.017066, 0.112685),
    ],
    LONG: [-0.000723, 0.050416, -0.033018, 0.023756, -0.010645, 0.0298],
}
"""First values of the vectors from BertModel of transformers 5.23 on torch 2.13, mean-pooled."""


@pytest.fixture(scope="module")
def encoder(minilm_path: Path) -> SentenceEncoder:
    return SentenceEncoder(minilm_path)


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_vectors_are_those_of_the_reference_implementation(encoder: SentenceEncoder) -> None:
    for expected, (vector,) in zip(
        REFERENCE.values(), encoder.encode(list(REFERENCE)), strict=True
    ):
        assert vector.shape == (384,)
        assert vector[: len(expected)] == pytest.approx(expected, abs=1e-5)


def test_a_text_has_the_same_vector_whatever_it_is_read_with(encoder: SentenceEncoder) -> None:
    texts = [LONG, "", "a", *(f"{LONG[:n]}" for n in range(0, 600, 37)), LONG]
    together = list(encoder.encode(texts))
    for text, vectors in zip(texts, together, strict=True):
        (alone,) = encoder.encode([text])
        assert vectors == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize(("words", "pieces"), [(254, 1), (255, 2), (508, 2), (2000, 8)])
def test_what_is_longer_than_the_model_reads_is_read_in_even_pieces(
    encoder: SentenceEncoder, words: int, pieces: int
) -> None:
    (vectors,) = encoder.encode(["sky " * words])
    assert vectors.shape == (pieces, 384)
    (even,) = encoder.encode(["sky " * (words // pieces)])
    assert vectors[-1] == pytest.approx(even[0], abs=1e-6)


def test_meaning_counts_and_not_words(encoder: SentenceEncoder) -> None:
    texts = ["How old is he?", "What is his age?", "How is he?"]
    question, same, other = (vectors[0] for vectors in encoder.encode(texts))
    assert question @ same > question @ other


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(codec=None), max_size=60), max_size=4))
def test_any_text_has_a_vector_of_length_one(encoder: SentenceEncoder, texts: list[str]) -> None:
    found = list(encoder.encode(texts))
    assert len(found) == len(texts)
    for vectors in found:
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_the_linear_algebra_library_has_its_threads_back_after_overlapping_calls(
    encoder: SentenceEncoder,
) -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = encoder.encode(["sky"] * 3), encoder.encode(["sea"] * 3)
        next(first)
        next(second)
        assert blas_threads() == {1}
        first.close()
        assert blas_threads() == {1}
        list(second)
        assert blas_threads() == before
