"""``ollama:NAME``, by LangChain's own client, against a loopback server that speaks Ollama."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from conflictscore.errors import ProviderError, UnreadableReplyError
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet

Asked = list[dict[str, Any]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """What the server is asked; it writes as many words as a reply may have tokens."""
    came: Asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            came.append(asked)
            cut = asked["options"]["num_predict"] < 2
            told: dict[str, Any] = {"prompt_eval_count": 7, "eval_count": 2, "done": True}
            told |= {"done_reason": "length" if cut else "stop", "model": asked["model"]}
            said = {"role": "assistant", "content": "In" if cut else "In 1871."}
            body = json.dumps({"message": said, **told}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{server.server_address[1]}")
    yield came
    server.shutdown()
    thread.join()
    server.server_close()


async def ask(max_tokens: int) -> tuple[str, int]:
    model, meter = open_model("ollama:llama3.1:8b"), UsageMeter()
    assert model.name == "llama3.1:8b"
    said = await model.ask(
        "When?", str, prompts=PromptSet.load(), meter=meter, max_tokens=max_tokens
    )
    return said, meter.usage.input_tokens


async def test_it_is_asked_at_temperature_zero_for_so_many_tokens(asked: Asked) -> None:
    assert await ask(9) == ("In 1871.", 7)

    [request] = asked
    assert request["model"] == "llama3.1:8b"
    assert request["options"] == {"num_predict": 9, "num_ctx": 8192, "temperature": 0}


async def test_a_reply_that_was_cut_is_known(asked: Asked) -> None:
    with pytest.raises(UnreadableReplyError, match="cut off after 1 tokens"):
        await ask(1)


async def test_where_no_ollama_runs_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")

    with pytest.raises(ProviderError, match=r"^llama3\.1:8b failed: Connect"):
        await ask(9)
