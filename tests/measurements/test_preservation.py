"""The study of preserved text, on a few claims and scripted models."""

from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conflictscore.markdown import passages
from conflictscore.records import Label, Usage
from measurements import preservation
from measurements.preservation import DENIED, LongAnswer, Tally, long_answers, revised
from tests.scoring_files.files import write_lines

IN_PLACE: dict[str, Any] = {"regeneration": "revise", "guard": True}


def group(number: int, *labels: str) -> dict[str, Any]:
    claim = f"The harbour of island number {number} was opened to every ship in summer."
    documents = [
        {"text": f"A log about number {number}, page {n}.", "label": label}
        for n, label in enumerate(labels)
    ]
    return {"id": str(number), "claim": claim, "docs": documents}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = [group(n, "SUPPORTS", "IRRELEVANT") for n in range(14)]
    lines += [group(n, "CONTRADICTS") for n in range(20, 23)]
    lines += [group(n, "SUPPORTS", "CONTRADICTS") for n in range(30, 33)]
    return write_lines(tmp_path_factory.mktemp("groups") / "groups.jsonl", lines)


@pytest.fixture(scope="module")
def made(file: Path) -> list[LongAnswer]:
    return long_answers([file], 6, seed=1)


def test_an_answer_has_six_to_twelve_sentences_of_which_one_to_three_are_disputed(
    made: list[LongAnswer],
) -> None:
    for number, answer in enumerate(made):
        assert 6 <= len(answer.labels) <= 12
        assert 1 <= len(answer.disputed) <= 3
        assert ("```" in answer.text) is bool(number % 2)
        said = {answer.text[p.start : p.end].split(" [")[0] for p in passages(answer.text)}
        assert set(answer.labels) <= said, "each is a passage of its own"


def test_a_model_that_obeys_changes_what_is_disputed_and_nothing_else(
    made: list[LongAnswer],
) -> None:
    tally = revised(made, behaviours=cycle([preservation.obey]), **IN_PLACE)
    assert tally.kept == [1.0] * len(made)
    assert set(tally.outcomes) <= {"right", "hedged"}
    assert tally.outcomes.total() == sum(len(answer.disputed) for answer in made)
    assert tally.usage.calls > len(made)
    assert tally.usage.input_tokens > 0


def test_whatever_a_model_replies_the_undisputed_text_stays_byte_for_byte(
    made: list[LongAnswer],
) -> None:
    tally = revised(made, behaviours=preservation.misbehaviours(), **IN_PLACE)
    assert tally.kept == [1.0] * len(made)
    assert tally.outcomes["harmed"] == 0
    assert tally.outcomes["kept"] > tally.outcomes["right"]


def test_asked_for_as_a_whole_an_answer_loses_what_nobody_disputed(made: list[LongAnswer]) -> None:
    tally = revised(made, behaviours=cycle([preservation.obey]), regeneration="paper")
    assert min(tally.kept) == 0
    assert min(tally.lengths) < 0.5


def test_what_becomes_of_a_disputed_sentence_is_told_apart() -> None:
    wrong, aside = "The lamp is red.", "The tower is tall."
    labels = {wrong: {"log": Label.CONTRADICTS}}
    answer = LongAnswer(f"So. {wrong} [1] {aside}", (), labels, (wrong,))

    def counted(now: str) -> tuple[float, dict[str, int]]:
        tally = Tally()
        tally.add(answer, now, Usage())
        return tally.kept[0], dict(tally.outcomes)

    assert counted(answer.text) == (1.0, {"kept": 1})
    assert counted(f"So. {DENIED}{wrong} {aside}") == (1.0, {"right": 1})
    assert counted(f"So. Sources disagree: {wrong} [1] {aside}") == (1.0, {"hedged": 1})
    assert counted(f"So. The moon is cheese. {aside}") == (1.0, {"harmed": 1})
    assert counted(f"{DENIED}{wrong}") == (0.0, {"right": 1})


def test_the_command_prints_a_line_for_each_way_and_names_files_that_do_not_do(
    file: Path, tmp_path: Path
) -> None:
    shown = CliRunner().invoke(preservation.main, [str(file), "--answers", "2"])
    assert shown.exit_code == 0, shown.output
    for way in ("obeys", "misbehaves", "unguarded", "whole"):
        assert f"\n{way} " in shown.stdout
    few = write_lines(tmp_path / "few.jsonl", [group(1, "SUPPORTS")])
    refused = CliRunner().invoke(preservation.main, [str(few)])
    assert "too few disputed claims" in refused.output
