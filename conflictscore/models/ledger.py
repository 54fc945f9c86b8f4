"""Cost of the models of a run, call by call, with their budget."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from conflictscore.errors import BudgetError, ConfigurationError
from conflictscore.models.callbacks import with_handler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.prices import PriceTable
from conflictscore.models.usage import KEPT_CALLS, UsageMeter
from conflictscore.records import Usage

_STEPS: ContextVar[tuple[dict[str, Usage], ...]] = ContextVar("conflictscore_steps", default=())
"""Collector of the calls made here; tasks and threads inherit it from their creator."""


class Ledger:
    """Adds up what every call to the attached models costs, and refuses calls beyond the budget.

    A call is refused before it is made, by :class:`~conflictscore.errors.BudgetError`, once usage
    has reached a limit. The tokens of a call are known when it is answered, so a run exceeds a
    budget of tokens by at most the calls in flight. A budget of calls is never exceeded: calls
    count as they are sent, even if they fail.
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        prices: PriceTable | None = None,
        spent: Mapping[str, Usage] | None = None,
    ) -> None:
        """Open a ledger; a limit is for all models together, and None means no limit.

        ``spent`` is earlier usage of the run, by the model's name, and counts.
        """
        self._max_calls, self._max_tokens, self._prices = max_calls, max_tokens, prices
        self._spent = dict(spent or {})
        self._sent = sum(usage.calls for usage in self._spent.values())
        self._endpoints: dict[str, str] = {}
        self._silent = next((m for m, u in self._spent.items() if _unreported(u)), None)
        self._lock = threading.Lock()

    @property
    def spent(self) -> dict[str, Usage]:
        """Usage so far by model name; a copy."""
        with self._lock:
            return dict(self._spent)

    @property
    def money(self) -> float | None:
        """US dollars spent so far; None if the cost of a model is not known."""
        if self._prices is None:
            return None
        return self._prices.cost(self.spent, endpoints=self._endpoints)[0]

    @contextmanager
    def step(self) -> Iterator[dict[str, Usage]]:
        """Count what the calls made inside cost, by the model's name.

        The calls of tasks and threads that are started inside count too, and so do those of steps
        inside, and with their former cost those that a cache answers.
        """
        usage: dict[str, Usage] = {}
        token, kept_calls_token = _STEPS.set((*_STEPS.get(), usage)), KEPT_CALLS.set(self.count)
        try:
            yield usage
        finally:
            _STEPS.reset(token)
            KEPT_CALLS.reset(kept_calls_token)

    def admit(self) -> None:
        """Let a call pass, which is about to be sent.

        Raises:
            BudgetError: The budget is used up.
            ConfigurationError: There is a budget of tokens, and a model reports none.
        """
        if self._max_tokens is not None:
            if self._silent is not None:
                raise ConfigurationError(
                    f"{self._silent} does not report its tokens, so no budget can be kept;"
                    " run without a budget of tokens, or use another model"
                )
            tokens = sum(usage.input_tokens + usage.output_tokens for usage in self.spent.values())
            if tokens >= self._max_tokens:
                raise BudgetError(kind="tokens", spent=tokens, limit=self._max_tokens)
        with self._lock:
            if self._max_calls is not None and self._sent >= self._max_calls:
                raise BudgetError(kind="calls", spent=self._sent, limit=self._max_calls)
            self._sent += 1

    def count(self, model: str, usage: Usage) -> None:
        """Add what a call to a model cost to the totals and to the steps that it is part of."""
        with self._lock:
            for account in (self._spent, *_STEPS.get()):
                account[model] = account.get(model, Usage()) + usage
            if _unreported(usage):
                self._silent = model

    def register(self, model: LanguageModel) -> None:
        """Register a model whose calls will be counted; see :func:`attach`.

        Two models of one name at two endpoints are counted as one, which has no published price.
        """
        endpoint = self._endpoints.setdefault(model.name, model.endpoint)
        if endpoint != model.endpoint:
            self._endpoints[model.name] = ""


def attach(model: LanguageModel, ledger: Ledger) -> LanguageModel:
    """The same model, with its calls counted in a ledger and held to its budget.

    Calls that the model's cache answers cost nothing and do not count. A client that tries a failed
    request again by itself, as a model of one's own may, does so within one attempt.
    """
    ledger.register(model)
    callbacks = with_handler(model.chat.callbacks, _Account(ledger, model.name))
    chat = model.chat.model_copy(update={"callbacks": callbacks})
    return replace(model, chat=chat, admit=ledger.admit)


class _Account(UsageMeter):
    """A meter that enters each call of a model in a ledger; its errors end the call."""

    raise_error = True

    def __init__(self, ledger: Ledger, model: str) -> None:
        super().__init__()
        self._ledger, self._model = ledger, model

    def count(self, usage: Usage) -> None:
        self._ledger.count(self._model, usage)


def _unreported(usage: Usage) -> bool:
    """Whether calls were answered without reporting tokens; every prompt has some."""
    return bool(usage.calls) and not usage.input_tokens
