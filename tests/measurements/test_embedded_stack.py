"""Stacks of labelers on stored replies, run by the package's own classes."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.records import Label
from measurements import embedded_stack, judge_replies
from measurements.embedded_stack import constants, gain
from measurements.kept_scores import Pairs
from measurements.validation_sample import places_of
from tests.fakes.openai_server import OpenAIServer
from tests.measurements.test_judge_replies import data  # noqa: F401 - a fixture
from tests.world import World

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


def group(number: int, *labels: int) -> ClaimGroup:
    documents = tuple(
        GroupDocument(text=f"Lamp {number}, book {place}.", label=_LABELS[label])
        for place, label in enumerate(labels)
    )
    claim = f"Lamp {number} was lit in 1871."
    both = {0, 1} <= {*labels}
    return ClaimGroup(
        set="one", id=str(number), claim=claim, documents=documents, has_conflict=both
    )


@pytest.fixture
def pairs() -> Pairs:
    groups = [group(n, 0, 1, n % 3) for n in range(12)] + [group(20, 0, 2), group(21, 0)]
    return Pairs.of(places_of(groups))


def test_constants_say_conflict_of_every_claim_of_none_or_of_each_with_two_documents(
    pairs: Pairs,
) -> None:
    f1, right = zip(*constants(pairs).values(), strict=True)
    assert f1 == pytest.approx((2 * 12 / (12 + 14), 0, 2 * 12 / (12 + 13)))
    assert right == pytest.approx((12 / 14, 2 / 14, 13 / 14))


def test_a_gain_is_that_of_the_same_claims_and_none_where_nothing_changed(pairs: Pairs) -> None:
    worse = pairs.gold.copy()
    worse[pairs.claims < 6] = 2
    value, low, high = gain(pairs, worse, pairs.gold)
    assert value[0] == pytest.approx((worse != pairs.gold).mean())
    assert (low < value).all()
    assert (value < high).all()
    assert not np.any(gain(pairs, worse, worse))


def test_the_command_resumes_and_marks_what_a_constant_beats(
    data: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))  # no nli-mpnet there
    out = tmp_path / "out"
    command = ["--data", str(data), "--replies", str(tmp_path), "--cache", str(tmp_path / "kept")]
    alone = CliRunner().invoke(embedded_stack.main, [*command[:2], *command[4:], "--claims", "6"])
    assert alone.exit_code == 0, alone.output
    assert alone.stdout.count("| nli(minilm), best odds, by claim |") == 5  # all, halves, sets
    missing = CliRunner().invoke(embedded_stack.main, command)
    assert missing.exit_code == 1
    assert "no replies of measurements.judge_replies" in missing.stderr
    with OpenAIServer(World()) as server:
        asked = ["--data", str(data), "--model", "m", "--base-url", server.base_url]
        assert CliRunner().invoke(judge_replies.main, [*asked, "--out", str(out)]).exit_code == 0
    command[3] = str(out)
    tables = [CliRunner().invoke(embedded_stack.main, command) for _ in "12"]
    assert tables[0].exit_code == 0, tables[0].output
    assert tables[0].stdout == tables[1].stdout
    assert "| choice | 1.000 |" in tables[0].stdout
    assert re.search(r"\| cascade of nli\(minilm\) \| [01]\.", tables[0].stdout)
