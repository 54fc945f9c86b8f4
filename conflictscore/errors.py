"""Every error that callers can catch, as one tree.

```
ConflictScoreError                 one clear line, safe to show: it never carries a secret
├── ContextWindowError             a model's context window is too small for what it must read
├── InputError                     input that cannot be used; exit code 2
│   ├── ConfigurationError         a missing or wrong setting, key, model name or extra
│   └── NoDocumentsError           nothing was found to answer from
├── ProviderError                  a model or a search engine failed after its retries; exit code 1
│   ├── QuotaError                 its quota or credit is used up; asking again now cannot help
│   └── UnreadableReplyError       a model replied in another form than it was asked for
└── BudgetError                    the caller's own budget is used up; exit code 3
```
"""

import re
from collections.abc import Iterator
from typing import Literal

_SECRETS = re.compile(
    r"(?i)\b(?:sk|key|pk|rk)-[\w*.-]{4,}|\bbearer\s+\S+"
    r"|\bapi[_ -]?key(?:\W{1,4}(?:provided\W{1,3})?(?=\S{0,99}[\d*])\S{5,}|[\"']?\s?[:=]\s?\S+)"
)
_MESSAGE_CHARS = 300
_SECRET_CHARS = 6
"""A shorter one stands for no key, such as ``none``, and its letters may be part of any word."""


class ConflictScoreError(Exception):
    """Base of all errors raised on purpose by this package."""

    exit_code = 1


class InputError(ConflictScoreError):
    """The caller's input cannot be used. The message names file, row and field, or the option."""

    exit_code = 2


class ConfigurationError(InputError):
    """A setting, key, model name or optional package is missing or wrong."""


class ContextWindowError(ConflictScoreError):
    """A model's context window is too small for what it must read.

    It concerns one text, so unlike a wrong setting it ends no run over many.
    """

    exit_code = 2


class NoDocumentsError(InputError):
    """The retriever found nothing to answer from."""


class ProviderError(ConflictScoreError):
    """A model or search provider failed and its retries are used up.

    ``provider`` is its name, such as ``"google"``; ``status`` the HTTP status, if there was one.
    """

    def __init__(self, message: str, *, provider: str, status: int | None = None) -> None:
        super().__init__(message)
        self.provider = provider
        self.status = status


class QuotaError(ProviderError):
    """The provider's quota or credit is used up; asking again now cannot help."""


UNREADABLE = "unreadable reply from "
"""Beginning of the message of an :class:`UnreadableReplyError`, and so of its pair's error."""


class UnreadableReplyError(ProviderError):
    """A model replied, but not in the form it was asked for.

    ``reason`` can be sent back to the model, where asking ``again`` may help; ``reply`` is
    untrusted, and not part of the message.
    """

    def __init__(self, reason: str, *, provider: str, reply: str = "", again: bool = True) -> None:
        super().__init__(f"{UNREADABLE}{provider}: {reason}", provider=provider)
        self.reason, self.reply, self.again = reason, reply, again


class BudgetError(ConflictScoreError):
    """The budget of a run is used up; nothing failed, and finished work is kept.

    ``spent`` and ``limit`` are in the unit of its ``kind``.
    """

    exit_code = 3

    def __init__(self, *, kind: Literal["calls", "tokens"], spent: float, limit: float) -> None:
        super().__init__(
            f"the budget is used up ({spent:,.0f} of {limit:,.0f} {kind}); give a higher"
            f" max_{kind}: replies so far are kept and not paid for again"
        )
        self.kind, self.spent, self.limit = kind, spent, limit


def brief_reason(error: Exception) -> str:
    """Reason for a failure; only the type of a foreign error, whose text may quote a key."""
    return str(error) if isinstance(error, ConflictScoreError) else type(error).__name__


def scrubbed(text: str, *secrets: str) -> str:
    """Message of a server or library, fit to be shown: one line, cut, without what is secret.

    Besides the given secrets, everything that looks like a key is blotted out.
    """
    forms = {form for one in secrets if len(one) >= _SECRET_CHARS for form in _forms(one)}
    if forms:
        longest_first = sorted(forms, key=len, reverse=True)
        pattern = "|".join(map(re.escape, longest_first))
        text = re.sub(pattern, "[secret]", text, flags=re.IGNORECASE)
    return _SECRETS.sub("[secret]", " ".join(text.split()))[:_MESSAGE_CHARS]


def _forms(secret: str) -> Iterator[str]:
    """How an address, a header, a JSON or HTML text or Python would write it."""
    import base64
    import html
    import json
    from urllib.parse import quote, quote_plus

    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from (json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret))
    encoded = base64.b64encode(secret.encode()).decode()
    yield from (encoded, encoded.rstrip("="))


def install_hint(extra: str) -> str:
    """Command that installs an extra."""
    return f"pip install 'conflictscore[{extra}]' (in a clone: pip install '.[{extra}]')"
