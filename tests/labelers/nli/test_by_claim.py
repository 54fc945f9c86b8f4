"""From verdicts on windows to a document's label, and from labels to a claim's conflict."""

import math
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.labelers.calibration import UNCALIBRATED, Calibration
from conflictscore.labelers.nli.by_claim import (
    LEAST_PRODUCT,
    PAIR,
    POOLING,
    NliByClaim,
    Pooling,
    combined_verdict,
    decided_by_claim,
    open_nli_by_claim,
)
from conflictscore.labelers.nli.labeler import (
    NliLabeler,
    deciding_window,
    undoubted_window,
    verdict_on,
)
from conflictscore.labelers.nli.pitfalls import pitfall
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from tests.nli_model import make_nli_model

SUPPORTS, CONTRADICTS, IRRELEVANT = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT

probabilities = st.tuples(*[st.floats(0.01, 1)] * 3).map(lambda w: [one / sum(w) for one in w])


def says(supports: float, contradicts: float) -> dict[Label, float]:
    rest = max(0.0, round(1 - supports - contradicts, 9))
    return {SUPPORTS: supports, CONTRADICTS: contradicts, IRRELEVANT: rest}


def verdict(number: int, supports: float, contradicts: float) -> EvidenceLabel:
    known = says(supports, contradicts)
    label = verdict_on(known)
    return EvidenceLabel(
        claim=1, document=number, label=label, score=known[label], probabilities=known
    )


def labels(*verdicts: EvidenceLabel) -> list[Label]:
    return [one.label for one in decided_by_claim(verdicts)]


def test_two_documents_that_likely_disagree_are_both_labelled() -> None:
    weak, strong = verdict(1, 0.45, 0.02), verdict(2, 0.01, 0.9)
    assert weak.label is IRRELEVANT
    decided = decided_by_claim([weak, strong, verdict(3, 0.1, 0.1)])
    assert [one.label for one in decided] == [SUPPORTS, CONTRADICTS, IRRELEVANT]
    assert (decided[0].stage, decided[0].score) == (PAIR, 0.45)
    assert decided[1] == strong


def test_two_weak_labels_make_no_conflict() -> None:
    assert labels(verdict(1, 0.4, 0.25), verdict(2, 0.25, 0.45)) == [IRRELEVANT, CONTRADICTS]


def test_a_document_does_not_conflict_with_itself_and_unlabelled_pairs_stay() -> None:
    failed = EvidenceLabel(claim=1, document=2, label=Label.UNLABELLED, error="no reply")
    both = verdict(1, 0.5, 0.48)
    assert decided_by_claim([both, failed]) == [both, failed]
    assert decided_by_claim([]) == []


@given(st.lists(probabilities, max_size=7))
def test_there_is_a_conflict_exactly_if_some_pair_exceeds_the_bound(
    given_: list[list[float]],
) -> None:
    verdicts = [verdict(n, s, c) for n, (s, c, _) in enumerate(given_, start=1)]
    products = [
        one.probabilities[SUPPORTS] * other.probabilities[CONTRADICTS]
        for one, other in permutations(verdicts, 2)
        if one.probabilities and other.probabilities
    ]
    decided = labels(*verdicts)
    if max(products, default=0.0) > LEAST_PRODUCT:
        assert {SUPPORTS, CONTRADICTS} <= {*decided}
    elif not {SUPPORTS, CONTRADICTS} <= {one.label for one in verdicts}:
        assert decided == [one.label for one in verdicts]


def test_a_model_of_the_user_does_not_decide_by_the_claim(tmp_path: Path) -> None:
    assert isinstance(open_nli_by_claim(), NliByClaim)
    own = open_nli_by_claim(make_nli_model(tmp_path / "small-nli"))
    assert isinstance(own, NliLabeler)


def test_of_two_models_a_pair_has_the_mean_and_the_passage_of_the_surest() -> None:
    one = verdict(1, 0.7, 0.1).model_copy(
        update={"snippet": "one", "reasoning": "doubtful: a plan"}
    )
    other = verdict(1, 0.2, 0.5).model_copy(update={"snippet": "other"})
    mean = combined_verdict([one, other])
    assert (mean.label, mean.snippet) == (SUPPORTS, "one")
    assert mean.score == pytest.approx(0.45)
    assert mean.probabilities == {SUPPORTS: 0.45, CONTRADICTS: 0.3, IRRELEVANT: 0.25}
    assert mean.reasoning == "doubtful: a plan"
    sure = verdict(1, 0.9, 0.05)
    doubted = combined_verdict([one.model_copy(update={"probabilities": sure.probabilities}), sure])
    assert doubted.score == 0.5
    failed = EvidenceLabel(claim=1, document=1, label=Label.UNLABELLED, error="too long")
    assert combined_verdict([one, failed]) == failed


@given(st.lists(probabilities, min_size=2, max_size=2))
def test_a_pooled_pair_is_the_weighted_product(given_: list[list[float]]) -> None:
    of_models = [
        dict(zip((SUPPORTS, CONTRADICTS, IRRELEVANT), each, strict=True)) for each in given_
    ]
    pooled = Pooling((1.0, 2.0), supports=0.5, contradicts=-0.5, least_product=0.3).pooled(
        of_models
    )
    assert sum(pooled.values()) == pytest.approx(1)
    one, other = of_models

    def odds(label: Label) -> float:
        return one[label] / one[IRRELEVANT] * (other[label] / other[IRRELEVANT]) ** 2

    for label, factor in ((SUPPORTS, math.exp(0.5)), (CONTRADICTS, math.exp(-0.5))):
        assert pooled[label] / pooled[IRRELEVANT] == pytest.approx(odds(label) * factor, rel=1e-6)


