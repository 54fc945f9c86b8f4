"""Labels of people, and the second look with them, on tiny data and a scripted model."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, Label
from measurements import second_look
from measurements.people_labels import SETS, TABLES, LabelledQuestion, PeopleLabeler, Spoiler
from tests.benchmarks.harness.quiz import RIGHT, WRONG
from tests.scoring_files.files import write_lines

S, C, N = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT


def lamp(number: int) -> dict[str, Any]:
    kinds = (("correct", RIGHT), ("correct", RIGHT), ("misinfo", WRONG), ("noise", "unknown"))
    return {
        "question": f"When was lamp {number} lit?",
        "documents": [
            {"text": f"Log {n} of lamp {number}: {year}.", "type": kind, "answer": str(year)}
            for n, (kind, year) in enumerate(kinds)
        ],
        "disambig_entity": [f"lamp {number}"],
        "gold_answers": [str(RIGHT)],
        "wrong_answers": [str(WRONG)],
    }


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> list[LabelledQuestion]:
    path = tmp_path_factory.mktemp("data") / "ramdocs.jsonl"
    return SETS["ramdocs"](write_lines(path, [lamp(n) for n in range(3)]))


async def labels(labelled: list[LabelledQuestion], claim: str, spoiler: Spoiler) -> list[Label]:
    judge, [first, *_] = PeopleLabeler(labelled, spoiler), labelled
    documents = [
        Document.model_validate({"number": n, **item})
        for n, item in enumerate(first.question.documents, start=1)
    ]
    return [
        (await judge.label(Claim(number=1, text=claim), document, UsageMeter())).label
        for document in documents
    ]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (f"Lamp 0 was lit in {RIGHT}.", [S, S, C, N]),
        (f"Lamp 0 was lit in {WRONG}.", [C, C, S, N]),
        (f"Some say {RIGHT}, others {WRONG}.", [S, S, S, N]),
        ("Lamp 0 was lit long ago.", [N, N, N, N]),
    ],
)
async def test_people_say_how_a_document_bears_on_a_claim_that_holds_an_answer(
    labelled: list[LabelledQuestion], claim: str, expected: list[Label]
) -> None:
    assert await labels(labelled, claim, Spoiler()) == expected


def test_answers_that_are_right_for_another_entity_are_at_odds_with_wrong_ones_alone(
    labelled: list[LabelledQuestion],
) -> None:
    one = labelled[0]._replace(right=("1874", "1880"), wrong=("1871",))
    assert one.label("It was 1874.", "1880") is N
    assert one._replace(rivals=True).label("It was 1874.", "1880") is C
    assert one.label("It was 1871.", "1880") is C


def test_a_claim_of_natconfqa_is_as_true_as_more_of_its_passages_say(tmp_path: Path) -> None:
    said = ("SC", "SSCIM", "CI", "IU")
    names = {"S": S, "C": C, "I": N, "M": "MIXED", "U": "UNLABELLED"}
    rows = [
        {
            "id": str(number),
            "claim": f"Lamp {number} burns.",
            "docs": [{"text": f"Log {n}.", "label": names[one]} for n, one in enumerate(labels)],
        }
        for number, labels in enumerate(said)
    ]

    tie, true, false = SETS["natconfqa"](write_lines(tmp_path / "natconfqa_groups.jsonl", rows))
    assert (tie.right, tie.wrong, tie.rivals) == (("true", "false"), (), True)
    assert (true.right, true.wrong, true.rivals) == (("true",), ("false",), False)
    assert false.right == ("false",)
    gives = [document["metadata"]["gives"] for document in true.question.documents]
    assert gives == ["true", "true", "false", ""], "what is mixed or has no label is left out"
    assert [true.label("It is false that lamp 1 burns.", one) for one in gives] == [C, C, S, N]


def test_a_rate_spoils_its_share_of_labels_and_what_a_lower_one_spoiled_too() -> None:
    def spoiled(rate: float) -> set[int]:
        spoiler = Spoiler(rate=rate)
        return {n for n in range(2000) if spoiler.spoil(S, f"claim {n}", "text") is not S}

    few, many = spoiled(0.2), spoiled(0.5)
    assert few < many
    assert 330 < len(few) < 470
    assert spoiled(0) == set()
    others = Counter(Spoiler(rate=1).spoil(S, f"claim {n}", "text") for n in range(2000))
    assert set(others) == {C, N}
    assert min(others.values()) > 900


def test_a_confusion_table_says_what_becomes_of_each_label() -> None:
    spoiler = Spoiler(table="choice")
    given = Counter(spoiler.spoil(C, f"claim {n}", "text") for n in range(2000))
    row = TABLES["choice"][C]
    for label, count in zip((S, C, N), row, strict=True):
        assert abs(given[label] / 2000 - count / sum(row)) < 0.05


@pytest.mark.parametrize("first", ["lot", "natural"])
def test_what_people_know_corrects_and_what_is_spoiled_does_less(
    tmp_path: Path, first: str
) -> None:
    data = write_lines(tmp_path / "ramdocs.jsonl", [lamp(n) for n in range(12)])
    args = ["--data", f"ramdocs={data}", "--half", "second", "--first", first]
    told = CliRunner().invoke(second_look.main, [*args, "--spoiled", "0", "--spoiled", "1"])
    assert told.exit_code == 0, told.output
    head, clean, spoiled = (line.split() for line in told.output.splitlines())
    row = dict(zip(head[1:4], map(int, clean[1:4]), strict=True))
    assert row["n"] == row["disputed"] == 6
    corrected, harmed, named = int(clean[4]), int(clean[5]), int(clean[-7])
    assert (corrected, harmed, named) == (6 - row["right"], 0, 6)
    assert (row["right"] == 6) is (first == "natural")
    assert int(spoiled[5]) < max(1, corrected)


def test_the_command_names_what_is_wrong() -> None:
    def told(*args: str) -> str:
        return CliRunner().invoke(second_look.main, args).output

    assert "give NAME=FILE" in told("--data", "lamps=x.jsonl")
    assert "one of nli, choice" in told("--data", "minority", "--spoiled", "mine")
    assert "x.jsonl" in told("--data", "ramdocs=x.jsonl")
