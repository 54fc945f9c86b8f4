"""Every error a caller can meet, as one tree.

```
ConflictScoreError                 one clear line, safe to show: it never carries a secret
├── InputError                     what the caller gave cannot be used; exit code 2
│   ├── ConfigurationError         a missing or wrong setting, key, model name or extra
│   │   └── ContextWindowError     a model's context window is too small for what it must read
│   └── NoDocumentsError           nothing was found to answer from
├── ProviderError                  a model or a search engine failed after its retries; exit code 1
│   ├── QuotaError                 its quota or credit is used up; asking again now cannot help
│   └── UnreadableReplyError       a model answered, and its reply does not have the asked form
└── BudgetError                    the caller's own budget is used up; exit code 3
```
"""

from typing import Literal

__all__ = [
    "UNREADABLE",
    "BudgetError",
    "ConfigurationError",
    "ConflictScoreError",
    "ContextWindowError",
    "InputError",
    "NoDocumentsError",
    "ProviderError",
    "QuotaError",
    "UnreadableReplyError",
    "brief_reason",
    "install_hint",
]


class ConflictScoreError(Exception):
    """Base of all errors raised on purpose by this package."""

    exit_code = 1


class InputError(ConflictScoreError):
    """What the caller gave cannot be used: names the file, row and field, or the option."""

    exit_code = 2


class ConfigurationError(InputError):
    """A setting, key, model name or optional package is missing or wrong."""


class ContextWindowError(ConfigurationError):
    """A model's context window is too small for what it must read."""


class NoDocumentsError(InputError):
    """The retriever found nothing to answer from."""


class ProviderError(ConflictScoreError):
    """A model or search provider failed and its retries are used up.

    Attributes:
        provider: Who failed, such as ``"openai"`` or ``"google"``.
        status: The HTTP status, where there was one.
    """

    def __init__(self, message: str, *, provider: str, status: int | None = None) -> None:
        super().__init__(message)
        self.provider = provider
        self.status = status


class QuotaError(ProviderError):
    """The provider's quota or credit is used up; asking again now cannot help."""


UNREADABLE = "unreadable reply from "
"""How the message of an :class:`UnreadableReplyError` begins, and so the reason of its pair."""


class UnreadableReplyError(ProviderError):
    """A model replied, but not in the form it was asked for.

    Attributes:
        reason: What was wrong, in words that can be given back to the model.
        reply: What the model wrote; untrusted, and not part of the message.
        again: Whether the model may do better if it is asked again, told the reason.
    """

    def __init__(self, reason: str, *, provider: str, reply: str = "", again: bool = True) -> None:
        super().__init__(f"{UNREADABLE}{provider}: {reason}", provider=provider)
        self.reason = reason
        self.reply = reply
        self.again = again


class BudgetError(ConflictScoreError):
    """The budget of a run is used up; nobody failed, and what is done is kept.

    Attributes:
        kind: What the budget is in: ``"calls"``, ``"tokens"``, or ``"cost"`` in US dollars.
        spent: What was spent when the call was refused; calls in flight may go beyond the limit.
        limit: What may be spent.
    """

    exit_code = 3

    def __init__(
        self, *, kind: Literal["calls", "tokens", "cost"], spent: float, limit: float
    ) -> None:
        used = f"{spent:,.0f} of {limit:,.0f} {kind}"
        if kind == "cost":
            used = f"${spent:,.4f} of ${limit:,.4f}"
        super().__init__(
            f"the budget is used up ({used}); give a higher"
            f" max_{kind}: what is kept by now is not paid for again"
        )
        self.kind = kind
        self.spent = spent
        self.limit = limit


def brief_reason(error: Exception) -> str:
    """Why something failed; an error of another library may quote an address with a key in it."""
    return str(error) if isinstance(error, ConflictScoreError) else type(error).__name__


def install_hint(extra: str) -> str:
    """How an extra is installed where this package itself came from: an index, or a clone."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("conflictscore").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    if "dir_info" in origin:
        return f"pip install '.[{extra}]' in your clone of conflictscore"
    return f"pip install 'conflictscore[{extra}]'"
