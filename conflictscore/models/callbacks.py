"""LangChain's callbacks around a call: the meters of a run and any other listeners."""

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

_HIDDEN = ["nostream"]
"""Tag that keeps drafts and verdicts out of LangGraph's ``messages`` stream."""


def with_handler(
    callbacks: list[BaseCallbackHandler] | BaseCallbackManager | None, handler: BaseCallbackHandler
) -> list[BaseCallbackHandler] | BaseCallbackManager:
    """The callbacks with one added; the given collection is not changed."""
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(handler)
        return manager
    return [*(callbacks or []), handler]


def hidden_config(meter: BaseCallbackHandler) -> RunnableConfig:
    """The config around the call with the meter added, and hidden from LangGraph's stream.

    Done by hand, since LangChain's merging costs as much as everything else around a call.
    """
    config = ensure_config()
    config["callbacks"] = with_handler(config.get("callbacks"), meter)
    config["tags"] = [*config.get("tags", []), *_HIDDEN]
    return config
