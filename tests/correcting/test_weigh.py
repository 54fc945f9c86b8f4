"""Weighing: blind, in both orders, on a ground; dates decide if a question is about the present."""

from datetime import date
from typing import Any

import pytest

from conflictscore.correcting.vote import tallied
from conflictscore.correcting.weigh import date_of, newer_side, read_ruling, weigh
from conflictscore.errors import ProviderError
from conflictscore.loop.state import Reader
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Document, Ground, Weighing
from tests.correcting.helpers import Replies, documents_with
from tests.nodes.steps import PROMPTS, claim_with

QUESTION = "When was the lamp lit?"
DOCUMENTS = documents_with(
    *("Lit in 1871.", "Lit in 1871, they say.", "Log: lit tonight, 1874.", "We lit it in 1874."),
    title=("Guide", "Forum", "Log", "Report"),
)


def replies(prompt: str, first: str, second: str) -> str:
    """One reply if 1874 is statement A, and the other if it is B."""
    return (
        first
        if "1874" in prompt.partition("Statement B:")[0].partition("Statement A:")[2][:80]
        else second
    )


async def weighed(
    model: Any,
    question: str = QUESTION,
    documents: list[Document] = DOCUMENTS,
    sides: tuple[str, str] = ("++--", "--++"),
) -> Weighing:
    claims = [claim_with(sides[0], "Lit in 1871."), claim_with(sides[1], "Lit in 1874.")]
    candidates = tallied(claims, [(), (len(documents) - 1,)])
    reader = Reader(model, PROMPTS, UsageMeter())
    return await weigh(question, candidates, (0, 1), documents, reader)


def said(side: str, ground: str = "PRIMARY") -> str:
    return f"SIDE: {side}\nGROUND: {ground}\nREASON: It was there (Doc 3)."


async def test_the_same_side_in_both_orders_decides() -> None:
    model = Replies(lambda prompt: replies(prompt, said("A"), said("B", "EXPLAINS")))

    made = await weighed(model)

    assert (made.chosen, made.ground) == (1, Ground.EXPLAINS), "the ground of the first order"
    assert [ruling.shown for ruling in made.rulings] == [(0, 1), (1, 0)]
    assert [ruling.reason for ruling in made.rulings] == ["It was there (Doc 3)."] * 2
    for prompt in model.asked:
        assert "earlier" not in prompt.casefold().replace("an earlier state", "")
        assert prompt.index('(Guide): "Lit in 1871."')
        assert prompt.index('(Log): "Log: lit tonight, 1874."')


@pytest.mark.parametrize(
    ("when_first", "when_second"),
    [
        (said("A"), said("A")),  # whichever is shown first
        (said("A"), said("NEITHER")),
        (said("A", "NUMBER"), said("B", "NUMBER")),
        (said("A"), said("B", "NUMBER")),
        (said("A", "NEWER"), said("B", "NEWER")),  # the question asks for no current state
        (said("A", "GUT FEELING"), said("B", "GUT FEELING")),
    ],
)
async def test_nothing_else_does(when_first: str, when_second: str) -> None:
    made = await weighed(Replies(lambda prompt: replies(prompt, when_first, when_second)))

    assert (made.chosen, made.ground) == (None, None)


@pytest.mark.parametrize(
    ("first", "asked"),
    [(said("NEITHER"), 1), (said("A", "NUMBER"), 1), (said("A"), 2), (said("B", "EXPLAINS"), 2)],
)
async def test_the_second_order_is_asked_only_if_the_first_could_decide(
    first: str, asked: int
) -> None:
    model = Replies(lambda _: first)

    made = await weighed(model)

    assert len(model.asked) == len(made.rulings) == asked


async def test_a_judge_that_fails_decides_nothing() -> None:
    made = await weighed(Replies(lambda _: ProviderError("it is down", provider="judge")))

    assert made.chosen is None
    assert [ruling.error for ruling in made.rulings] == ["it is down"]


