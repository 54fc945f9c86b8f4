"""What comes out of parallel work that fails."""

import asyncio

import pytest
from langgraph.errors import GraphInterrupt

from conflictscore.errors import BudgetError, ConfigurationError, ProviderError
from conflictscore.middleware.entrypoints import PassedOnError
from conflictscore.threads import together


async def run(*errors: Exception | None) -> None:
    """Work side by side, each piece of which ends in an error, or not."""

    async def work(error: Exception | None) -> None:
        await asyncio.sleep(0)
        if error is not None:
            raise error

    async with together() as start:
        for error in errors:
            start(lambda error=error: work(error))  # type: ignore[misc]


INTERRUPT = GraphInterrupt(())
FOREIGN = PermissionError("over budget")
OURS = ProviderError("it failed", provider="test")
SETTING = ConfigurationError("wrong")
BUDGET = BudgetError(kind="calls", spent=1, limit=1)
PASSED_ON = PassedOnError(GraphInterrupt(()))


@pytest.mark.parametrize(
    ("errors", "raised"),
    [
        ([FOREIGN], FOREIGN),
        ([None, OURS, None], OURS),
        ([OURS, SETTING], OURS),
        ([OURS, FOREIGN, INTERRUPT], INTERRUPT),
        ([FOREIGN, PASSED_ON], PASSED_ON),
        ([SETTING, FOREIGN], FOREIGN),
        ([BUDGET, None], BUDGET),
        ([BUDGET, FOREIGN], FOREIGN),
    ],
    ids=repr,
)
async def test_one_error_comes_out_as_itself(
    errors: list[Exception | None], raised: Exception
) -> None:
    with pytest.raises(type(raised)) as caught:
        await run(*errors)
    assert caught.value is raised


async def test_an_error_keeps_its_own_cause() -> None:
    outer = ValueError("outer")
    outer.__cause__ = KeyError("inner")
    with pytest.raises(ValueError, match="outer") as caught:
        async with together() as start:
            start(lambda: run(outer))
    assert isinstance(caught.value.__cause__, KeyError)
