"""Work after the response: what is taken, what waits, and what becomes of it at the end."""

import asyncio
from typing import Any

from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.table import label_table
from conflictscore.middleware.service.background import Background, PacedLabeler, paced
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label


class Work:
    """Jobs that wait to be let go, and what became of each."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.begun: list[int] = []
        self.done: list[int] = []
        self.stopped: list[int] = []
        self.given_up: list[int] = []
        self.waiting: list[int] = []
        self.background = Background(at_once=2, waiting=2, on_waiting=self.waiting.append)

    def offer(self, number: int) -> bool:
        return self.background.offer(lambda: self.job(number), lambda: self.given_up.append(number))

    async def job(self, number: int) -> None:
        self.begun.append(number)
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.stopped.append(number)
            raise
        self.done.append(number)


async def test_jobs_beyond_those_running_and_waiting_are_not_taken() -> None:
    work = Work()

    taken = [work.offer(number) for number in range(5)]
    await asyncio.sleep(0)

    assert taken == [True, True, True, True, False]
    assert work.begun == [0, 1]
    assert work.waiting[-1] == 2
    work.go_on.set()
    await work.background.close(10)
    assert (work.done, work.waiting[-1]) == ([0, 1, 2, 3], 0)


async def test_closing_lets_begun_jobs_finish() -> None:
    work = Work()
    for number in range(3):
        work.offer(number)
    closing = asyncio.create_task(work.background.close(10))
    await asyncio.sleep(0)
    work.go_on.set()

    await closing

    assert (work.done, work.stopped, work.given_up) == ([0, 1, 2], [], [])


async def test_jobs_that_outlast_the_grace_are_stopped_and_waiting_ones_given_up() -> None:
    work = Work()
    for number in range(4):
        work.offer(number)
    await asyncio.sleep(0)

    await work.background.close(0.01)

    assert sorted(work.stopped) == [0, 1]
    assert work.given_up == [2, 3]


async def test_a_job_that_fails_makes_room_for_the_next() -> None:
    work = Work()

    async def failing() -> None:
        raise RuntimeError

    for _ in range(2):
        work.background.offer(failing, lambda: None)
    work.offer(7)
    work.go_on.set()
    await work.background.close(10)

    assert work.done == [7]


class Clocked:
    """A labeler that notes when it was asked."""

    name = "clocked"
    identity = None

    def __init__(self) -> None:
        self.at: list[float] = []

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        self.at.append(asyncio.get_running_loop().time())
        return EvidenceLabel(claim=claim.number, document=document.number, label=Label.IRRELEVANT)


async def test_paced_labels_begin_apart_whoever_asks_for_them() -> None:
    clocked = Clocked()
    slow: Labeler = PacedLabeler(clocked, 0.02)
    claim, document = Claim(number=1, text="It is so."), Document(number=1, text="It is.")

    await asyncio.gather(*(slow.label(claim, document, UsageMeter()) for _ in range(4)))

    gaps = [after - before for before, after in zip(clocked.at, clocked.at[1:], strict=False)]
    assert len(gaps) == 3
    assert clocked.at[-1] - clocked.at[0] >= 0.055
    assert slow.name == "clocked"


def test_a_labeler_that_batches_is_not_taken_apart_into_single_calls() -> None:
    class Batching(Clocked):
        async def label_all(self, *given: Any) -> None:
            """Never called here."""

    clocked, batching = Clocked(), Batching()
    assert isinstance(paced(clocked, 0.02), PacedLabeler)
    assert paced(batching, 0.02) is batching


async def test_of_a_cascade_the_judge_is_paced() -> None:
    unsure, clocked = Clocked(), Clocked()
    slow = paced(Cascade(unsure, clocked), 0.02)
    documents = [Document(number=n, text=f"It is {n}.") for n in range(1, 5)]

    await label_table(slow, [Claim(number=1, text="It is so.")], documents, meter=UsageMeter())

    for asked in (unsure, clocked):
        assert len(asked.at) == 4
        assert asked.at[-1] - asked.at[0] >= 0.055
    assert slow.name == "cascade(clocked, clocked)"