@pytest.mark.parametrize(
    ("dates", "question", "chosen"),
    [
        (("2001", "2003-05", "2019-01-02", "2020"), "Who is the current keeper?", 1),
        (("2019", "2020", "2001", "2003"), "Who keeps it now?", 0),
        (("2001", "2019", "2018", "2020"), "Who is the current keeper?", None),  # not distinguished
        (("2001", "", "2019", "2020"), "Who is the current keeper?", None),
        (("2001", "2003", "2019", "2020"), "When was it lit?", None),
    ],
)
async def test_dates_decide_alone_where_they_tell_the_sides_apart(
    dates: tuple[str, ...], question: str, chosen: int | None
) -> None:
    model = Replies(lambda _: said("NEITHER"))
    documents = documents_with("a", "b", "c", "d", metadata=[{"date": day} for day in dates])

    made = await weighed(model, question, documents)

    assert (made.chosen, made.by_date) == (chosen, chosen is not None)
    assert len(model.asked) == (0 if made.by_date else 1)
    offered = ["NEWER" in prompt for prompt in model.asked]
    assert offered == ["current" in question] * len(model.asked)


def test_dates_of_all_kinds_are_read_or_left() -> None:
    days = ("2019-13-40", "in 2019", "20191", "", "2019-02-03T10:00:00Z")
    known = [date_of(d) for d in documents_with(*days, metadata=[{"date": day} for day in days])]

    assert [day and day.isoformat() for day in known] == [
        None,
        "2019-01-01",
        None,
        None,
        "2019-02-03",
    ]


@pytest.mark.parametrize("told", ["May 3, 2019", "3 May 2019", "Fri, 03 May 2019 10:00:00 GMT"])
def test_a_date_in_words_is_read(told: str) -> None:
    [document] = documents_with("a", metadata=[{"date": told}])

    assert date_of(document) == date(2019, 5, 3)


@pytest.mark.parametrize(
    "told", ["2999-01-01", "9999", "room 1871", "see note 1871", "Foo 3, 2019"]
)
def test_a_date_of_the_future_and_a_number_in_a_phrase_are_none(told: str) -> None:
    [document] = documents_with("a", metadata=[{"date": told}])

    assert date_of(document) is None


def test_a_date_that_the_page_itself_states_decides_nothing() -> None:
    [document] = documents_with("a", metadata=[{"date": "2019", "date_from": "page"}])

    assert date_of(document) is None


async def test_dates_never_overrule_more_witnesses() -> None:
    days = ("2001", "2003", "2004", "2019")
    documents = documents_with("a", "b", "c", "d", metadata=[{"date": day} for day in days])
    model = Replies(lambda _: said("NEITHER"))

    question, sides = "Who is the current keeper?", ("+++-", "---+")
    outnumbered = await weighed(model, question, documents, sides)

    assert (outnumbered.chosen, outnumbered.by_date) == (None, False)


def test_a_reason_is_plain_words_and_a_reply_without_a_side_is_refused() -> None:
    reason = "REASON: See ![x](https://evil.test/?q=1) <b>it</b>"
    reply = f"**SIDE:** Statement B\nGROUND: specific.\n{reason}"

    ruling = read_ruling(reply, Ground)

    assert (ruling.side, ruling.ground) == (1, Ground.SPECIFIC)
    assert ruling.reason is not None
    assert "evil" not in ruling.reason
    assert "<" not in ruling.reason
    with pytest.raises(ValueError, match="SIDE"):
        read_ruling("I prefer A.", Ground)


async def test_no_side_shows_more_than_four_documents_nor_a_long_one_whole() -> None:
    texts = [f"Page {n}. " + "Much else is said here. " * 200 + "Lit in 1871." for n in range(9)]
    model = Replies(lambda _: said("NEITHER"))

    await weighed(model, QUESTION, documents_with(*texts), ("+++++++--", "-------++"))

    assert model.asked[0].count("- Document") == 6
    assert len(model.asked[0]) < 6 * 1200 + 3000


def test_a_year_or_month_may_be_any_of_its_days() -> None:
    documents = documents_with(
        *"abc", metadata=[{"date": day} for day in ("2021", "2021-03-05", "2022-01")]
    )
    by_number = {document.number: document for document in documents}

    assert newer_side(([1], [2]), by_number) is None
    assert newer_side(([1], [3]), by_number) == 1
    assert newer_side(([3], [1, 2]), by_number) == 0
