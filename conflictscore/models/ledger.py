"""Counts the cost of every model call in a run, and enforces the run's budget."""

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
"""Usage of each step in progress in this context; new tasks and threads inherit it."""


class Ledger:
    """Adds up the cost of all calls to the attached models, and refuses calls beyond the budget.

    Once usage has reached a limit, further calls are refused with
    :class:`~conflictscore.errors.BudgetError` before they are made. A call's tokens are known only
    once it is answered, so calls in flight can exceed a token budget. A call budget is never
    exceeded, since calls count when they are sent, even if they fail.
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        prices: PriceTable | None = None,
        spent: Mapping[str, Usage] | None = None,
    ) -> None:
        """Open a ledger. Limits apply to all models together; None means no limit.

        ``spent`` is earlier usage of the run, by model name. Earlier usage counts towards the
        limits.
        """
        self._max_calls, self._max_tokens, self._prices = max_calls, max_tokens, prices
        self._spent = dict(spent or {})
        self._sent = sum(usage.calls for usage in self._spent.values())
        self._endpoints: dict[str, str] = {}
        self._silent = next((m for m, u in self._spent.items() if _unreported(u)), None)
        self._lock = threading.Lock()  # calls in several threads count in one ledger

    @property
    def spent(self) -> dict[str, Usage]:
        """A copy of the usage so far, by model name."""
        with self._lock:
            return dict(self._spent)

    @property
    def money(self) -> float | None:
        """US dollars spent so far; None if the price of a model is unknown."""
        if self._prices is None:
            return None
        return self._prices.cost(self.spent, endpoints=self._endpoints)[0]

    @contextmanager
    def step(self) -> Iterator[dict[str, Usage]]:
        """Count the cost of the calls made inside the context, by model name.

        The count includes calls from nested tasks, threads and steps. Cached replies count at their
        original cost.
        """
        usage: dict[str, Usage] = {}
        token, kept_calls_token = _STEPS.set((*_STEPS.get(), usage)), KEPT_CALLS.set(self.count)
        try:
            yield usage
        finally:
            _STEPS.reset(token)
            KEPT_CALLS.reset(kept_calls_token)

    def admit(self) -> None:
        """Admit a call that is about to be sent.

        Raises:
            BudgetError: The budget is used up.
            ConfigurationError: There is a token budget, but a model does not report its tokens.
        """
        if self._max_tokens is not None:
            if self._silent is not None:
                raise ConfigurationError(
                    f"{self._silent} does not report its tokens, so a token budget "
                    "cannot be enforced; run without a budget, or use another model"
                )
            tokens = sum(usage.input_tokens + usage.output_tokens for usage in self.spent.values())
            if tokens >= self._max_tokens:
                raise BudgetError(kind="tokens", spent=tokens, limit=self._max_tokens)
        with self._lock:
            if self._max_calls is not None and self._sent >= self._max_calls:
                raise BudgetError(kind="calls", spent=self._sent, limit=self._max_calls)
            self._sent += 1

    def count(self, model: str, usage: Usage) -> None:
        """Add the cost of a call to the totals and to the steps it belongs to."""
        with self._lock:
            for account in (self._spent, *_STEPS.get()):
                account[model] = account.get(model, Usage()) + usage
            if _unreported(usage):
                self._silent = model

    def register(self, model: LanguageModel) -> None:
        """Register a model whose calls will be counted; see :func:`attach`.

        Two models with the same name at different endpoints are counted as one model, which has no
        published price.
        """
        endpoint = self._endpoints.setdefault(model.name, model.endpoint)
        if endpoint != model.endpoint:
            self._endpoints[model.name] = ""


def attach(model: LanguageModel, ledger: Ledger) -> LanguageModel:
    """Return the same model, with a ledger that counts its calls and enforces a budget.

    Calls answered from the model's cache cost nothing and do not count. If a client retries failed
    requests internally, as a caller's own model may, all its attempts are counted as one call.
    """
    ledger.register(model)
    callbacks = with_handler(model.chat.callbacks, _Account(ledger, model.name))
    chat = model.chat.model_copy(update={"callbacks": callbacks})
    return replace(model, chat=chat, admit=ledger.admit)


class _Account(UsageMeter):
    """A meter that records each call to a model in a ledger.

    An error in the meter makes the call fail.
    """

    raise_error = True

    def __init__(self, ledger: Ledger, model: str) -> None:
        super().__init__()
        self._ledger, self._model = ledger, model

    def count(self, usage: Usage) -> None:
        self._ledger.count(self._model, usage)


def _unreported(usage: Usage) -> bool:
    """Return whether calls were answered without reporting input tokens, which every prompt has."""
    return bool(usage.calls) and not usage.input_tokens
