"""Reading requests: whatever comes, it is a request or it is refused with the field."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.requests import ChatRequest, read_chat, read_json

_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
_ROLES = ["system", "developer", "user", "assistant", "tool", "function", "nobody"]
_MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(_ROLES)},
    optional={
        "content": st.text(max_size=20)
        | st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "image_url"])}))
        | _ANY,
        "tool_calls": st.lists(st.fixed_dictionaries({"id": st.text(), "function": _ANY})) | _ANY,
        "tool_call_id": st.text(max_size=5) | _ANY,
        "name": _ANY,
    },
)
_BODY = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": st.lists(_MESSAGE, max_size=5) | _ANY},
    optional=dict.fromkeys(
        ("n", "stop", "temperature", "max_tokens", "tools", "stream", "response_format"), _ANY
    ),
)


def read(data: bytes) -> ChatRequest | RefusedError:
    try:
        return read_chat(read_json(data))
    except RefusedError as refusal:
        return refusal


@given(body=_BODY | st.dictionaries(st.text(), _ANY))
def test_any_object_is_read_or_refused_with_its_field(body: dict[str, Any]) -> None:
    outcome = read(json.dumps(body, ensure_ascii=False).encode(errors="surrogatepass"))

    if isinstance(outcome, RefusedError):
        assert outcome.status == 400
        assert outcome.code == "invalid_json" or outcome.param
    else:
        assert outcome.body == body
        assert outcome.unchecked is not None or outcome.asked.question.strip()


@given(data=st.binary())
def test_any_bytes_are_an_object_or_refused(data: bytes) -> None:
    outcome = read(data)

    assert isinstance(outcome, RefusedError)
    assert outcome.status == 400


def test_fields_that_are_always_sent_join_the_callers() -> None:
    request = read_chat(
        {
            "model": "m",
            "messages": [{"role": "user", "content": "When?"}],
            "max_tokens": 5,
            "top_k": 3,
            "seed": None,
            "stream": False,
        }
    )

    assert request.answer_parameters({"think": False}) == {
        "extra_body": {"think": False, "top_k": 3},
        "max_tokens": 5,
    }
    assert "When?" not in repr(request)
