"""All errors of this package that callers can catch. The errors form one tree.

```
ConflictScoreError                 one clear line, safe to show: it never contains a secret
├── ContextWindowError             a model's context window is too small for what it must read
├── InputError                     input that cannot be used; exit code 2
│   ├── ConfigurationError         a missing or wrong setting, key, model name or extra
│   └── NoDocumentsError           the search found no documents
├── ProviderError                  a model or a search engine failed after its retries; exit code 1
│   ├── QuotaError                 its quota or credit is used up; retrying now will not help
│   └── UnreadableReplyError       a model replied, but not in the requested form
├── UncheckedAnswerError           an answer is less checked than the caller requires; exit code 1
└── BudgetError                    the caller's own budget is used up; exit code 3
```
"""

import base64
import html
import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal
from urllib.parse import quote, quote_plus

# Matches keys with a well-known prefix (OpenAI's, Stripe's and others), tokens in HTTP headers, and
# what follows the words "API key". Repetitions are bounded, so that a search through a hostile text
# takes linear time.
_SECRETS = re.compile(
    r"(?i)\b(?:sk|key|pk|rk)-[\w*.-]{4,}|\bbearer\s+\S+"
    r"|\bapi[_ -]?key(?:\W{1,4}(?:provided\W{1,3})?(?=\S{0,99}[\d*])\S{5,}|[\"']?\s?[:=]\s?\S+)"
)
# Servers may send whole pages as error messages; the cause is usually in the first sentences.
_MESSAGE_CHARS = 300
_SECRET_CHARS = 6
"""Minimum length of a secret. A shorter string, such as ``none``, is a placeholder, not a key."""


class FailureKind(StrEnum):
    """Why a label or another output is missing.

    The kind is for programs, the message for people. Stored runs contain these values, so they must
    not change.
    """

    UNREADABLE = "unreadable"
    """A model replied, but not in the requested form."""
    FAILED = "failed"
    """The call failed in some other way, possibly because of the text in the request."""
    REFUSED = "refused"
    """The provider refused: it got too many calls, or the account has no quota left."""
    TIMED_OUT = "timed_out"
    """The provider did not answer in time."""
    UNREACHABLE = "unreachable"
    """The provider could not be reached."""
    NO_ROOM = "no_room"
    """The context window is too small for the text that the model must read."""
    LEFT_OUT = "left_out"
    """The work was skipped because of a setting, such as a time limit; nothing failed."""
    NOT_ASKED = "not_asked"
    """The budget was used up, so no request was sent."""
    STOPPED = "stopped"
    """The run ended before the work was done."""

    @property
    def depends_on_text(self) -> bool:
        """Whether the text in the request may be the cause.

        Labels lost for such a reason are not a random sample. For example, a model that always
        misspells one label loses every pair with that label.
        """
        return self in {FailureKind.UNREADABLE, FailureKind.FAILED}


class ConflictScoreError(Exception):
    """Base class of all errors that this package raises deliberately."""

    exit_code = 1
    """The exit status of the command line: 1 for a failure, 2 for wrong input, and 3 if a budget is
    used up, so that scripts can resume."""
    failure = FailureKind.FAILED
    """The kind of failure recorded for outputs that this error prevented."""


class InputError(ConflictScoreError):
    """The caller's input is unusable. The message names the file, row and field, or the option."""

    exit_code = 2


class ConfigurationError(InputError):
    """A setting, a key, a model name or an optional package is missing or wrong."""


class ContextWindowError(ConflictScoreError):
    """A model's context window is too small for what it must read.

    The error concerns a single text, so a run over many texts continues, unlike after an error
    about a wrong setting.
    """

    exit_code = 2
    failure = FailureKind.NO_ROOM


class NoDocumentsError(InputError):
    """The retriever found no documents."""


