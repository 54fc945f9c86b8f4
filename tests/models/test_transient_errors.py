"""What the errors of the real client say of an endpoint."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import openai
import pytest

from conflictscore.models.failures import TransientError, transient_error
from tests.fakes.openai_server import Fault, OpenAIServer, then


def error_of(fault: Fault, *, timeout: float = 30) -> openai.OpenAIError:
    """What the real client raises."""
    with OpenAIServer(then(fault)) as server:
        client = openai.OpenAI(
            base_url=server.base_url, api_key="any", max_retries=0, timeout=timeout
        )
        with client, pytest.raises(openai.OpenAIError) as caught:
            client.chat.completions.create(
                model="any", messages=[{"role": "user", "content": "hi"}]
            )
    return caught.value


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_request_that_is_wrong_stays_wrong(status: int) -> None:
    error = error_of(Fault(status, retry_after="1", should_retry=True))
    assert transient_error(error) is None


def test_an_account_without_credit_stays_without() -> None:
    error = error_of(Fault(429, code="insufficient_quota", retry_after="1"))
    assert isinstance(error, openai.RateLimitError)
    assert transient_error(error) is None


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 504])
def test_a_server_that_fails_may_not_the_next_time(status: int) -> None:
    assert transient_error(error_of(Fault(status))) == TransientError("failed", again=True)


@pytest.mark.parametrize(
    "fault",
    [
        *(Fault(429), Fault(429, code="rate_limit_exceeded"), Fault(529)),
        *(Fault(503, retry_after="2"), Fault(503, message="Loading model")),
    ],
    ids=lambda fault: f"{fault.status} {fault.code}",
)
def test_too_many_calls_are_told_from_a_failure(fault: Fault) -> None:
    trouble = transient_error(error_of(fault))
    assert trouble is not None
    assert (trouble.kind, trouble.again) == ("refused", True)


@pytest.mark.parametrize("status", [429, 500])
def test_a_server_may_ask_not_to_be_asked_again(status: int) -> None:
    trouble = transient_error(error_of(Fault(status, should_retry=False)))
    assert trouble is not None
    assert not trouble.again


def test_no_answer_in_time() -> None:
    error = error_of(Fault.hang(60), timeout=0.1)
    assert isinstance(error, openai.APITimeoutError)
    assert transient_error(error) == TransientError("late", again=True)


def test_a_connection_that_breaks() -> None:
    error = error_of(Fault.drop())
    assert isinstance(error, openai.APIConnectionError)
    assert transient_error(error) == TransientError("failed", again=True)


@pytest.mark.parametrize("error", [ValueError("no completion"), RuntimeError("GPU lost")])
def test_an_error_that_says_nothing_of_the_endpoint(error: Exception) -> None:
    assert transient_error(error) is None


class TestWaitThatIsAskedFor:
    @pytest.mark.parametrize(
        ("value", "seconds"),
        [("17", 17.0), ("0.25", 0.25), ("0", 0.0), (" 3 ", 3.0)],
    )
    def test_in_seconds(self, value: str, seconds: float) -> None:
        trouble = transient_error(error_of(Fault(429, retry_after=value)))
        assert trouble is not None
        assert trouble.after == seconds

    @pytest.mark.parametrize("value", ["later", "", "-1", "nan", "inf", "1e999", "sp\xe4ter"])
    def test_what_is_no_time_is_none(self, value: str) -> None:
        trouble = transient_error(error_of(Fault(429, retry_after=value)))
        assert trouble is not None
        assert trouble.after is None

    @pytest.mark.parametrize(("ahead", "least", "most"), [(60, 50, 60), (-60, 0, 0)])
    def test_as_a_date(self, ahead: int, least: float, most: float) -> None:
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=ahead), usegmt=True)
        trouble = transient_error(error_of(Fault(429, retry_after=date)))
        assert trouble is not None
        assert trouble.after is not None
        assert least <= trouble.after <= most

    def test_in_milliseconds_which_goes_before_seconds(self) -> None:
        headers = {"retry-after-ms": "1500", "retry-after": "9"}
        request = httpx2.Request("POST", "http://llm.test/v1")
        response = httpx2.Response(429, headers=headers, request=request)
        error = openai.RateLimitError("slow down", response=response, body=None)
        trouble = transient_error(error)
        assert trouble is not None
        assert trouble.after == 1.5


def test_another_clients_error_is_known_by_the_same_fields() -> None:
    class TheirError(Exception):
        status_code = 429
        response = httpx2.Response(429, headers={"retry-after": "2"})

    assert transient_error(TheirError()) == TransientError("refused", again=True, after=2.0)
