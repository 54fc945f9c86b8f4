"""Whether the models behind the service can be called."""

import asyncio
import time

import openai

from conflictscore.models.language_model import LanguageModel

__all__ = ["Readiness"]

_GOOD_FOR_S = 10.0
_WAIT_S = 5.0
_OK = "ok"


class Readiness:
    """Asks each endpoint for its models, which costs no tokens, at most every ten seconds."""

    def __init__(self, upstream: LanguageModel, judge: LanguageModel) -> None:
        self._upstream, self._judge = upstream, judge
        self._states: dict[str, str] = {}
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def states(self) -> dict[str, str]:
        """``ok``, or what is wrong, for the upstream and the judge; no address and no name."""
        async with self._asking:  # concurrent requests share one answer
            if time.monotonic() >= self._until:
                state = await _state_of(self._upstream)
                same = self._judge is self._upstream
                judges = state if same else await _state_of(self._judge)
                self._states = {"upstream": state, "judge": judges}
                self._until = time.monotonic() + _GOOD_FOR_S
        return self._states


async def _state_of(model: LanguageModel) -> str:
    client = getattr(model.chat, "root_async_client", None)
    if model.is_local or client is None:
        return _OK  # started when it is needed; or not an OpenAI-compatible endpoint
    try:
        listed = await client.with_options(timeout=_WAIT_S, max_retries=0).models.list()
    except (openai.AuthenticationError, openai.PermissionDeniedError):
        return "refuses this service's key"
    except openai.APIStatusError as error:
        # most other errors say that the endpoint has no such list, which does not make it unusable
        busy = error.status_code == 429 or error.status_code >= 500
        return f"answers HTTP {error.status_code}" if busy else _OK
    except openai.OpenAIError:
        return "cannot be reached"
    names = {str(getattr(one, "id", "")) for one in getattr(listed, "data", None) or ()}
    wanted = str(getattr(model.chat, "model_name", model.name))
    # Ollama lists "name:latest" for "name"
    known = not names or wanted in names or f"{wanted}:latest" in names
    return _OK if known else "does not list its model"
