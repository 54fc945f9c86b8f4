import asyncio
import re
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.errors import ConfigurationError, ConflictScoreError, FailureKind, ProviderError
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.protocol import Pair
from conflictscore.labelers.table import label_table, most_overlapping, overlap_scores
from conflictscore.metric import conflict_report
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply, script, then
from tests.labelers.judging import PROMPTS, claim, document, letter
from tests.models.calling import calling

CLAIMS = [claim("It was lit in 1871.", 1), claim("It was lit in 1874.", 2)]
DOCUMENTS = [
    document("The lamp was lit in 1871.", 1),
    document("The log says 1874.", 2),
    document("The tower is white.", 3),
]
SUPPORTS, CONTRADICTS, IRRELEVANT = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT


def between(text: str, mark: str) -> str:
    [inside] = re.findall(rf"<{mark}\b[^>]*>\n(.*)\n</{mark}\b[^>]*>", text, re.DOTALL)
    return str(inside)


def by_year(request: ChatRequest) -> Reply:
    """Judges by comparing years."""
    said = re.search(r"\d{4}", between(request.prompt, "document"))
    claimed = re.search(r"\d{4}", between(request.prompt, "claim"))
    assert claimed is not None
    if said is None:
        return letter("C")
    return letter("A" if said[0] == claimed[0] else "B")


async def table(
    judge: Any, claims: list[Claim] = CLAIMS, documents: list[Document] = DOCUMENTS, **options: Any
) -> list[list[EvidenceLabel]]:
    rows = await label_table(
        judge, claims, documents, **{"meter": UsageMeter(), "cache": None, **options}
    )
    assert [row.claim for row in rows] == claims
    return [list(row.labels) for row in rows]


def labels(rows: list[list[EvidenceLabel]]) -> list[list[Label]]:
    return [[pair.label for pair in row] for row in rows]


class TestTable:
    @pytest.mark.parametrize("turn", [1, -1])
    async def test_each_claim_gets_one_label_a_document_in_the_callers_order(
        self, turn: int
    ) -> None:
        with OpenAIServer(by_year) as server:
            judge = ChoiceJudge(calling(server), PROMPTS)
            rows = await table(judge, CLAIMS[::turn], DOCUMENTS[::turn])
        first = [SUPPORTS, CONTRADICTS, IRRELEVANT], [CONTRADICTS, SUPPORTS, IRRELEVANT]
        assert labels(rows) == [row[::turn] for row in first][::turn]
        assert [[(p.claim, p.document) for p in row] for row in rows] == [
            [(of, number) for number in (1, 2, 3)[::turn]] for of in (1, 2)[::turn]
        ]

    @pytest.mark.parametrize(("most", "asked"), [(6, "++"), (5, "+?"), (3, "+?"), (2, "/?")])
    async def test_claims_and_documents_make_at_most_max_pairs_pairs(
        self, most: int, asked: str
    ) -> None:
        with OpenAIServer(by_year) as server:
            judge = ChoiceJudge(calling(server), PROMPTS)
            rows = await table(judge, CLAIMS, DOCUMENTS, max_pairs=most)
        left_out = [[pair.label is Label.UNLABELLED for pair in row] for row in rows]
        marks = {0: "+", 1: "/", 3: "?"}
        assert "".join(marks[sum(row)] for row in left_out) == asked
        unlabelled = [pair for row in rows for pair in row if pair.label is Label.UNLABELLED]
        assert len(server.requests) == 6 - len(unlabelled) <= most
        assert {pair.failure for pair in unlabelled} <= {FailureKind.LEFT_OUT}
        assert all("more pairs of a claim and a document" in str(p.error) for p in unlabelled)

    async def test_of_two_limits_the_one_that_leaves_a_claim_out_is_named(self) -> None:
        for limits, name in (((1, 3), "max_claims"), ((2, 3), "max_pairs")):
            with OpenAIServer(by_year) as server:
                judge = ChoiceJudge(calling(server), PROMPTS)
                rows = await table(
                    judge, CLAIMS, DOCUMENTS, max_claims=limits[0], max_pairs=limits[1]
                )
            assert name in str(rows[1][0].error)

    async def test_pairs_go_out_document_by_document(self) -> None:
        with OpenAIServer(by_year) as server:
            await table(ChoiceJudge(calling(server, limit=ConcurrencyLimit(1)), PROMPTS))
        asked = [
            (between(r.prompt, "document"), between(r.prompt, "claim")) for r in server.requests
        ]
        assert asked == [(d.text, c.text) for d in DOCUMENTS for c in CLAIMS]

    @pytest.mark.parametrize(
        ("claims", "documents", "expected"), [([], DOCUMENTS, []), (CLAIMS, [], [[], []])]
    )
    async def test_nothing_to_judge_costs_nothing(
        self, claims: list[Claim], documents: list[Document], expected: list[list[Label]]
    ) -> None:
        with OpenAIServer(script()) as server:
            rows = await table(ChoiceJudge(calling(server), PROMPTS), claims, documents)
        assert labels(rows) == expected
        assert server.requests == []

    async def test_pairs_with_the_same_content_are_judged_once_and_each_is_reported(self) -> None:
        told: list[EvidenceLabel] = []
        meter = UsageMeter()
        claims = [*CLAIMS, claim(CLAIMS[0].text, 3)]
        again = document(DOCUMENTS[0].text, 4)
        elsewhere = again.model_copy(update={"number": 5, "url": "https://copy.test"})
        with OpenAIServer(by_year) as server:
            rows = await table(
                ChoiceJudge(calling(server), PROMPTS),
                claims,
                [*DOCUMENTS, again, elsewhere],
                meter=meter,
                on_label=told.append,
            )
        assert len(server.requests) == meter.usage.calls == 6
        assert labels(rows)[2] == [SUPPORTS, CONTRADICTS, IRRELEVANT, SUPPORTS, SUPPORTS]
        assert [pair.document for pair in rows[2]] == [1, 2, 3, 4, 5]
        assert {pair.claim for pair in rows[2]} == {3}
        assert len({(pair.claim, pair.document) for pair in told}) == len(told) == 15


