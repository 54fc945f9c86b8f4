"""What the real client's errors say about an endpoint."""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import openai
import pytest

from conflictscore.models.retries import TransientError, transient_error
from tests.fakes.openai_server import Fault, OpenAIServer, then

FAILED, REFUSED = TransientError("failed", again=True), TransientError("refused", again=True)


def transient(fault: Fault, *, timeout: float = 30) -> TransientError | None:
    """The classification of the real client's error."""
    with OpenAIServer(then(fault)) as server:
        client = openai.OpenAI(
            base_url=server.base_url, api_key="any", max_retries=0, timeout=timeout
        )
        with client, pytest.raises(openai.OpenAIError) as caught:
            client.chat.completions.create(
                model="any", messages=[{"role": "user", "content": "hi"}]
            )
    return transient_error(caught.value)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        *((Fault(s, retry_after="1", should_retry=True), None) for s in (400, 401, 403, 404, 413)),
        (Fault(422), None),
        (Fault(429, code="insufficient_quota", retry_after="1"), None),
        *((Fault(status), FAILED) for status in (408, 409, 500, 502, 503, 504)),
        (Fault(429), REFUSED),
        (Fault(429, code="rate_limit_exceeded"), REFUSED),
        (Fault(529), REFUSED),
        (Fault(503, retry_after="2"), REFUSED._replace(after=2.0)),
        (Fault(503, message="Loading model"), REFUSED),
        (Fault(429, should_retry=False), REFUSED._replace(again=False)),
        (Fault(500, should_retry=False), FAILED._replace(again=False)),
        (Fault.drop(), FAILED),
    ],
    ids=lambda value: f"{value.status} {value.code}" if isinstance(value, Fault) else str(value),
)
def test_a_request_that_is_wrong_stays_wrong_and_a_server_that_fails_or_refuses_may_not(
    fault: Fault, expected: TransientError | None
) -> None:
    assert transient(fault) == expected


def test_no_answer_in_time() -> None:
    assert transient(Fault.hang(60), timeout=0.5) == TransientError("late", again=True)


@pytest.mark.parametrize("error", [ValueError("no completion"), RuntimeError("GPU lost")])
def test_an_error_that_says_nothing_of_the_endpoint(error: Exception) -> None:
    assert transient_error(error) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("17", 17.0),
        ("0.25", 0.25),
        ("0.1", 0.1),
        (" 3 ", 3.0),
        ("5s", 5.0),
        ("3 seconds", 3.0),
        ("500 ms", 0.5),
        ("0", None),  # a lasting refusal would loop without a pause
        ("0.01", None),
        *((value, None) for value in ("later", "", "-1", "nan", "inf", "1e999", "sp\xe4ter")),
    ],
)
def test_a_wait_that_is_asked_for_is_in_seconds(value: str, seconds: float | None) -> None:
    assert transient(Fault(429, retry_after=value)) == REFUSED._replace(after=seconds)


@pytest.mark.parametrize(
    "written",
    [
        lambda date: format_datetime(date, usegmt=True),
        lambda date: date.strftime("%A, %d-%b-%y %H:%M:%S GMT"),
        lambda date: date.isoformat(),
        lambda date: str(int(date.timestamp())),
    ],
    ids=["HTTP", "RFC 850", "ISO", "Unix"],
)
def test_a_wait_that_is_asked_for_as_a_date_is_the_time_until_then(
    written: Callable[[datetime], str],
) -> None:
    date = written(datetime.now(UTC) + timedelta(seconds=90))
    trouble = transient(Fault(429, retry_after=date))
    assert trouble is not None
    assert trouble.after == pytest.approx(90, abs=20)
    past = transient(Fault(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"))
    assert past == REFUSED


def test_another_clients_error_is_known_by_the_same_fields_and_milliseconds_go_first() -> None:
    class TheirError(Exception):
        status_code = 429
        response = httpx2.Response(429, headers={"retry-after-ms": "1500", "retry-after": "9"})

    assert transient_error(TheirError()) == REFUSED._replace(after=1.5)
    TheirError.response.headers["retry-after-ms"] = "0"
    assert transient_error(TheirError()) == REFUSED._replace(after=9)


def test_a_certificate_that_is_not_accepted_stays_so() -> None:
    error = openai.APITimeoutError(httpx2.Request("POST", "https://endpoint.example"))
    error.__cause__ = httpx2.ConnectTimeout("no connection")
    error.__cause__.__cause__ = ssl.SSLCertVerificationError("self-signed certificate")
    assert transient_error(error) is None
