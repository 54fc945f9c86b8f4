"""Whether the models behind the service can be asked."""

import asyncio
import time
from collections.abc import Sequence

import openai

from conflictscore.models.language_model import LanguageModel

__all__ = ["Readiness"]

_GOOD_FOR_S = 10.0
_WAIT_S = 5.0
_OK = "ok"


class Readiness:
    """Asks each endpoint for its models, which costs no tokens, at most once in ten seconds.

    Args:
        lines: The answering model and the judge of each upstream, the fallbacks last.
    """

    def __init__(self, lines: Sequence[tuple[LanguageModel, LanguageModel]]) -> None:
        self._lines = lines
        self._told: dict[str, str] = {}
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def told(self) -> dict[str, str]:
        """What the endpoints say: ``status``, and what stands for each model; no address or name.

        It is ``ready`` where the model and the judge of at least one upstream can be asked.
        """
        async with self._asking:  # many who ask at once get one answer
            if time.monotonic() >= self._until:
                self._told = await self._ask()
                self._until = time.monotonic() + _GOOD_FOR_S
        return self._told

    async def _ask(self) -> dict[str, str]:
        models = {id(model): model for line in self._lines for model in line}
        said = dict(zip(models, await asyncio.gather(*map(_said, models.values())), strict=True))
        good = any(all(said[id(model)] == _OK for model in line) for line in self._lines)
        told = {"status": "ready" if good else "not ready"}
        for number, (upstream, judge) in enumerate(self._lines):
            name = f"fallback_{number}" if number else "upstream"
            told[name] = said[id(upstream)]
            told[f"{name}_judge" if number else "judge"] = said[id(judge)]
        return told


async def _said(model: LanguageModel) -> str:
    client = getattr(model.chat, "root_async_client", None)
    if model.is_local or client is None:
        return _OK  # started when it is needed; or no OpenAI-compatible endpoint to ask
    try:
        await client.with_options(timeout=_WAIT_S, max_retries=0).models.list()
    except (openai.AuthenticationError, openai.PermissionDeniedError):
        return "refuses this service's key"
    except openai.APIStatusError as error:
        # most other errors say that it keeps no such list, which is no reason not to ask it
        busy = error.status_code == 429 or error.status_code >= 500
        return f"answers HTTP {error.status_code}" if busy else _OK
    except openai.OpenAIError:
        return "cannot be reached"
    return _OK