class TestFailure:
    async def test_a_pair_that_fails_is_unlabelled_with_its_error_and_leaves_the_others(
        self,
    ) -> None:
        def failing(request: ChatRequest) -> Reply | Fault:
            broken = "log says" in request.prompt and "in 1871" in request.prompt
            return Fault(500, message="out of memory") if broken else by_year(request)

        with OpenAIServer(failing) as server:
            rows = await table(ChoiceJudge(calling(server), PROMPTS))
        assert labels(rows) == [
            [SUPPORTS, Label.UNLABELLED, IRRELEVANT],
            [CONTRADICTS, SUPPORTS, IRRELEVANT],
        ]
        failed = rows[0][1]
        assert (failed.claim, failed.document, failed.score) == (1, 2, None)
        assert failed.error is not None
        assert "test-model failed with HTTP 500" in failed.error
        assert "out of memory" in failed.error

    async def test_the_error_of_a_wrong_setting_drags_no_group_of_errors_behind_it(self) -> None:
        with OpenAIServer(lambda request: "A") as server:
            judge = ChoiceJudge(calling(server), PROMPTS)
            with pytest.raises(ConfigurationError, match="no log-prob") as caught:
                await table(judge, documents=[document(f"1871, {n}", n) for n in (1, 2)])
        assert "Group" not in "".join(traceback.format_exception(caught.value))

    async def test_a_wrong_setting_is_not_tried_again_for_every_pair(self) -> None:
        with OpenAIServer(by_year, api_key="another") as server:
            judge = ChoiceJudge(calling(server, limit=ConcurrencyLimit(1)), PROMPTS)
            with pytest.raises(ConfigurationError):
                await table(judge, documents=[document(f"1871, {n}", n) for n in range(1, 30)])
        assert len(server.requests) < 5


