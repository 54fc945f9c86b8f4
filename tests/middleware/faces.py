"""The ways to call a chat model, as coroutines: invoked or streamed, synchronously or not."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

Ask = Callable[..., Awaitable[Any]]


async def _invoke(model: Any, *args: Any, **kwargs: Any) -> Any:
    return model.invoke(*args, **kwargs)


async def _ainvoke(model: Any, *args: Any, **kwargs: Any) -> Any:
    return await model.ainvoke(*args, **kwargs)


async def _stream(model: Any, *args: Any, **kwargs: Any) -> Any:
    [chunk] = model.stream(*args, **kwargs)
    return chunk


async def _astream(model: Any, *args: Any, **kwargs: Any) -> Any:
    [chunk] = [chunk async for chunk in model.astream(*args, **kwargs)]
    return chunk


FACES = pytest.mark.parametrize("ask", [_invoke, _ainvoke, _stream, _astream])
BOTH = pytest.mark.parametrize("ask", [_invoke, _ainvoke])
