"""Passes LangChain callbacks, such as a run's meters, to the model calls."""

from collections.abc import Iterator
from contextlib import contextmanager

from langchain_core.callbacks import (
    BaseCallbackHandler,
    BaseCallbackManager,
    UsageMetadataCallbackHandler,
)
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    ensure_config,
    get_async_callback_manager_for_config,
    var_child_runnable_config,
)

from conflictscore.models.usage import UsageMeter

_HIDDEN = ["nostream"]
"""Tag that keeps drafts and verdicts out of LangGraph's ``messages`` stream."""


def with_handler(
    callbacks: list[BaseCallbackHandler] | BaseCallbackManager | None, handler: BaseCallbackHandler
) -> list[BaseCallbackHandler] | BaseCallbackManager:
    """Return a copy of the callbacks with a handler added; the caller's object stays as it is."""
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(handler)
        return manager
    return [*(callbacks or []), handler]


@contextmanager
def shared_callbacks() -> Iterator[None]:
    """Set up the callbacks of LangChain, such as tracers, once for all model calls of a block.

    LangGraph does the same at the start of a run. Without it, LangChain looks for tracers at each
    call, which takes as long as all other overhead of the call.
    """
    config = ensure_config()
    config["callbacks"] = get_async_callback_manager_for_config(config)
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def hidden_config(meter: BaseCallbackHandler) -> RunnableConfig:
    """Return the current config with the meter, and with a tag that hides calls from streams.

    The config is merged by hand, since LangChain's own merge takes as long as all other overhead of
    a call. The model adds the fields that are missing from it.
    """
    config = RunnableConfig(**(var_child_runnable_config.get() or {}))
    config["callbacks"] = with_handler(config.get("callbacks"), meter)
    config["tags"] = [*(config.get("tags") or []), *_HIDDEN]
    return config


def let_children_be_counted(run: BaseRunManager | None) -> None:
    """Hide the end of a call from token counters that also see the nested calls.

    The reply includes the tokens of the nested calls, so such a counter would count them twice.
    """
    if run is not None:
        run.handlers = [
            handler
            for handler in run.handlers
            if not (_adds_up_tokens(handler) and handler in run.inheritable_handlers)
        ]


def _adds_up_tokens(handler: BaseCallbackHandler) -> bool:
    # handlers in langchain_community, such as get_openai_callback's, have no common base class
    is_counter = isinstance(handler, UsageMeter | UsageMetadataCallbackHandler)
    return is_counter or hasattr(handler, "total_tokens")