class TestCache:
    @pytest.mark.parametrize(
        ("the_claim", "the_document", "cached"),
        [
            (claim(CLAIMS[0].text, 4), DOCUMENTS[0].model_copy(update={"number": 9}), True),
            (CLAIMS[0], DOCUMENTS[0].model_copy(update={"url": "https://moved.test"}), True),
            (claim("It was lit in 1871"), DOCUMENTS[0], False),
            (CLAIMS[0], document("The lamp was lit in 1871"), False),
            (CLAIMS[0], document("The lamp was lit in 1871.", title="Gazette"), False),
        ],
        ids=["numbers", "address", "claim", "text", "title"],
    )
    async def test_another_claim_text_or_title_is_judged_again_but_another_number_is_not(
        self, cache: ContentCache, the_claim: Claim, the_document: Document, cached: bool
    ) -> None:
        with OpenAIServer(by_year) as server:
            judge = ChoiceJudge(calling(server), PROMPTS)
            await table(judge, CLAIMS[:1], DOCUMENTS[:1], cache=cache)
            [[again]] = await table(judge, [the_claim], [the_document], cache=cache)
        place = (the_claim.number, the_document.number)
        assert (again.claim, again.document, again.cached) == (*place, cached)
        assert len(server.requests) == (1 if cached else 2)

    async def test_a_verdict_is_kept_at_once_also_where_another_pair_ends_the_table(
        self, cache: ContentCache
    ) -> None:
        with OpenAIServer(then(by_year, Fault(401), by_year)) as server:
            judge = ChoiceJudge(calling(server, limit=ConcurrencyLimit(1)), PROMPTS)
            with pytest.raises(ConfigurationError):
                await table(judge, CLAIMS[:1], DOCUMENTS, cache=cache)
            [row] = await table(judge, CLAIMS[:1], DOCUMENTS, cache=cache)
        assert [pair.cached for pair in row] == [True, False, False]


class InOrder:
    """Says IRRELEVANT, and remembers the order of the pairs."""

    name = "in order"
    identity = None

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        self.asked.append((claim.number, document.number))
        return EvidenceLabel(claim=claim.number, document=document.number, label=IRRELEVANT)


class Stuck(InOrder):
    """Never comes back with a verdict on the second document."""

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        if document == DOCUMENTS[1]:
            await asyncio.Event().wait()
        return await super().label(claim, document, meter)


class Broken(InOrder):
    """Fails with an error that no judge of this package raises."""

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        raise TimeoutError("the socket gave up")


class TestLimits:
    async def test_with_a_time_limit_the_pairs_that_are_likely_to_tell_most_go_first(self) -> None:
        judge = InOrder()
        claims = [claim("The tower is white.", 1), claim("The log says 1874.", 2)]
        await table(judge, claims, seconds=60)
        assert set(judge.asked[:2]) == {(1, 3), (2, 2)}
        assert len(judge.asked) == 6

    async def test_no_time_leaves_out_every_pair_and_says_so(self) -> None:
        judge = InOrder()
        told: list[EvidenceLabel] = []
        rows = await table(judge, seconds=0, on_label=told.append)
        failures = {pair.failure for row in rows for pair in row}
        assert failures == {FailureKind.LEFT_OUT}
        assert judge.asked == []
        assert len(told) == 6

    async def test_pairs_that_are_not_done_in_time_are_left_out_and_the_others_kept(self) -> None:
        rows = await table(Stuck(), seconds=0.5)
        assert [[pair.failure for pair in row] for row in rows] == [
            [None, FailureKind.LEFT_OUT, None]
        ] * 2

    @pytest.mark.parametrize("seconds", [None, 60])
    async def test_a_judge_that_times_out_by_itself_has_not_used_up_the_time(
        self, seconds: float | None
    ) -> None:
        with pytest.raises(TimeoutError, match="the socket gave up"):
            await table(Broken(), seconds=seconds)


# Pairs that are labelled first if not all can be


def test_a_word_that_every_document_has_tells_next_to_nothing() -> None:
    documents = [document(f"The lamp of {place}.", n) for n, place in enumerate(["Ely", "Rye"], 1)]
    [row] = overlap_scores([claim("The lamp of Ely.")], documents)
    assert row[0] > row[1]
    assert row[1] > 0


