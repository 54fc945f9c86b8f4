"""While several unreadable replies are asked for again, no other call is made."""

import asyncio

from conflictscore.errors import UnreadableReplyError
from conflictscore.models.breaker import CircuitBreaker


async def test_the_doubt_lasts_until_the_last_repeated_request_has_ended() -> None:
    breaker, in_doubt_after = CircuitBreaker(), list[bool]()

    async def ask_again() -> None:
        unreadable = UnreadableReplyError("it was not JSON", provider="test-model")
        try:
            async with breaker.again(unreadable):
                await asyncio.sleep(0)  # the others have replies to ask for again, too
                breaker.failed(unreadable)
                raise unreadable
        except UnreadableReplyError:
            in_doubt_after.append(breaker.in_doubt)

    await asyncio.gather(*(ask_again() for _ in range(3)))
    assert in_doubt_after == [True, True, False], "three alike failures settle it"
