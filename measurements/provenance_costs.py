"""Measures what two defences cost honest callers.

First table: an answer states a dose that only a minority of the sources give. A tool returns all
sources in one text or message, in one of several formats. In some of these formats, parts that may
have the same author count as one source. The loop therefore runs twice: once with the sources that
this package counts, and once with each part counted as a separate source. The table shows how often
the answer is corrected, hedged or kept. The model and the judge are scripted and make no errors.

Second table: two callers ask about the same documents, and the second caller's answer differs
slightly from the first caller's. The table shows the calls and prompt tokens that are needed for
the second caller's labels. In the column "as shipped", cached verdicts are shared only between
equal batches of claims. In the column "by pair", they are shared between equal pairs of claim and
document.
"""

import asyncio
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from langchain_core.documents import Document as Retrieved
from langchain_core.messages import ToolMessage

from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.table import label_table
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document
from conflictscore.retrieval.tool_results import documents_from_messages
from conflictscore.retrieval.voices import VOICE
from conflictscore.storage.cache import ContentCache
from measurements.campaign_voices import answer_of
from tests.batches import batch_of, batch_reply
from tests.fakes.openai_server import ChatRequest, OpenAIServer

Source = Mapping[str, str]
Shape = Callable[[Sequence[Source]], list[ToolMessage]]

_QUESTION = "What is the safe dose of zarafen?"
_RIGHT, _WRONG = "50 mg", "100 mg"
_ANSWER = f"The safe dose is {_WRONG} a day."
_BODIES = ("a ministry", "an institute", "a clinic", "a journal", "a maker", "a court", "a museum")
_DOCUMENTS, _CLAIMS = 6, 6


def _message(content: Any, artifact: Any = None, name: str = "search") -> ToolMessage:
    return ToolMessage(content, name=name, tool_call_id="1", artifact=artifact)


def _joined(form: str) -> Shape:
    def shape(sources: Sequence[Source]) -> list[ToolMessage]:
        parts = [form.format(n=n, **source) for n, source in enumerate(sources, 1)]
        return [_message("\n\n".join(parts))]

    return shape


def _artifact(sources: Sequence[Source]) -> list[ToolMessage]:
    documents = [Retrieved(each["text"], metadata={"source": each["url"]}) for each in sources]
    return [_message("\n\n".join(each["text"] for each in sources), documents)]


SHAPES: dict[str, Shape] = {
    "documents as an artifact": _artifact,
    "JSON list": lambda sources: [_message(json.dumps([dict(each) for each in sources]))],
    "content blocks": lambda sources: [
        _message([{"type": "text", "text": each["text"]} for each in sources])
    ],
    "a fetch for each": lambda sources: [
        _message(
            [{"type": "resource", "resource": {"uri": each["url"], "text": each["text"]}}],
            name="fetch",
        )
        for each in sources
    ],
    "texts and empty lines": _joined("{text}"),
    "numbered, with fields": _joined("[{n}] {title}\nSource: {url}\n{text}"),
    "fields": _joined("Title: {title}\nURL: {url}\nContent: {text}"),
    "document tags": _joined('<document title="{title}" url="{url}">{text}</document>'),
}


def sources_of(chance: random.Random) -> list[Source]:
    """Return two to four sources for the correct dose, and fewer for the wrong dose."""
    right = chance.randrange(2, 5)
    doses = [_RIGHT] * right + [_WRONG] * chance.randrange(1, right)
    chance.shuffle(doses)
    bodies = chance.sample(_BODIES, len(doses))
    return [
        {
            "title": f"Report {n}",
            "url": f"https://site{n}.test/{chance.randrange(1000)}",
            "text": f"The safe dose of zarafen is {dose} a day. So says {body} in report {n}.",
        }
        for n, (dose, body) in enumerate(zip(doses, bodies, strict=True), 1)
    ]


