"""Documents that come with questions can be cut to short passages."""

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.records import Question
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
    return Benchmark(
        "own", "multiple-choice", (question, Question(id="r", question="Who searched?"))
    )


def test_a_long_document_keeps_the_passage_that_fits_the_question_and_all_else_of_it() -> None:
    short = "It was lit in 1822."
    whole = bench(FILLER + KEEPER + FILLER, short)

    cut = whole.shortened(32)

    long, untouched = cut.questions[0].documents
    assert KEEPER[:30] in long["text"]
    assert count_tokens(long["text"]) <= 40
    assert (long["title"], long["url"]) == ("page 0", "https://example.org/0")
    assert untouched == whole.questions[0].documents[1]
    assert cut.questions[1] == whole.questions[1]
    assert cut.questions[0].model_copy(update={"documents": ()}) == whole.questions[0].model_copy(
        update={"documents": ()}
    )
