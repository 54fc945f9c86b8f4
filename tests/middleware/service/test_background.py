"""Work after the response: what is taken, what waits, and what becomes of it at the end."""

import asyncio

from conflictscore.middleware.service.background import Background


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
