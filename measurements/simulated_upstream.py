"""An OpenAI-compatible endpoint that uses little CPU and replies to every call after a delay.

The endpoint answers each question with a fixed number of sentences, splits answers into claims, and
labels claims. Every second document contradicts one of the claims. Options make some calls fail.
The process prints its address and serves until it is stopped. ``/stats`` shows the numbers of
calls.
"""

import asyncio
import json
import random
import re
import time
from dataclasses import dataclass, field
from typing import Any

import click

from tests.batches import batch_of, brief_reply

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_CLAIM = re.compile(r"<claim>\s*(.*?)\s*</claim>", re.DOTALL)
_NUMBER = re.compile(r"Ledger number (\d+)")
_TOKENS = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}

_REASON = "The ledger was kept at the time (Doc 2)."
_MALFORMED = '{"claim": "The lamp was first l'


@dataclass
class _Ways:
    """The endpoint's options, and the numbers of calls so far."""

    delay: float
    claims: int
    malformed: float
    failing: float
    refusing: float
    places: asyncio.Semaphore
    chance: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - no secret
    asked: dict[str, int] = field(
        default_factory=lambda: {"calls": 0, "answered": 0, "malformed": 0, "500": 0, "429": 0}
    )

    async def answer(self, body: dict[str, Any]) -> bytes:
        drawn = self.chance.random()
        async with self.places:
            await asyncio.sleep(self.delay)
        self.asked["calls"] += 1
        for status, share in (("500", self.failing), ("429", self.refusing)):
            if drawn < share:
                self.asked[status] += 1
                return _http({"error": {"message": "simulated"}}, f"{status} Simulated")
            drawn -= share
        kind = "malformed" if drawn < self.malformed else "answered"
        self.asked[kind] += 1
        if kind == "malformed":
            return _http(_completion(body, _MALFORMED))
        return _http(_completion(body, reply_to(body, self.claims)))


@click.command(help=__doc__)
@click.option("--delay", default=0.2, show_default=True, help="Seconds that each call takes.")
@click.option("--claims", default=6, show_default=True, help="Number of claims in an answer.")
@click.option(
    "--places",
    default=4096,
    show_default=True,
    help="Number of concurrent calls; further calls wait.",
)
@click.option(
    "--malformed",
    default=0.0,
    show_default=True,
    help="Share of calls that get an unreadable reply.",
)
@click.option("--failing", default=0.0, show_default=True, help="Share of calls that get HTTP 500.")
@click.option(
    "--refusing", default=0.0, show_default=True, help="Share of calls that get HTTP 429."
)
def main(
    delay: float, claims: int, places: int, malformed: float, failing: float, refusing: float
) -> None:
    """See the module."""
    slots = asyncio.Semaphore(places)
    asyncio.run(_serve(_Ways(delay, claims, malformed, failing, refusing, slots)))


async def _serve(ways: _Ways) -> None:
    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET "):
                    writer.write(_http(ways.asked))
                else:
                    length = _LENGTH.search(head)
                    body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
                    writer.write(await ways.answer(body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=1024)
    click.echo(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    async with server:
        await server.serve_forever()


def _asked(body: dict[str, Any]) -> str:
    """Return the prompt of a request, even if it is repeated after an unusable reply."""
    # the unusable reply and the request for a new one come after the prompt
    said = [str(message["content"]) for message in body["messages"]]
    return said[-3] if said[-1].startswith("That reply could not be used") else said[-1]


def reply_to(body: dict[str, Any], claims: int) -> str:
    """Return the reply to a request; the answer to a question has ``claims`` sentences."""
    prompt = _asked(body)
    if '"document_snippet"' in prompt:
        found = _CLAIM.search(prompt)
        claim = found[1] if found else ""
        said = {"claim": claim, "document_snippet": "", "reasoning": "As it says."}
        return json.dumps({**said, "answer": _label(claim, prompt)})
    if '"verdicts"' in prompt:
        asked = batch_of(prompt)
        return brief_reply([asked.verdict(one, _label) for one in asked.claims])
    if 'Reply with the word "Claims:"' in prompt:
        answer = prompt.rpartition("<answer>")[2].partition("</answer>")[0].strip()
        return "Claims:\n" + "\n".join(f"- {line}" for line in answer.split("\n"))
    if "Say why the answer changed" in prompt:
        return _REASON
    year = 1874 if "A check of that answer has found" in prompt else 1871
    first = f"The lamp was first lit in {year}."
    return "\n".join([first, *(f"The tower has a step {number}." for number in range(1, claims))])


def _label(claim: str, document: str) -> str:
    number = _NUMBER.search(document)
    even = number is not None and int(number[1]) % 2 == 0
    if "lamp" in claim:
        return "CONTRADICTS" if even == ("1871" in claim) else "SUPPORTS"
    return "SUPPORTS"


def _completion(body: dict[str, Any], text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    said = {"id": "chatcmpl-1", "object": "chat.completion", "created": int(time.time())}
    return {**said, "model": body["model"], "choices": [choice], "usage": _TOKENS}


def _http(content: dict[str, Any], status: str = "200 OK") -> bytes:
    data = json.dumps(content).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


if __name__ == "__main__":
    main()
