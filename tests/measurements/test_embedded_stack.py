"""The embedded stack from stored replies: cascades run by the package's own class."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conflictscore.benchmarks.conflict_detection.detect import PairRow
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.labelers.cascade import Thresholds
from conflictscore.records import EvidenceLabel, Label
from measurements import embedded_stack, judge_replies
from measurements.embedded_stack import played, rows_of, standing
from measurements.kept_scores import Numbers, Pairs, better_and_worse, constants, measured
from measurements.validation_sample import places_of
from tests.fakes.openai_server import OpenAIServer
from tests.measurements.test_judge_replies import data  # noqa: F401 - a fixture
from tests.nli_model import make_nli_model
from tests.world import World

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


def group(source: str, number: int, *labels: int) -> ClaimGroup:
    documents = tuple(
        GroupDocument(text=f"Lamp {number} of {source}, book {place}.", label=_LABELS[label])
        for place, label in enumerate(labels)
    )
    claim = f"Lamp {number} of {source} was lit in 1871."
    both = {0, 1} <= {*labels}
    return ClaimGroup(
        set=source, id=str(number), claim=claim, documents=documents, has_conflict=both
    )


@pytest.fixture
def pairs() -> Pairs:
    groups = [group(s, n, 0, 1, n % 3) for s in ("one", "two", "three") for n in range(4)]
    groups += [group(s, 9, 0, 2) for s in ("one", "two", "three")]
    return Pairs.of(places_of(groups))


def sure(labels: Numbers, probability: float) -> Numbers:
    """Log-probabilities that give each label this probability."""
    found = np.full((len(labels), 3), (1 - probability) / 2)
    found[np.arange(len(labels)), labels] = probability
    logs: Numbers = np.log(found)
    return logs


def test_what_people_say_is_right_in_everything_and_constants_are_those_of_the_pairs(
    pairs: Pairs,
) -> None:
    one = measured(pairs, pairs.gold)
    assert (one.labels.accuracy, one.conflict_f1, one.conflict_accuracy) == (1, 1, 1)
    label, conflict = constants(pairs)
    assert label == pytest.approx(21 / 42)
    assert conflict == pytest.approx(2 * 12 / (12 + 15))


def test_better_and_worse_are_counted_on_the_same_pairs(pairs: Pairs) -> None:
    before = pairs.gold.copy()
    before[:5] = (before[:5] + 1) % 3
    after = pairs.gold.copy()
    after[5] = (after[5] + 1) % 3
    better, worse, p = better_and_worse(pairs, before, after)
    assert (better, worse) == (5, 1)
    assert p == pytest.approx(0.21875)


def test_a_cascade_asks_the_judge_for_what_the_first_is_not_sure_of(pairs: Pairs) -> None:
    wrong = sure((pairs.gold + 1) % 3, 0.95)
    never = played(pairs, sure(pairs.gold, 0.95), wrong, Thresholds.from_score(0.9))
    assert not never.asked[pairs.gold == 2].any(), "no conflict rests on them"
    always = played(pairs, sure(pairs.gold, 0.6), wrong, Thresholds.from_score(0.9))
    assert always.asked.all()
    assert (always.given == (pairs.gold + 1) % 3).all()


def test_every_way_labels_every_pair(pairs: Pairs) -> None:
    rows = list(rows_of(pairs, sure(pairs.gold, 0.7), sure(pairs.gold, 0.8)))
    names = [row.name for row in rows]
    assert len({*names}) == len(names)
    assert {"nli", "choice", "cascade 0.9", "cascade, by default"} <= {*names}
    for row in rows:
        assert len(row.given) == len(row.asked) == len(pairs.gold), row.name
        assert (row.given == pairs.gold).all(), row.name


def test_how_often_a_model_is_right_from_a_score_on_is_by_label() -> None:
    groups = [group("one", 0, 0, 0, 1, 2)]
    scores = (0.95, 0.65, 0.65, 0.4)
    rows = [
        PairRow(
            set="one",
            group="0",
            content="",
            label=EvidenceLabel(claim=1, document=n, label=Label.SUPPORTS, score=score),
        )
        for n, score in enumerate(scores, start=1)
    ]
    found = {(score, label): rest for score, label, *rest in standing(rows, groups)}
    assert found[0.9, Label.SUPPORTS] == [0.25, 1.0]
    assert found[0.6, Label.SUPPORTS] == [0.75, pytest.approx(2 / 3)]
    assert found[0.6, Label.IRRELEVANT] == [0, None]


def test_the_command_takes_any_nli_model_and_says_what_is_missing(
    data: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    out, model = tmp_path / "out", str(make_nli_model(tmp_path / "small-nli"))
    command = ["--data", str(data), "--replies", str(tmp_path), "--nli-model", model]
    missing = CliRunner().invoke(embedded_stack.main, command)
    assert missing.exit_code == 1
    assert "no replies of measurements.judge_replies" in missing.stderr
    with OpenAIServer(World()) as server:
        asked = ["--data", str(data), "--model", "m", "--base-url", server.base_url]
        asked += ["--out", str(out)]
        assert CliRunner().invoke(judge_replies.main, asked).exit_code == 0
    shown = CliRunner().invoke(embedded_stack.main, [*command[:3], str(out), *command[4:]])
    assert shown.exit_code == 0, shown.output
    assert "| choice | 1.000 |" in shown.stdout
    assert json.loads((out / "choice.jsonl").read_text().splitlines()[0])["variant"] == "choice"
