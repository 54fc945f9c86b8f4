"""Documents that questions bring can be cut to short passages."""

import pytest

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.question_sample import shortened
from conflictscore.benchmarks.harness.records import Question
from conflictscore.errors import InputError
from conflictscore.tokens import count_tokens

FILLER = "The harbour office keeps long ledgers about rope, tar and weather. " * 20
KEEPER = "The old lighthouse of Marrow was lit by Ada Finch in 1821."


def bench(*texts: str) -> Benchmark:
    documents = tuple(
        {"text": text, "title": f"page {n}", "url": f"https://example.org/{n}"}
        for n, text in enumerate(texts)
    )
    question = Question(
        id="q", question="Who lit the lighthouse of Marrow?", correct=("Ada",), documents=documents
    )
    return Benchmark("own", "free-form", (question, Question(id="r", question="Who searched?")))


def test_a_long_document_keeps_the_passage_that_fits_the_question_and_all_else_of_it() -> None:
    short = "It was lit in 1822."
    whole = bench(FILLER + KEEPER + FILLER, short)

    cut = shortened(whole, 32)

    long, untouched = cut.questions[0].documents
    assert KEEPER[:30] in long["text"]
    assert count_tokens(long["text"]).n <= 40
    assert (long["title"], long["url"]) == ("page 0", "https://example.org/0")
    assert untouched == whole.questions[0].documents[1]
    assert cut.questions[1] == whole.questions[1]
    assert cut.questions[0].model_copy(update={"documents": ()}) == whole.questions[0].model_copy(
        update={"documents": ()}
    )


def test_more_passages_of_a_document_can_be_kept() -> None:
    whole = bench(KEEPER + FILLER + "Finch of Marrow lit no other lighthouse." + FILLER)

    one = shortened(whole, 32).questions[0].documents[0]["text"]
    two = shortened(whole, 32, passages=2).questions[0].documents[0]["text"]

    assert "no other lighthouse" in two
    assert KEEPER[:30] in two
    assert len(one) < len(two) < len(whole.questions[0].documents[0]["text"])


@pytest.mark.parametrize(("tokens", "passages"), [(8, 1), (64, 0)])
def test_a_length_or_number_out_of_range_is_refused(tokens: int, passages: int) -> None:
    with pytest.raises(InputError, match=r"\d"):
        shortened(bench(KEEPER), tokens, passages=passages)