def outcome_of(sources: Sequence[Source], shape: Shape, *, with_voices: bool) -> str:
    """Return ``corrected``, ``hedged`` or ``kept``."""
    documents = [
        {
            "text": document.text,
            "title": document.title,
            "url": document.url,
            "metadata": {
                name: value
                for name, value in document.metadata.items()
                if with_voices or name != VOICE
            },
        }
        for document in documents_from_messages(shape(sources))
    ]
    answer = answer_of(_QUESTION, _ANSWER, documents)
    has_right, has_wrong = "50" in answer, "100" in answer
    return "hedged" if has_right and has_wrong else "corrected" if has_right else "kept"


class _Sharing(BatchJudge):
    """A batch judge whose cached verdicts are shared between equal pairs of claim and document."""

    def __init__(self, model: LanguageModel, prompts: PromptSet) -> None:
        """Give the judge the identity of a judge that labels a single claim per call."""
        super().__init__(model, prompts)
        self.identity = {n: each for n, each in (self.identity or {}).items() if n != "at_once"}


def _variants() -> dict[str, list[str]]:
    claims = [f"Hall {n} was built in 18{n}0." for n in range(1, _CLAIMS + 1)]
    return {
        "the same answer": claims,
        "sentences in another order": claims[::-1],
        "a sentence left out": claims[:-1],
        "a sentence added": [*claims, "Hall 9 was built in 1890."],
        "a sentence changed": [*claims[:-1], "Hall 6 was built in 1861."],
        "one of the sentences": claims[:1],
    }


def _reply(request: ChatRequest) -> str:
    batch = batch_of(request.prompt)
    return batch_reply([batch.verdict(each, lambda *_: "SUPPORTS") for each in batch.claims])


async def second_caller(judge: BatchJudge, texts: Sequence[str]) -> tuple[int, int]:
    """Label the first answer, then the second; return the second's calls and prompt tokens."""
    documents = [Document(number=n, text=f"Hall {n} is old.") for n in range(1, _DOCUMENTS + 1)]
    with tempfile.TemporaryDirectory() as folder:
        cache = ContentCache(Path(folder) / "cache.sqlite")
        for asked_texts in (_variants()["the same answer"], texts):
            meter = UsageMeter()
            claims = [Claim(number=n, text=text) for n, text in enumerate(asked_texts, 1)]
            await label_table(judge, claims, documents, meter=meter, cache=cache)
        cache.close()
    return meter.usage.calls, meter.usage.input_tokens


@click.command(help=__doc__)
@click.option(
    "--cases", default=20, show_default=True, help="Number of sets of sources for each form."
)
@click.option("--seed", default=0, show_default=True)
def main(cases: int, seed: int) -> None:
    """Print both tables."""
    click.echo(f"{'corrected, hedged, kept':<28}{'as shipped':>14}{'own voices':>14}")
    for name, shape in SHAPES.items():
        chance = random.Random(seed)  # noqa: S311 - no secret
        all_sources = [sources_of(chance) for _ in range(cases)]
        counts = [
            Counter(outcome_of(each, shape, with_voices=with_voices) for each in all_sources)
            for with_voices in (True, False)
        ]
        shown = (", ".join(str(c[k]) for k in ("corrected", "hedged", "kept")) for c in counts)
        click.echo(f"{name:<28}{''.join(f'{each:>14}' for each in shown)}")
    click.echo(f"\n{'calls, prompt tokens':<28}{'as shipped':>14}{'by pair':>14}")
    with OpenAIServer(_reply) as server:
        model = open_model("scripted", base_url=server.base_url)
        judges = [kind(model, PromptSet.load()) for kind in (BatchJudge, _Sharing)]
        for name, texts in _variants().items():
            costs = [asyncio.run(second_caller(judge, texts)) for judge in judges]
            shown = (f"{calls}, {tokens:,}" for calls, tokens in costs)
            click.echo(f"{name:<28}{''.join(f'{each:>14}' for each in shown)}")


if __name__ == "__main__":
    main()
