"""From a data folder to the file, with no measured pair among the training pairs."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.training.toy import toy_tokenizer, write_lines
from training import build_pairs
from training.human import data_files
from training.packed import PARTS, load_packed
from training.pairs import Pair, Row, claim_key

LAMP = (
    "The Vennick lighthouse was lit in 1871 by the keeper Anna Holt. Its tower is 40 metres high."
    " The lamp of Vennick burned whale oil for twenty years."
)
BELL = (
    "The Harrow lighthouse was built in 1902 beside the harbour. The Harrow bell weighs 300 pounds"
    " and hangs above the door. Fog reduced the number of ships in the harbour during winter."
)
SECRET = "The Torvik beacon was painted green in 1955 by the harbour board of the town."


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    groups = [
        ("train", "The Vennick lamp was lit in 1871.", LAMP, "SUPPORTS"),
        ("train", "The Torvik beacon is green.", BELL, "IRRELEVANT"),
        ("test", "The Torvik beacon is green!", SECRET, "SUPPORTS"),
        ("test", "The Vennick lamp was lit in 1902.", LAMP, "CONTRADICTS"),
    ]
    write_lines(
        folder / "labels" / "lamps_groups.jsonl",
        [
            {"split": split, "claim": claim, "docs": [{"text": text, "label": label}]}
            for split, claim, text, label in groups
        ],
    )
    write_lines(folder / "conflicts" / "conflicts.jsonl", [{"docs": [{"text": LAMP + " " + BELL}]}])
    write_lines(
        folder / "truthfulqa" / "questions.jsonl", [{"text": f"Benchmark. {BELL} Benchmark."}]
    )
    document = {"text": f"{BELL} Fog.", "type": "correct", "answer": "1902"}
    write_lines(
        folder / "ramdocs" / "ramdocs.jsonl",
        [
            {
                "question": "When was the Harrow lighthouse built?",
                "documents": [document, {"text": SECRET, "type": "noise", "answer": "unknown"}],
                "gold_answers": ["1902"],
                "wrong_answers": ["1955"],
            }
        ],
    )
    return folder


def build(data: Path, out: Path, *more: str) -> str:
    options = ["--data", str(data), "--out", str(out), *more]
    options += ["--tokenizer", str(toy_tokenizer(data))]
    found = CliRunner().invoke(build_pairs.main, options)
    assert found.exit_code == 0, found.output
    return found.output


def rows(data: Path, made: Path | None = None) -> list[Row]:
    return [*build_pairs.rows_of(data_files([data]), made=made, seed=0)]


def test_no_claim_and_no_passage_is_both_measured_on_and_learned_from(
    data: Path, tmp_path: Path
) -> None:
    said = build(data, tmp_path / "out")
    claims = defaultdict(set)
    documents = defaultdict(set)
    for part, pair in rows(data):
        claims[part].add(claim_key(pair.claim))
        documents[part].add(pair.document)
    assert claims["validation"] == {
        "the torvik beacon is green",
        "the vennick lamp was lit in 1902",
    }
    assert claims["human"] == {"the vennick lamp was lit in 1871"}
    assert not any("Torvik" in text for text in documents["human"])
    asked = {text for text in documents["questions"] if "Torvik" in text}
    assert asked == {SECRET}, "RAMDocs' own document, with its own claims alone"
    packed = load_packed(tmp_path / "out" / "pairs.npz")
    total = sum(len(packed.of_part(part)) for part in PARTS)
    assert f"{total} pairs" in said
    assert packed.pair_tokens == 256


def test_made_pairs_are_taken_over_but_for_claims_near_one_that_is_measured_on(
    data: Path, tmp_path: Path
) -> None:
    far = Pair("The lamp of Vennick burned whale oil.", LAMP, "SUPPORTS", "lamps", "sentence")
    near = far._replace(claim="The Torvik beacon is green?")
    made = [Row("synthetic", far), Row("synthetic", near), Row("human", far)]
    with gzip.open(tmp_path / "made.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"part": p, **pair._asdict()}) + "\n" for p, pair in made)
    found = rows(data, tmp_path / "made.jsonl.gz")
    assert [pair for part, pair in found if part == "synthetic"] == [far]


def test_answers_are_compared_with_the_documents_of_their_question(data: Path) -> None:
    found = {
        (pair.document == SECRET, pair.label)
        for part, pair in rows(data)
        if part == "questions" and pair.kind != "silenced"
    }
    assert found == {(False, "SUPPORTS"), (False, "CONTRADICTS"), (True, "IRRELEVANT")}


def test_the_same_data_and_seed_give_the_same_bytes(data: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        build(data, tmp_path / name, "--seed", "5")
    one, other = ((tmp_path / name / "pairs.npz").read_bytes() for name in ("one", "other"))
    assert one == other
