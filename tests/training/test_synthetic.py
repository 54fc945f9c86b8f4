"""Pairs made of passages have the label that they say, and none can be told by the claim alone."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from training.edits.names import collect_names
from training.pairs import Pair, Row, read_rows, write_rows
from training.passages import Passage
from training.sentences import coverage
from training.synthetic import contradictions, reworded, synthetic_pairs
from training.wordings import statement

LAMP = (
    "The Vennick lighthouse was lit in 1871 by the keeper Anna Holt. Its tower is 40 metres high."
    " The Vennick tower is taller than the church of the town. Storms increased the number of"
    " wrecks on the northern reef. The lamp of Vennick burned whale oil for twenty years."
)
BELL = (
    "The Harrow lighthouse was built in 1902 beside the harbour. The Harrow bell weighs 300 pounds"
    " and hangs above the door. Fog reduced the number of ships in the harbour during winter."
)
PASSAGES = [Passage(LAMP, "lamps"), Passage(BELL, "bells")]


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return list(synthetic_pairs(PASSAGES, seed=0, rounds=20))


def test_each_label_comes_as_often_as_there_are_contradictions(pairs: list[Pair]) -> None:
    counts = Counter(pair.label for pair in pairs)
    assert counts["SUPPORTS"] <= counts["CONTRADICTS"]
    assert counts["IRRELEVANT"] <= counts["CONTRADICTS"]
    assert min(counts.values()) > 20


def test_a_supported_claim_has_its_words_from_the_document(pairs: list[Pair]) -> None:
    for pair in pairs:
        if pair.label == "SUPPORTS" and "keep_bound" not in pair.kind:
            assert coverage(pair.claim, pair.document) > 0.6, pair


def test_an_undecided_claim_is_on_the_topic_and_not_in_the_document(pairs: list[Pair]) -> None:
    kinds = {pair.kind for pair in pairs if pair.label == "IRRELEVANT"}
    assert kinds >= {"elsewhere", "neighbour"}
    for pair in pairs:
        if pair.kind in {"elsewhere", "neighbour"}:
            assert pair.claim not in pair.document


def test_a_contradicted_claim_never_stands_in_the_document(pairs: list[Pair]) -> None:
    for pair in pairs:
        if pair.label == "CONTRADICTS":
            assert pair.claim.rstrip(".") not in pair.document, pair


def test_the_same_claim_is_true_of_one_document_and_false_of_another(pairs: list[Pair]) -> None:
    labels: dict[str, set[str]] = {}
    for pair in pairs:
        labels.setdefault(pair.claim, set()).add(pair.label)
    both = [claim for claim, found in labels.items() if {"SUPPORTS", "CONTRADICTS"} <= found]
    assert "The Vennick lighthouse was lit in 1871 by the keeper Anna Holt." in both
    assert any(" not " in claim for claim in both)


def test_the_same_seed_gives_the_same_pairs_whatever_else_was_drawn(pairs: list[Pair]) -> None:
    Random(1).random()
    assert list(synthetic_pairs(PASSAGES, seed=0, rounds=20)) == pairs
    assert list(synthetic_pairs(PASSAGES, seed=1, rounds=20)) != pairs


def test_rewording_never_hides_what_was_made_false() -> None:
    sentence = "The tower (built in 1902) guards the harbour of Harrow at night."
    passages = [Passage(sentence, "towers"), Passage(BELL, "bells")]
    made = [pair for pair in synthetic_pairs(passages, seed=3, rounds=60) if "date" in pair.kind]
    false = [pair for pair in made if pair.label == "CONTRADICTS" and pair.source == "towers"]
    assert false
    assert all("built in" in pair.claim for pair in false)


def test_a_contradiction_is_named_after_its_edit() -> None:
    pool = collect_names([])
    found = dict(contradictions("The lamp was lit in 1871.", Random(0), pool))
    assert set(found) == {"change_date", "change_polarity"}
    assert found["change_polarity"] == "The lamp was not lit in 1871."
    assert reworded("Nothing here can be said otherwise.", Random(0))[1] == "own"


def test_rows_survive_their_file_and_the_same_rows_give_the_same_bytes(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    rows = [Row("synthetic", pair) for pair in pairs]
    one, other = tmp_path / "one.gz", tmp_path / "other.gz"
    assert write_rows(one, rows) == len(rows)
    write_rows(other, iter(rows))
    assert list(read_rows(one)) == rows
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("question", "answer", "claim"),
    [
        ("What sport is Ryan Davis associated with?", "AFL", "Ryan Davis is associated with AFL."),
        ("When was POSB founded?", "1904", "POSB was founded in 1904."),
        ("When was Carl Roth born?", "12 May 1753", "Carl Roth was born on 12 May 1753."),
        ("Where is the old school located?", "Cheras", "The old school is located in Cheras."),
        ("What is the population of Osgood?", "48", "The population of Osgood is 48."),
        ("Who directed the film?", "Jo Hill", "Jo Hill directed the film."),
        ("What does RSJ refer to?", "a beam", None),
    ],
)
def test_a_question_and_an_answer_make_a_claim(
    question: str, answer: str, claim: str | None
) -> None:
    said = statement(question, answer)
    assert (said and said.text) == claim
