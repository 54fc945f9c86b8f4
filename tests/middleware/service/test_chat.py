"""POST /v1/chat/completions in each mode and as a stream, as clients see it."""

import asyncio
import json
import threading
from typing import Any

import openai
import pytest

from conflictscore.middleware.service.wire import ALIVE
from tests.fakes.openai_server import OpenAIServer, from_cache
from tests.middleware.service.serving import (
    AGREEING,
    PICTURE,
    QUESTION,
    UPSTREAM_KEY,
    ChatWorld,
    Served,
    asking,
    completion_with,
    events_in,
    serving,
    user,
)
from tests.world import DISAGREEING


def tokens(upstream: OpenAIServer) -> tuple[int, int]:
    """Words that the scripted upstream has read, and its calls."""
    read = sum(len(m["content"].split()) for r in upstream.requests for m in r.messages)
    return read, len(upstream.requests)


class TestCorrect:
    def test_a_changed_answer_reaches_openais_client_with_evidence(self, served: Served) -> None:
        raw = served.openai.chat.completions.with_raw_response.create(
            model="conflictscore", messages=user()
        )
        reply = raw.parse()
        run = served.run(raw.http_response)

        assert reply.choices[0].message.content == "It was lit in 1874."
        assert reply.choices[0].finish_reason == "stop"
        assert raw.headers["x-conflictscore-status"] == "corrected"
        short = (reply.model_extra or {})["conflictscore"]
        assert (short["flipped"], short["cs_c"], short["cs_r"]) == (True, 1.0, 0.5)
        assert short["first_answer"] == "It was lit in 1871."
        assert run["run_id"] == short["run_id"] == raw.headers["x-conflictscore-run-id"]
        assert run["documents"][1]["text"] == "The log says the lamp was lit in 1874."
        assert [attempt["answer"]["text"] for attempt in run["attempts"]] == [
            "It was lit in 1871.",
            "It was lit in 1874.",
        ]
        assert {"retrieve", "generate", "label", "correct", "justify"} <= set(run["timings"])

    @pytest.mark.parametrize("first", ["rag", "upstream"])
    def test_the_usage_is_that_of_the_whole_run_with_tokens_from_the_prompt_cache(
        self, world: ChatWorld, monkeypatch: pytest.MonkeyPatch, first: str
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", UPSTREAM_KEY)
        with (
            OpenAIServer(from_cache(world, 3), api_key=UPSTREAM_KEY) as upstream,
            serving(upstream, settings={"first_answer": first}) as served,
        ):
            reply = served.ask()
            run = served.run(reply)

        read, calls = tokens(upstream)
        assert calls == 11  # generate, decompose, 3 labels, regenerate, again 4, justify
        assert len(world.handed_on) == (first == "upstream")
        usage = reply.json()["usage"]
        assert usage["prompt_tokens"] == read
        assert usage["total_tokens"] == read + usage["completion_tokens"]
        assert usage["prompt_tokens_details"] == {"cached_tokens": 3 * calls}
        assert run["usage"]["cache_read_tokens"] == 3 * calls

    def test_the_callers_parameters_reach_answers_and_not_the_judge(self, served: Served) -> None:
        wishes = {"temperature": 0.7, "stop": ["END"], "seed": 7, "top_k": 5}

        served.ask(**wishes, max_completion_tokens=99, user="u-1")

        asked = ("Documents that were found", "Earlier you answered")
        answers = [r for r in served.upstream.requests if r.prompt.startswith(asked)]
        others = [r for r in served.upstream.requests if r not in answers]
        assert len(answers) == 2
        for request in answers:
            assert {name: request.body.get(name) for name in wishes} == wishes
            assert request.body["max_completion_tokens"] == 99
        assert not any({"stop", "seed", "top_k"} & set(r.body) for r in others)

    def test_the_question_is_standalone_and_messages_are_sent_unchanged_with_one_block_of_documents(
        self, world: ChatWorld, served: Served
    ) -> None:
        asked = {"type": "text", "text": "When was its lamp lit?"}
        conversation = [
            {"role": "developer", "content": "You are brief."},
            {"role": "user", "content": "Do you know the lighthouse?"},
            {"role": "assistant", "content": [{"type": "text", "text": "I do."}]},
            {"role": "user", "content": [asked]},
        ]

        run = served.run(served.ask(conversation))

        assert world.asked["contextualize"] == 1
        assert (run["asked"], run["question"]) == ("When was its lamp lit?", QUESTION)
        [first] = [r for r in served.upstream.requests if "Documents that were found" in r.prompt]
        *before, last = first.messages
        block, *rest = last["content"]
        assert before == conversation[:-1]
        assert (rest, last["role"]) == ([asked], "user")
        assert all(document["text"] in block["text"] for document in DISAGREEING)
        assert not {"max_tokens", "max_completion_tokens"} & set(first.body)

    def test_an_unchanged_upstream_answer_keeps_all_that_came_with_it_and_says_how_it_ended(
        self, world: ChatWorld
    ) -> None:
        message = {"content": "It was lit in 1871.\n", "reasoning_content": "I read."}
        world.plain = completion_with(message, finish="length")

        with serving(world, found=AGREEING, settings={"first_answer": "upstream"}) as served:
            response = served.ask()

        reply = response.json()
        assert "it ended with “length”" in reply["conflictscore"]["notes"][0]
        assert reply["choices"][0]["message"] == {"role": "assistant", **message}
        assert reply["choices"][0]["finish_reason"] == "length"
        assert reply["x_upstream"] == "kept"
        assert reply["conflictscore"]["status"] == "scored"

    @pytest.mark.parametrize("first_answer", ["upstream", "rag"])
    @pytest.mark.parametrize("documents", [AGREEING, DISAGREEING], ids=["agree", "disagree"])
    def test_reasoning_in_the_text_is_sent_as_it_is_and_not_checked(
        self, world: ChatWorld, first_answer: str, documents: list[dict[str, str]]
    ) -> None:
        reasoning = "<think>\nThe log is older: 1802.\n</think>\n\n"
        world.plain = world.answer = f"{reasoning}It was lit in 1871."

        settings = {"first_answer": first_answer}
        with serving(world, found=documents, settings=settings) as served:
            reply = served.ask()
            run = served.run(reply)

        year = 1871 if documents is AGREEING else 1874
        assert run["first_answer"] == "It was lit in 1871."
        assert (run["answer"], run["checked"]) == (f"It was lit in {year}.", "fully")
        text = reply.json()["choices"][0]["message"]["content"]
        assert text == f"{reasoning}It was lit in {year}."

    def test_a_reply_of_nothing_but_reasoning_is_empty(self, world: ChatWorld) -> None:
        world.plain = "<think>\nHm.\n</think>\n"

        with serving(world, settings={"first_answer": "upstream"}) as served:
            reply = served.ask()

        assert reply.json()["choices"][0]["message"]["content"] == world.plain
        assert reply.headers["x-conflictscore-reason"] == "empty_answer"

    def test_the_id_of_a_reply_names_its_run_and_the_upstreams_own_id_stands_beside_it(
        self, world: ChatWorld
    ) -> None:
        world.plain = completion_with({"content": "It was lit in 1871."})

        verdicts = []
        for documents in (AGREEING, []):
            with serving(world, found=documents, settings={"first_answer": "upstream"}) as served:
                reply = served.ask().json()
                run = served.http.get(f"/v1/runs/{reply['id'].removeprefix('chatcmpl-')}")
            assert reply["conflictscore"]["upstream_id"] == "chatcmpl-upstream"
            assert run.json()["checked"] == reply["conflictscore"]["checked"]
            verdicts.append(run.json()["checked"])

        assert verdicts == ["fully", "no"]


class TestAnnotate:
    def test_the_first_answer_has_a_note(self, world: ChatWorld) -> None:
        with serving(world, settings={"mode": "annotate"}) as served:
            reply = served.ask()

        text = reply.json()["choices"][0]["message"]["content"]
        assert text.startswith("It was lit in 1871.\n\nNote: the sources disagree about 1 of 1")
        assert "For it: Gazette, gazette.test. Against it: Log, log.test." in text
        assert reply.headers["x-conflictscore-status"] == "annotated"
        assert world.asked["regenerate"] == 0

    def test_an_answer_whose_sources_agree_gets_no_note(self, upstream: OpenAIServer) -> None:
        annotating = {"mode": "annotate"}
        with serving(upstream, found=AGREEING, settings=annotating) as served:
            reply = served.ask()

        assert reply.json()["choices"][0]["message"]["content"] == "It was lit in 1871."
        assert reply.headers["x-conflictscore-status"] == "scored"


class TestModels:
    def test_the_models_are_the_upstreams_and_conflictscore(self, served: Served) -> None:
        listed = [model.id for model in served.openai.models.list()]
        one = served.openai.models.retrieve("conflictscore")

        assert listed == ["conflictscore", "scripted"]
        assert one.owned_by == "conflictscore"

    def test_an_unknown_model_is_not_found(self, served: Served) -> None:
        with pytest.raises(openai.NotFoundError) as raised:
            served.openai.chat.completions.create(model="gpt-9", messages=user())
        lost = served.http.get("/v1/models/gpt-9")

        assert raised.value.code == "model_not_found"
        assert lost.status_code == 404
        assert served.upstream.requests == []


@pytest.mark.timeout(400)
def test_32_clients_at_once_get_their_own_answers(upstream: OpenAIServer) -> None:
    asked = [f"{QUESTION} Number {number}." for number in range(32)]

    async def ask(served: Served) -> list[str]:
        async with openai.AsyncOpenAI(
            base_url=f"{served.address}/v1", api_key="none", max_retries=0
        ) as client:
            replies = await asyncio.gather(
                *(
                    client.chat.completions.create(model="conflictscore", messages=user(question))
                    for question in asked
                )
            )
        return [reply.id.removeprefix("chatcmpl-") for reply in replies]

    with serving(upstream, settings={"max_concurrent": 16}) as served:
        ids = asyncio.run(ask(served))
        runs = [served.http.get(f"/v1/runs/{run_id}").json() for run_id in ids]

    assert [run["question"] for run in runs] == asked
    assert {run["status"] for run in runs} == {"corrected"}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/runs"])
def test_silent_streams_show_life(world: ChatWorld, path: str) -> None:
    gate = world.gates["Documents that were found"] = threading.Event()
    stepwise = path == "/v1/runs"
    body = {"question": QUESTION} if stepwise else asking(model="scripted", stream=True)
    sign = ALIVE.decode() if stepwise else '"delta": {"content": ""}'

    with (
        serving(world, settings={"heartbeat": 0.02}) as served,
        served.http.stream("POST", path, json=body) as reply,
    ):
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["cache-control"] == "no-cache"
        assert reply.headers["x-accel-buffering"] == "no"
        heard = ""
        for piece in reply.iter_text():
            heard += piece
            if heard.count(sign) > 2:
                gate.set()

    assert "1874" in heard


def test_openais_client_streams_the_final_answer(served: Served) -> None:
    stream = served.openai.chat.completions.create(
        model="scripted", messages=user(), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)

    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "It was lit in 1874."
    assert "1871" not in json.dumps([c.choices[0].delta.model_dump() for c in chunks[:-1]])
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert (chunks[-2].model_extra or {})["conflictscore"]["status"] == "corrected"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens > 1000


@pytest.mark.parametrize("other", [None, PICTURE], ids=["texts", "with a picture"])
def test_an_answer_in_parts_is_checked_and_streamed_to_its_end(
    world: ChatWorld, other: dict[str, Any] | None
) -> None:
    parts = [{"type": "text", "text": text} for text in ("It was ", "lit in 1871.")]
    world.plain = completion_with({"content": [*parts, *([other] if other else [])]})
    settings = {"first_answer": "upstream"}

    with serving(world, found=AGREEING, settings=settings) as served:
        reply = served.ask(stream=True)

    said = [data for _, data in events_in(reply.text)]
    assert said[-1] == "[DONE]"
    assert said[-2]["conflictscore"]["status"] == "scored"
    contents = [c["choices"][0]["delta"].get("content") for c in said[:-1]]
    assert "".join(c for c in contents if isinstance(c, str)) == "It was lit in 1871."
    assert [c for c in contents if isinstance(c, list)] == ([[other]] if other else [])


def test_a_changed_answer_keeps_its_thoughts_and_the_citations_before_the_change(
    world: ChatWorld,
) -> None:
    def cited(start: int, end: int) -> dict[str, Any]:
        place = {"start_index": start, "end_index": end, "url": "https://a.test", "title": "A"}
        return {"type": "url_citation", "url_citation": place}

    first = "It is old. It was lit in 1871."
    said = {
        "content": first,
        "reasoning_content": "hm",
        "annotations": [cited(0, 9), cited(11, 29)],
    }
    world.plain, world.regenerated = completion_with(said), first.replace("1871", "1874")
    world.decomposition = "Claims:\n- It was lit in 1871."

    with serving(world, settings={"first_answer": "upstream"}) as served:
        message = served.ask().json()["choices"][0]["message"]

    assert message["content"] == world.regenerated
    assert message["reasoning_content"] == "hm"
    assert message["annotations"] == [cited(0, 9)]
