"""Calls ``conflictscore serve`` with OpenAI's own client.

Start the service first, for example with ``conflictscore serve --docs examples/lighthouse``. If
the service has another address or needs a key, set ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``.
"""

import os

import httpx2
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

QUESTION = "In which year did the Vennick Point lighthouse first light its lamp?"


def main() -> None:
    """Ask a question and print its scores, then stream the answer to a follow-up question."""
    client = OpenAI(
        base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8400/v1"),
        api_key=os.environ.get("OPENAI_API_KEY", "none"),
    )
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": QUESTION}]
    raw = client.chat.completions.with_raw_response.create(model="conflictscore", messages=messages)
    answer = raw.parse().choices[0].message.content
    run = client.get(
        f"/runs/{raw.headers['x-conflictscore-run-id']}", cast_to=httpx2.Response
    ).json()
    print(answer)
    print(f"{run['status']}: {len(run['documents'])} documents, CS-C {run['report']['cs_c']}")

    messages += [
        {"role": "assistant", "content": answer or ""},
        {"role": "user", "content": "And who says otherwise?"},
    ]
    stream = client.chat.completions.create(model="conflictscore", messages=messages, stream=True)
    for chunk in stream:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
