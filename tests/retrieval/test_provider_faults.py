from typing import Any

import pytest

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    ProviderError,
    QuotaError,
    scrubbed,
)
from tests.fakes.google_search import ACCESS_DENIED, DAILY_QUOTA, google_error
from tests.fakes.search_providers import CASES, KEY
from tests.fakes.search_server import (
    Reply,
    SearchServer,
    html_reply,
    json_reply,
    serper_error,
    vertex_error,
)

OTHER_FORM = "look like search results"
NO_SITES = "Only public website search is supported."
DAILY = google_error(403, "Daily Limit Exceeded", "dailyLimitExceeded")
BLOCKED = google_error(403, "Requests from this IP address are blocked.", "forbidden")
INVALID = "Request contains an invalid argument."
BAD_KEY = r"refuses the request .*[kK][eE][yY]"
SITES = "Only public.*VERTEX_SERVING_CONFIG, which must be an engine for public websites"
VERTEX_SNIPPETS: list[Any] = ["text", [{}], [{"snippet": 5}]]
VERTEX_RESULTS = [
    *({}, {"document": {}}, {"document": {"derivedStructData": []}}),
    *({"document": {"derivedStructData": {"snippets": odd}}} for odd in VERTEX_SNIPPETS),
]
CREDITS = r"Serper is used up \(400: Not enough credits\)"
TOO_LONG = r": Query too long\): check the question's length"
LANGUAGE = 'Invalid "xx" for parameter language'
FAULTS: dict[str, list[tuple[Reply, type[ConflictScoreError], str]]] = {
    "serper": [
        (serper_error(400, "Not enough credits"), QuotaError, CREDITS),
        (serper_error(400, "Query too long"), InputError, TOO_LONG),
        (serper_error(422, "Query too long"), InputError, TOO_LONG),
    ],
    "searxng": [
        *(
            (json_reply({"results": [], "unresponsive_engines": odd}), ProviderError, OTHER_FORM)
            for odd in (["google"], [5], [["a", "b", "c"]], 5)
        ),
        (html_reply("moved", 308), ConfigurationError, "308: .*check the address"),
        (json_reply({"error": LANGUAGE}, 400), InputError, "for parameter language"),
    ],
    "google": [
        (DAILY_QUOTA, QuotaError, "quota or credit of Google is used up"),
        (DAILY, QuotaError, "quota or credit of Google is used up"),
        (ACCESS_DENIED, ConfigurationError, "no new customers .*serper"),
        (BLOCKED, ConfigurationError, "IP address are blocked.*GOOGLE_API_KEY"),
        (google_error(400, INVALID, "badRequest"), InputError, "invalid argument.*length"),
    ],
    "vertex": [
        *((json_reply({"results": [odd]}), ProviderError, OTHER_FORM) for odd in VERTEX_RESULTS),
        (
            vertex_error(400, "FAILED_PRECONDITION", NO_SITES),
            *(
                ConfigurationError,
                "Only public.*VERTEX_SERVING_CONFIG, which must be an engine for public websites",
            ),
        ),
        *(
            (vertex_error(status, code, said), ConfigurationError, BAD_KEY)
            for status, code, said in (
                (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
                (400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."),
                (403, "PERMISSION_DENIED", "Requests to this API are blocked."),
            )
        ),
        (vertex_error(400, "INVALID_ARGUMENT", INVALID), InputError, "invalid argument.*length"),
    ],
}


@pytest.mark.parametrize(
    ("name", "fault", "kind", "words"), [(name, *one) for name in FAULTS for one in FAULTS[name]]
)
def test_a_fault_is_of_its_kind_and_not_tried_again(
    name: str, fault: Reply, kind: type[ConflictScoreError], words: str
) -> None:
    case = CASES[name]
    with (
        SearchServer(case.speak(), always=fault) as server,
        pytest.raises(ConflictScoreError, match=words) as caught,
    ):
        case.searching(server).invoke("sky")
    assert type(caught.value) is kind
    if isinstance(caught.value, QuotaError):
        assert caught.value.status == fault.status
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("name", "environment", "lacking"),
    [
        ("google", {}, "GOOGLE_API_KEY; a key comes from console"),
        ("google", {"GOOGLE_API_KEY": KEY}, "GOOGLE_CSE_ID; .*programmablesearchengine"),
        ("google", {"GOOGLE_API_KEY": " ", "GOOGLE_CSE_ID": "engine"}, "GOOGLE_API_KEY"),
        ("vertex", {}, "VERTEX_API_KEY or GOOGLE_API_KEY"),
        ("vertex", {"GOOGLE_API_KEY": KEY}, "VERTEX_SERVING_CONFIG as PROJECT/ENGINE .*not set"),
    ],
)
def test_missing_settings_are_named_with_where_to_get_them(
    name: str, environment: dict[str, str], lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=f"search needs {lacking}") as caught:
        CASES[name].search()
    assert KEY not in str(caught.value)


def test_scrubbing_finds_each_form_of_a_secret_and_keeps_the_rest() -> None:
    secret = 'k+/"&é'
    forms = ['k+/"&é', "k%2B%2F%22%26%C3%A9", "k%2b%2f%22%26%c3%a9", 'k+/\\"&\\u00e9']
    forms += ["k+/&quot;&amp;é", "aysvIibDqQ=="]
    assert scrubbed("; ".join(forms), secret) == "; ".join(["[secret]"] * len(forms))
    password = 'it\'s "a b"/\\'
    forms = ["it%27s%20%22a%20b%22%2F%5C", "it%27s+%22a+b%22%2F%5C", 'it\\\'s "a b"/\\\\']
    assert scrubbed("; ".join(forms), password) == "[secret]; [secret]; [secret]"
    assert scrubbed("nothing\n to  hide", secret, "") == "nothing to hide"
    assert len(scrubbed("x" * 1000, secret)) == 300
