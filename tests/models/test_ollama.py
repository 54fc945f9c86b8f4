"""``ollama:NAME`` through LangChain's own client, against a loopback server that speaks Ollama."""

from collections.abc import Iterator
from typing import Any

import pytest

from conflictscore.errors import ProviderError, UnreadableReplyError
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from tests.fakes.dialects import Body, DialectServer


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[DialectServer]:
    """The requests to the server, which writes as many words as a reply may have tokens."""

    def answer(body: Body) -> tuple[int, Any]:
        cut = body["options"]["num_predict"] < 2
        told: dict[str, Any] = {"prompt_eval_count": 7, "eval_count": 2, "done": True}
        told |= {"done_reason": "length" if cut else "stop", "model": body["model"]}
        said = {"role": "assistant", "content": "In" if cut else "In 1871."}
        return 200, told | {"message": said}

    with DialectServer(answer) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.endpoint)
        yield server


async def ask(max_tokens: int) -> tuple[str, int]:
    model, meter = open_model("ollama:llama3.1:8b"), UsageMeter()
    assert model.name == "llama3.1:8b"
    said = await model.ask(
        "When?", str, prompts=PromptSet.load(), meter=meter, max_tokens=max_tokens
    )
    return said, meter.usage.input_tokens


async def test_it_is_asked_at_temperature_zero_for_so_many_tokens(asked: DialectServer) -> None:
    assert await ask(9) == ("In 1871.", 7)

    [request] = asked.bodies
    assert request["model"] == "llama3.1:8b"
    assert request["options"] == {"num_predict": 9, "num_ctx": 8192, "temperature": 0}


async def test_a_reply_that_was_cut_is_known(asked: DialectServer) -> None:
    with pytest.raises(UnreadableReplyError, match="cut off after 1 tokens"):
        await ask(1)


async def test_if_ollama_does_not_run_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")

    with pytest.raises(ProviderError, match=r"^llama3\.1:8b failed: Connect"):
        await ask(9)
