"""What a claim alone gives away, and whether a model sees what one changed word does."""

from pathlib import Path

from click.testing import CliRunner

from tests.training.test_synthetic import BELL, LAMP
from training import contrast, shortcuts
from training.contrast import contrast_pairs
from training.pairs import LABELS, Pair, Row, write_rows
from training.shortcuts import guessed_right


def pairs() -> list[Pair]:
    """The claim gives the label away, by a word; the document has nothing to do with it."""
    words = {"SUPPORTS": "lamp", "CONTRADICTS": "never", "IRRELEVANT": "cats"}
    return [
        Pair(f"The {words[label]} {n}.", f"Document {n % 7}.", label, "toy", "people")
        for n, label in enumerate(LABELS * 30)
    ]


def test_a_word_that_gives_the_label_away_is_found() -> None:
    found = shortcuts.shortcuts(pairs())
    assert found.pairs == 90
    assert found.commonest == 1 / 3
    assert found.claim == 1.0
    assert found.document < 0.5


def test_a_text_is_never_judged_by_itself() -> None:
    texts = [f"word{n}" for n in range(100)]
    labels = ["SUPPORTS", "CONTRADICTS"] * 50
    assert guessed_right(texts * 3, labels * 3) < 0.7, "each text is in one part, however often"
    assert guessed_right(["one"], ["SUPPORTS"]) == 0.0, "nothing to learn from"


def test_every_set_gets_a_line(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl.gz"
    write_rows(path, [Row("human", pair) for pair in pairs()])
    said = CliRunner().invoke(shortcuts.main, ["--pairs", str(path)])
    assert said.exit_code == 0, said.output
    assert said.output.splitlines()[-1].startswith("| human | toy | 90 | 0.33 | 1.00 |")


def test_a_contrast_set_has_each_sentence_as_it_is_and_changed() -> None:
    found = list(contrast_pairs([LAMP, BELL], seed=0, most=10))
    assert len({one.sentence for one in found}) == 2, "one of each passage"
    for one in found:
        assert (one.pair.label == "SUPPORTS") is (one.pair.kind in ("own", "reworded"))
        assert one.sentence in one.pair.document
    assert {one.pair.label for one in found} == {"SUPPORTS", "CONTRADICTS"}
    assert found == list(contrast_pairs([BELL, LAMP], seed=0, most=10)), "in whatever order"
    assert len({one.sentence for one in contrast_pairs([LAMP, BELL], seed=0, most=1)}) == 1


def test_a_contrast_set_without_data_is_refused_with_one_line(tmp_path: Path) -> None:
    said = CliRunner().invoke(contrast.main, ["--data", str(tmp_path)])
    assert said.exit_code == 1
    assert "there is no .jsonl file" in said.output