def test_a_claim_that_two_documents_cover_comes_before_one_that_one_covers() -> None:
    assert most_overlapping([[0.9, 0.0], [0.6, 0.6], [0.0, 0.1]], 1) == [1]


def test_claims_keep_their_order() -> None:
    assert most_overlapping([[0.1], [0.9], [0.2], [0.8]], 3) == [1, 2, 3]


@given(st.lists(st.text(max_size=40), max_size=4), st.lists(st.text(max_size=40), max_size=4))
def test_every_pair_has_a_number_from_0_to_1(claims: list[str], texts: list[str]) -> None:
    documents = [document(text, number) for number, text in enumerate(texts, 1)]
    rows = overlap_scores([claim(text) for text in claims], documents)
    assert [len(row) for row in rows] == [len(texts)] * len(claims)
    assert all(0 <= number <= 1 + 1e-9 for row in rows for number in row)


# A judge that takes many pairs at once

TWO = DOCUMENTS[:2]


class Clerk:
    """Compares years, from the last pair to the first, and stops where told.

    It gives no verdict on pairs in ``silent``, reports that it cannot judge pairs in ``puzzled``,
    and ends with ``error`` if set.
    """

    name = "clerk"
    identity = {"labeler": "clerk"}  # noqa: RUF012 - as in the protocol

    def __init__(
        self,
        *,
        silent: Sequence[tuple[int, int]] = (),
        puzzled: Sequence[tuple[int, int]] = (),
        error: ConflictScoreError | None = None,
    ) -> None:
        self._silent, self._puzzled, self._error = silent, puzzled, error
        self.asked: list[list[tuple[int, int]]] = []

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        raise AssertionError("asked for one pair")

    async def label_all(
        self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Callable[[EvidenceLabel], None]
    ) -> None:
        self.asked.append([(of.number, text.number) for of, text in pairs])
        for of, text in reversed(pairs):
            place = (of.number, text.number)
            if place in self._silent:
                continue
            label = SUPPORTS if of.text[-5:-1] in text.text else CONTRADICTS
            error = "puzzled" if place in self._puzzled else None
            if error:
                label = Label.UNLABELLED
            on_label(EvidenceLabel(claim=of.number, document=text.number, label=label, error=error))
        if self._error:
            raise self._error


async def test_a_pair_that_it_says_nothing_of_is_unlabelled() -> None:
    rows = await table(Clerk(silent=[(1, 2)]), documents=TWO)
    assert [[pair.error for pair in row] for row in rows] == [
        [None, "the labeler returned no label"],
        [None, None],
    ]


async def test_a_pair_that_it_could_not_judge_is_tried_again_another_time(
    cache: ContentCache,
) -> None:
    rows = await table(Clerk(puzzled=[(2, 1)]), documents=TWO, cache=cache)
    assert [[pair.error for pair in row] for row in rows] == [[None, None], ["puzzled", None]]
    judge = Clerk()
    rows = await table(judge, documents=TWO, cache=cache)
    assert judge.asked == [[(2, 1)]]
    assert rows[1][0].label is CONTRADICTS


async def test_if_it_fails_reported_labels_are_kept_and_the_rest_is_unlabelled(
    cache: ContentCache,
) -> None:
    error = ProviderError("the endpoint is down", provider="test")
    rows = await table(Clerk(silent=[(1, 1), (2, 1)], error=error), documents=TWO, cache=cache)
    assert [[pair.error for pair in row] for row in rows] == [["the endpoint is down", None]] * 2
    judge = Clerk()
    await table(judge, documents=TWO, cache=cache)
    assert judge.asked == [[(1, 1), (2, 1)]]


class Unsure(InOrder):
    """A user's labeler that fails on all but one pair, with its own error messages."""

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        if (claim.number, document.number) != (1, 1):
            raise ProviderError("my model wrote nonsense", provider="mine")
        return await super().label(claim, document, meter)


async def test_a_labeler_of_ones_own_that_fails_on_most_pairs_gives_no_score() -> None:
    rows = await label_table(Unsure(), CLAIMS, DOCUMENTS, meter=UsageMeter())
    assert conflict_report(rows).cs_c is None
