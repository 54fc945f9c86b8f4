"""The result of a run: its notes, its flip, and how far the answer was checked."""

import logging
from typing import Any

import pytest

from conflictscore.errors import FailureKind
from conflictscore.nodes.record import record, run_of
from conflictscore.records import Attempt, Change, Document, Gap, GapKind, RunStatus
from tests.nodes.steps import Judge, attempt, claim_with, running, scored, setting

CONFLICT = scored(claim_with("+-", "It was lit."))
AGREED = scored(claim_with("++", "It was lit."))
UNCLAIMED = Gap(kind=GapKind.UNCLAIMED, note="a line stands in no claim", passage=(0, 4))
GREETING = Gap(kind=GapKind.STATES_NOTHING, note="it states nothing")


async def recorded(*attempts: Attempt, **settings: Any) -> dict[str, Any]:
    """The result of a run with these answers, which already has one note."""
    state: Any = {
        "changes": settings.pop("changes", []),
        "attempts": [one.to_json() for one in attempts],
        "notes": ["the first note"],
        "run_id": "run-7",
        "draft": attempts[-1].answer.to_json() if attempts else {"text": "  "},
        "documents": settings.pop("documents", []),
    }
    return await record(state, running(setting(**{"labeler": Judge(), **settings})))


@pytest.mark.parametrize(
    ("last", "least", "checked", "warned"),
    [
        (attempt(AGREED), 0.5, "fully", None),
        (
            attempt(AGREED, unclaimed="7% of it"),
            0.5,
            "partly",
            "only in part checked: a part of the answer is not covered b",
        ),
        (
            attempt(AGREED, gaps=(UNCLAIMED,)),
            0.5,
            "partly",
            "only in part checked: a part of the answer is not covered b",
        ),
        (attempt(AGREED, unclaimed="7% of it"), None, "partly", None),
        (attempt(AGREED, gaps=(UNCLAIMED,)), None, "partly", None),
        (attempt(scored(), gaps=(GREETING,)), 0.5, "no", None),
        (attempt(scored()), 0.5, "no", "not checked: no claims were read from it"),
        (attempt(scored(claim_with("+?"))), 0.5, "partly", "only in part checked: 50% of its"),
        (attempt(scored(claim_with("+?"))), 0.6, "no", "not checked: 50% of its pairs of claim"),
        (attempt(scored(claim_with("+???"))), None, "partly", None),
        (
            attempt(scored(claim_with("+" * 199 + "?"))),
            0.5,
            "partly",
            "only in part checked: 99% of its",
        ),
        (attempt(scored(claim_with("??"))), None, "no", None),
        (attempt(scored(claim_with("??"))), 0.0, "no", "not checked: 0% of its pairs of claim and"),
        (attempt(None), 0.5, "no", "not checked: it was not scored"),
        (
            attempt(scored().model_copy(update={"error": "no claims"})),
            0.5,
            "no",
            "not checked: no claims",
        ),
    ],
)
async def test_whether_an_answer_was_checked_and_who_is_warned(
    last: Attempt,
    least: float | None,
    checked: str,
    warned: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        state = await recorded(last, min_coverage=least)

    assert state["checked"] == checked
    told = [one.getMessage() for one in caplog.records if one.name == "conflictscore.nodes.record"]
    assert [message[: len(f"run run-7: the answer was {warned}")] for message in told] == (
        [f"run run-7: the answer was {warned}"] if warned else []
    )


async def test_each_answer_is_noted_with_what_is_missing_of_it() -> None:
    cut = claim_with("+-?")
    cut = cut.model_copy(
        update={
            "labels": tuple(
                pair.model_copy(update={"document_cut": pair.document != 2}) for pair in cut.labels
            )
        }
    )
    greek = claim_with("+++", "Το φως άναψε.", number=2)  # noqa: RUF001 - a script of its own
    failed = scored().model_copy(update={"error": "the model is down"})

    state = await recorded(
        attempt(scored(cut, greek), unclaimed="7% of the answer was not taken apart"),
        attempt(None, round=1),
        attempt(failed, round=2),
        attempt(scored(claim_with("++")), round=3),
    )

    assert state["notes"] == [
        "the first note",
        "the first answer: 7% of the answer was not taken apart",
        "the first answer: 1 of 2 claims are in a script that judge was not trained on;"
        " their labels are unreliable",
        "the first answer: 1 of 6 pairs have no label (the judge was silent)",
        "the first answer: the judge saw only part of document 1, because it was too long",
        "the first answer: the judge saw only part of document 3, because it was too long",
        "regenerated answer 2 has no score: the model is down",
    ]


async def test_a_gap_that_a_corrected_answer_still_has_is_noted_once() -> None:
    cut = claim_with("+-?")
    unclaimed = {"unclaimed": "its last line is in no claim"}

    state = await recorded(
        attempt(scored(cut), **unclaimed), attempt(scored(claim_with("+?+")), round=1, **unclaimed)
    )

    assert state["notes"] == [
        "the first note",
        "the first answer and regenerated answer 1: its last line is in no claim",
        "the first answer and regenerated answer 1: 1 of 3 pairs have no label"
        " (the judge was silent)",
    ]


def _look_that(failure: FailureKind | None, passage: str, *, number: int = 1) -> Change:
    failed: Any = {"accepted": False, "note": "the judge is down", "failure": failure}
    return Change.kept(passage, 0, [], round=number, **(failed if failure else {}))


@pytest.mark.parametrize(
    ("looks", "checked"),
    [
        ([_look_that(FailureKind.FAILED, "It was lit.")], "partly"),
        ([_look_that(FailureKind.NOT_ASKED, "It was lit.")], "partly"),
        ([_look_that(None, "It was lit.")], "fully"),
        ([_look_that(FailureKind.FAILED, "It was red.")], "fully"),  # no longer in the answer
        (
            [
                _look_that(FailureKind.FAILED, "It was lit."),
                _look_that(None, "It was lit.", number=2),
            ],
            "fully",
        ),
    ],
)
async def test_a_disputed_passage_whose_second_look_failed_is_not_fully_checked(
    looks: list[Change], checked: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        state = await recorded(
            attempt(CONFLICT, "It was lit."),
            changes=[look.to_json() for look in looks],
            min_coverage=0.5,
        )

    verdict = run_of({**state, "attempts": []}).verdict()
    assert (state["checked"], verdict["checked"]) == (checked, checked)
    assert verdict["kind"] == (None if checked == "fully" else "not_reconsidered")
    warnings = [one.getMessage() for one in caplog.records]
    assert any("only in part checked: a disputed claim" in one for one in warnings) == (
        checked == "partly"
    )
    assert not any("It was lit" in warning for warning in warnings)


async def test_an_answer_that_was_confirmed_keeps_the_reason_for_that() -> None:
    confirmed = attempt(CONFLICT, round=1, justification="Both agree on it.")

    state = await recorded(attempt(CONFLICT), confirmed)

    assert state["flipped"] is False
    assert state["justification"] == "Both agree on it."


async def test_an_answer_without_text_ends_a_run_without_anything() -> None:
    note = "the answer is empty, so it has no score"

    assert await recorded() == {
        "examined": {
            "answer": [],
            "documents": [],
            "gaps": [{"kind": "empty_answer", "note": note, "passage": None, "documents": []}],
        },
        "answer": "  ",
        "first_answer": "  ",
        "flipped": False,
        "checked": "no",
        "justification": None,
        "report": None,
        "final_report": None,
        "attempts": [],
        "reason": note,
        "notes": ["the first note", note],
    }


@pytest.mark.parametrize(
    ("copies_of", "reports", "least", "checked"),
    [
        ([None], [AGREED], 0.5, "partly"),
        ([None, 1], [AGREED], 0.5, "partly"),
        ([None, 1], [CONFLICT], 0.5, "fully"),  # an altered copy disagrees
        ([None, 1], [CONFLICT, AGREED], 0.5, "fully"),  # it did so before the correction
        ([None, None], [AGREED], 0.5, "fully"),
        ([None], [AGREED], None, "fully"),  # the paper's loop asks no reader
    ],
)
async def test_an_answer_checked_against_a_single_document_says_so(
    copies_of: list[int | None], reports: list[Any], least: float | None, checked: str
) -> None:
    documents = [
        Document(number=number, text="It was lit.", duplicate_of=original).to_json()
        for number, original in enumerate(copies_of, 1)
    ]

    attempts = [attempt(report, round=number) for number, report in enumerate(reports)]
    state = await recorded(*attempts, min_coverage=least, documents=documents)

    assert state["checked"] == checked
    assert ("a single document" in str(state["notes"])) == (checked == "partly")


# What came of a run, by its state

UNKNOWN = AGREED.model_copy(update={"error": "no claims"})
CHANGED = [attempt(CONFLICT), attempt(AGREED, "In 1874.", round=1)]


@pytest.mark.parametrize(
    ("attempts", "checked", "status"),
    [
        ([], None, RunStatus.PASSED_THROUGH),
        ([attempt(None)], None, RunStatus.PASSED_THROUGH),
        ([attempt(AGREED)], None, RunStatus.SCORED),
        ([attempt(AGREED)], "no", RunStatus.FAILED),
        ([attempt(scored(claim_with("+?")))], None, RunStatus.PARTLY_SCORED),
        ([attempt(scored(claim_with("??")))], None, RunStatus.FAILED),
        ([attempt(scored())], None, RunStatus.SCORED),
        ([attempt(UNKNOWN)], None, RunStatus.FAILED),
        ([attempt(CONFLICT)], None, RunStatus.KEPT),
        ([attempt(scored(claim_with("--"), policy=["refuted"]))], None, RunStatus.KEPT),
        (CHANGED, None, RunStatus.CORRECTED),
        (CHANGED, "no", RunStatus.CORRECTED),
    ],
)
def test_what_a_run_resulted_in(
    attempts: list[Attempt], checked: str | None, status: RunStatus
) -> None:
    state: dict[str, Any] = {"question": "When?", "attempts": [one.to_json() for one in attempts]}
    state |= {"checked": checked} if checked else {}

    assert run_of({**state, "flipped": False}).status is status
    assert run_of(state).status is RunStatus.UNFINISHED, "the last step has not been taken"


def test_a_run_whose_documents_have_no_numbers_yet_has_none() -> None:
    given = {"question": "When?", "documents": [{"text": "In 1871."}]}
    numbered = {"number": 1, "text": "In 1871."}

    assert run_of(given).documents == ()
    assert [d.number for d in run_of({**given, "run_id": "r", "documents": [numbered]}).documents]


async def test_a_claim_that_documents_refute_and_the_answer_still_makes_is_noted() -> None:
    policy = ("conflict", "refuted")
    other = claim_with("+++", "It is red.", number=2)
    refuted = scored(claim_with("--0", "It was lit."), other, policy=policy)
    [single] = (await noted(refuted, question="When?"))[1:]
    other = claim_with("---", "It is red.", number=2)
    both = scored(claim_with("--0"), other, policy=policy)
    [several] = (await noted(both, question="When?"))[1:]

    refusal = "documents 1, 2 contradict “It was lit.”, and none supports it, but the answer"
    assert single == f"{refusal} still says it"
    assert several == f"{refusal} still says it (1 more such claim)"
    assert await noted(AGREED, question="When?") == ["the first note"]
    assert await noted(refuted) == ["the first note"], "the scores of a scored answer mark them"


async def noted(report: Any, **fields: Any) -> list[str]:
    state: Any = {
        "attempts": [attempt(report).to_json()],
        "notes": ["the first note"],
        "run_id": "run-7",
        "draft": attempt(report).answer.to_json(),
        "documents": [],
        "changes": [],
        **fields,
    }
    notes: list[str] = (await record(state, running(setting(labeler=Judge()))))["notes"]
    return notes
