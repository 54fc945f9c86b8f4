"""The table with a judge that takes many pairs at once."""

from collections.abc import Callable, Sequence

from conflictscore.errors import ConflictScoreError, ProviderError
from conflictscore.labelers.protocol import Pair
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from tests.labelers.judging import claim, document

CLAIMS = [claim("It was lit in 1871.", 1), claim("It was lit in 1874.", 2)]
DOCUMENTS = [document("The lamp was lit in 1871.", 1), document("The log says 1874.", 2)]
SUPPORTS, CONTRADICTS, UNLABELLED = Label.SUPPORTS, Label.CONTRADICTS, Label.UNLABELLED


class Clerk:
    """Compares years, last pair first, and stops where it is told to.

    It says nothing of the pairs in ``silent``, that it cannot judge those in ``puzzled``, and ends
    with ``error`` where there is one.
    """

    name = "clerk"
    identity = {"labeler": "clerk"}  # noqa: RUF012 - as the protocol has it

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
                label = UNLABELLED
            on_label(EvidenceLabel(claim=of.number, document=text.number, label=label, error=error))
        if self._error:
            raise self._error


async def table(
    judge: Clerk,
    cache: ContentCache | None = None,
    documents: Sequence[Document] = DOCUMENTS,
    told: Callable[[EvidenceLabel], None] = lambda label: None,
) -> list[list[EvidenceLabel]]:
    rows = await label_table(
        judge, CLAIMS, documents, meter=UsageMeter(), cache=cache, on_label=told
    )
    return [list(row.labels) for row in rows]


async def test_a_pair_that_it_says_nothing_of_is_unlabelled() -> None:
    rows = await table(Clerk(silent=[(1, 2)]))
    assert [[pair.error for pair in row] for row in rows] == [
        [None, "the labeler gave no label"],
        [None, None],
    ]


async def test_a_pair_that_it_could_not_judge_is_tried_again_another_time(
    cache: ContentCache,
) -> None:
    rows = await table(Clerk(puzzled=[(2, 1)]), cache)
    assert [[pair.error for pair in row] for row in rows] == [[None, None], ["puzzled", None]]
    judge = Clerk()
    rows = await table(judge, cache)
    assert judge.asked == [[(2, 1)]]
    assert rows[1][0].label is CONTRADICTS


async def test_where_it_fails_what_it_told_stands_and_the_rest_is_unlabelled(
    cache: ContentCache,
) -> None:
    error = ProviderError("the endpoint is down", provider="test")
    rows = await table(Clerk(silent=[(1, 1), (2, 1)], error=error), cache)
    assert [[pair.error for pair in row] for row in rows] == [["the endpoint is down", None]] * 2
    judge = Clerk()
    await table(judge, cache)
    assert judge.asked == [[(1, 1), (2, 1)]]