class ProviderError(ConflictScoreError):
    """A model or search provider failed, and its retries are used up.

    ``provider`` is a name such as ``"google"``. ``status`` is the HTTP status, if there was one.
    ``failure`` is the kind of failure; the default is the kind of the class.
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str,
        status: int | None = None,
        failure: FailureKind | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.status = status
        if failure is not None:
            self.failure = failure


class QuotaError(ProviderError):
    """The provider's quota or credit is used up, so retrying now will not help."""

    failure = FailureKind.REFUSED


class UnreadableReplyError(ProviderError):
    """A model replied, but not in the requested form.

    ``reason`` can be sent back to the model if ``again`` says that a second attempt may help.
    ``reply`` is untrusted and not part of the message. If ``by_form`` is True, the cause may be how
    JSON was requested. If ``formless`` is True, the reply contained words, but no JSON of the
    requested form.
    """

    failure = FailureKind.UNREADABLE

    def __init__(
        self,
        reason: str,
        *,
        provider: str,
        reply: str = "",
        again: bool = True,
        by_form: bool = False,
    ) -> None:
        super().__init__(f"unreadable reply from {provider}: {reason}", provider=provider)
        self.reason, self.reply, self.again, self.by_form = reason, reply, again, by_form
        self.formless = False


class UncheckedAnswerError(ConflictScoreError):
    """An answer was refused because less of it was checked than ``require`` demands.

    ``verdict`` is a short summary of the run (:meth:`conflictscore.Run.verdict`). Neither the
    summary nor the message contains the answer.
    """

    def __init__(self, message: str, verdict: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.verdict = dict(verdict)


class BudgetError(ConflictScoreError):
    """The budget of a run is used up. Nothing failed, and finished work is kept.

    ``spent`` and ``limit`` count calls or tokens, depending on ``kind``.
    """

    exit_code = 3
    failure = FailureKind.NOT_ASKED

    def __init__(self, *, kind: Literal["calls", "tokens"], spent: float, limit: float) -> None:
        super().__init__(
            f"the budget is used up ({spent:,.0f} of {limit:,.0f} {kind}); raise "
            f"max_{kind} and run again: replies so far are cached and not paid for "
            "twice"
        )
        self.kind, self.spent, self.limit = kind, spent, limit


def brief_reason(error: Exception) -> str:
    """Return the message of our own errors, and the type of all others, which may quote keys."""
    return str(error) if isinstance(error, ConflictScoreError) else type(error).__name__


def scrubbed(text: str, *secrets: str) -> str:
    """Make a message of a server or library safe to show: one short line without secrets.

    The given secrets, and anything that looks like a key, are replaced by ``[secret]``.
    """
    forms = {
        form.lower() for each in secrets if len(each) >= _SECRET_CHARS for form in _forms(each)
    }
    # a shorter form may be part of a longer one, whose remainder would stay visible
    for form in sorted(forms, key=len, reverse=True):
        text = _without(text, form)
    return _SECRETS.sub("[secret]", " ".join(text.split()))[:_MESSAGE_CHARS]


def _without(text: str, lowered_secret: str) -> str:
    """Replace a secret, which may be in capitals in the text."""
    lowered = text.lower()
    if len(lowered) != len(text):  # "İ" becomes two characters, after which no position matches
        text = lowered
    pieces: list[str] = []
    position = 0
    for piece in lowered.split(lowered_secret):
        pieces.append(text[position : position + len(piece)])
        position += len(piece) + len(lowered_secret)
    return "[secret]".join(pieces)


def _forms(secret: str) -> Iterator[str]:
    """Yield each form in which a URL, header, JSON, HTML or Python code may contain a secret."""
    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from (json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret))
    in_base64 = base64.b64encode(secret.encode()).decode()
    yield from (in_base64, in_base64.rstrip("="))


def install_hint(extra: str) -> str:
    """Return the command that installs an optional extra of this package."""
    return f"pip install 'conflictscore[{extra}]' (in a clone: pip install '.[{extra}]')"