def test_two_models_that_agree_are_surer_together() -> None:
    one, other = verdict(1, 0.7, 0.1), verdict(1, 0.6, 0.2)
    pooling = Pooling((1.0, 1.0), 0.0, 0.0, least_product=0.3)
    pooled = combined_verdict([one, other], pooling)
    assert pooled.label is SUPPORTS
    assert pooled.score is not None
    assert pooled.score > 0.7
    never = combined_verdict([verdict(1, 0.0, 1.0), verdict(1, 1.0, 0.0)], pooling)
    assert never.probabilities is not None
    assert sum(never.probabilities.values()) == pytest.approx(1, abs=1e-3)


def test_a_pooling_has_its_own_bound_and_is_part_of_the_identity(tmp_path: Path) -> None:
    sides = [verdict(1, 0.55, 0.05), verdict(2, 0.05, 0.55)]
    assert {*labels(*sides)} == {SUPPORTS, CONTRADICTS}
    assert [each.label for each in decided_by_claim(sides, 0.35)].count(IRRELEVANT) == 1
    small = NliLabeler.open(make_nli_model(tmp_path / "small-nli"))
    assert NliByClaim(small, small).identity != NliByClaim(small, small, pooling=POOLING).identity


_window = st.fixed_dictionaries(
    dict.fromkeys((SUPPORTS, CONTRADICTS, IRRELEVANT), st.floats(-20, 20))
).map(UNCALIBRATED.probabilities)


@given(window=_window)
def test_a_window_has_the_label_that_is_most_likely(window: dict[Label, float]) -> None:
    assert window[verdict_on(window)] == max(window.values())


def test_a_side_that_is_no_likelier_than_irrelevant_does_not_count() -> None:
    assert verdict_on({SUPPORTS: 0.5, CONTRADICTS: 0.0, IRRELEVANT: 0.5}) is IRRELEVANT
    assert verdict_on(says(0.48, 0.0)) is IRRELEVANT


@pytest.mark.parametrize(
    ("windows", "decides"),
    [
        ([says(0.1, 0.1), says(0.7, 0.1), says(0.05, 0.9), says(0.8, 0.1)], 2),
        ([says(0.48, 0.0), says(0.45, 0.44)], 1),
        ([says(0.1, 0.0), says(0.0, 0.4), says(0.2, 0.1)], 1),
        ([says(0.1, 0.1), says(0.8, 0.1), says(0.1, 0.8)], 1),
    ],
    ids=["the strongest", "speaks, not nearly", "came nearest", "the earlier of equals"],
)
def test_one_window_decides(windows: list[dict[Label, float]], decides: int) -> None:
    assert deciding_window(windows) == decides


@given(windows=st.lists(_window, min_size=1, max_size=8))
def test_a_document_is_irrelevant_only_if_no_window_takes_a_side(
    windows: list[dict[Label, float]],
) -> None:
    spoken = {verdict_on(window) for window in windows} - {IRRELEVANT}
    decided = verdict_on(windows[deciding_window(windows)])
    assert decided in (spoken or {IRRELEVANT})


async def test_a_table_and_a_single_pair_are_pooled_alike(tmp_path: Path) -> None:
    first = NliLabeler.open(make_nli_model(tmp_path / "first"))
    second = NliLabeler.open(
        make_nli_model(tmp_path / "second"), calibration=Calibration(temperature=5, fitted_on="us")
    )
    pooled = NliByClaim(first, second, pooling=Pooling((3.0, 0.1), 0.0, 0.0, least_product=0.3))
    claim = Claim(number=1, text="The lamp was lit in 1871.")
    document = Document(number=1, text="The lamp was lit in 1874, says the log.")
    alone = await pooled.label(claim, document, UsageMeter())
    [row] = await label_table(pooled, [claim], [document], meter=UsageMeter(), cache=None)
    assert row.labels[0].probabilities == alone.probabilities


@pytest.mark.parametrize(("windows", "decides"), [(16, 15), (3, 0)])
def test_in_a_long_document_an_undoubted_window_overrules_a_doubtful_one(
    windows: int, decides: int
) -> None:
    claim, plan = "The bridge was opened in 1932.", "The bridge will be opened in 1932."
    told, other = "The bridge was opened in 1940.", "Rain fell on the valley."
    assert pitfall(claim, plan, SUPPORTS) is not None
    assert pitfall(claim, told, CONTRADICTS) is None
    texts = [plan, *[other] * (windows - 2), told]
    probabilities = [says(0.9, 0.05), *[says(0.1, 0.1)] * (windows - 2), says(0.1, 0.7)]
    place, trap = undoubted_window(claim, probabilities, texts)
    assert (place, trap is None) == (decides, decides > 0)


def test_a_doubtful_window_decides_if_nothing_else_takes_the_other_side() -> None:
    plan, other = "The bridge will be opened in 1932.", "Rain fell on the valley."
    probabilities = [says(0.1, 0.1)] * 19 + [says(0.9, 0.05)]
    place, trap = undoubted_window(
        "The bridge was opened in 1932.", probabilities, [other] * 19 + [plan]
    )
    assert (place, trap is None) == (19, False)
