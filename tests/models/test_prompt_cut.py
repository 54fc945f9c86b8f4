"""The tokens that a server reports reveal that it read only part of a prompt."""

import pytest

from conflictscore.errors import ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from tests.fakes.openai_server import OpenAIServer, Reply, then
from tests.models.calling import calling

PROMPTS = PromptSet.load()
ENGLISH = "Row 7 lists a repair of the fence and what it cost. " * 300
CHINESE = "第七行列出了围栏的一次修理及其费用。" * 300


async def ask(prompt: str, read: int | None) -> str:
    with OpenAIServer(then(Reply("Yes.", input_tokens=read, output_tokens=1))) as server:
        meter = UsageMeter()
        return await calling(server).ask(prompt, str, prompts=PROMPTS, meter=meter, max_tokens=9)


@pytest.mark.parametrize(("prompt", "read"), [(ENGLISH, 1000), (CHINESE, 400)])
async def test_a_reply_to_a_cut_prompt_does_not_count(prompt: str, read: int) -> None:
    with pytest.raises(ProviderError, match=f"read {read:,} of about .*num_ctx in Ollama"):
        await ask(prompt, read)


async def test_a_count_below_any_window_is_that_of_a_server_that_leaves_out_its_cache() -> None:
    assert await ask(ENGLISH, 37) == "Yes."


async def test_a_server_that_has_read_more_did_not_cut_a_prompt() -> None:
    counts = iter([3000, 1000])
    with OpenAIServer(lambda _: Reply("Yes.", input_tokens=next(counts))) as server:
        model, meter = calling(server), UsageMeter()
        for _ in range(2):
            reply = await model.ask(
                ENGLISH, str, prompts=PROMPTS, meter=meter, max_tokens=9, parameters={"seed": 1}
            )
            assert reply == "Yes."


async def test_a_count_that_falls_as_the_prompt_is_sent_again_leaves_out_a_cache() -> None:
    """The server had parts of the prompt in its cache from an earlier run."""
    counts = iter([900, 1, 900])
    with OpenAIServer(lambda _: Reply("Yes.", input_tokens=next(counts))) as server:
        model, meter = calling(server), UsageMeter()
        for seed in range(2):
            reply = await model.ask(
                ENGLISH, str, prompts=PROMPTS, meter=meter, max_tokens=9, parameters={"seed": seed}
            )
            assert reply == "Yes."
    assert len(server.requests) == 3, "the second call knew"


async def test_cached_tokens_that_are_counted_apart_were_read() -> None:
    counted = Reply("Yes.", input_tokens=900, output_tokens=1, cached_tokens=2100)
    with OpenAIServer(then(counted)) as server:
        reply = await calling(server).ask(
            ENGLISH, str, prompts=PROMPTS, meter=UsageMeter(), max_tokens=9
        )
    assert reply == "Yes."
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        *(
            (ENGLISH, 3000),
            (ENGLISH, 2500),
            (ENGLISH, 0),
            (CHINESE, 3000),
            ("Was it lit? " * 20, 3),
        ),
        # tokenizers that know an emoji or a rare script need a tenth of the tokens of others
        *(("🏰🕯️" * 1000, 1000), ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ " * 400, 1500), ("ትግርኛ ቋንቋ " * 500, 1200)),
    ],
)
async def test_other_tokenizers_and_silent_servers_are_believed(prompt: str, read: int) -> None:
    assert await ask(prompt, read) == "Yes."
