"""What each mode of the LLM judge asks for one question: calls and input tokens.

The prompts are those that go over the wire to a simulated endpoint, which gives a verdict on every
pair; their tokens are counted here. "rules" are the tokens of the rules alone, which stand in every
call. "repeated" are those at the beginning of a prompt that another call of the question begins
with too: what a provider that keeps prefixes charges a fraction for.

The default lengths are those that make the three goals agree with each other: with rules of 143
tokens, pairwise is 28,700 tokens, per-document 6,000 and matrix 3,400.
"""

import asyncio
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any, NamedTuple, cast, get_args

import click
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.graph.create import run_context
from conflictscore.graph.settings import LoopSettings
from conflictscore.labelers import LabelerName
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document
from conflictscore.tokens import count_tokens
from measurements.service_load import started

__all__ = ["main"]

_MODEL = "gpt-4.1-mini"
"""Whose tokens are counted."""
_UNASKED = ("choice", "nli", "cascade")
"""Labelers that need what the simulated endpoint does not have, or no endpoint."""
_GOALS = {"json": 28_700, "per-document": 6_000, "matrix": 3_400}
_ROW = "{:<14}{:>7}{:>14}{:>10}{:>10}{:>10}{:>8}"
_COLUMNS = ("labeler", "calls", "input tokens", "rules", "repeated", "goal", "x goal")
_WORDS = (
    *("the", "keeper", "wrote", "that", "light", "over", "harbour", "stone", "was", "seen", "by"),
    *("ships", "from", "far", "in", "winter", "and", "each", "log", "of", "this", "year", "gives"),
    *("another", "hour", "for", "when", "oil", "first", "came", "up", "to", "its", "room"),
)


class _Cost(NamedTuple):
    calls: int
    tokens: int
    repeated: int


class _Prompts(BaseCallbackHandler):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        self.texts.append("\n".join(message.text for message in messages[0]))


@click.command(help=__doc__)
@click.option("--claims", default=6, show_default=True)
@click.option("--documents", default=10, show_default=True)
@click.option("--claim-tokens", default=24, show_default=True)
@click.option("--document-tokens", default=311, show_default=True)
def main(claims: int, documents: int, claim_tokens: int, document_tokens: int) -> None:
    """See the module."""
    rules = _tokens(PromptSet.load().render("label_rules_brief"))
    asked = [Claim(number=n, text=_text(n, claim_tokens)) for n in range(1, claims + 1)]
    shown = [
        Document(number=n, text=_text(100 + n, document_tokens)) for n in range(1, documents + 1)
    ]
    endpoint = ["-m", "measurements.simulated_upstream", "--delay=0"]
    with started(endpoint, "stdout") as address:
        costs = asyncio.run(_costs(asked, shown, address))
    click.echo(_ROW.format(*_COLUMNS))
    for labeler, cost in costs.items():
        goal = _GOALS.get(labeler)
        row = [labeler, cost.calls, f"{cost.tokens:,}", f"{cost.calls * rules:,}"]
        row += [f"{cost.repeated:,}", f"{goal:,}" if goal else ""]
        click.echo(_ROW.format(*row, f"{cost.tokens / goal:.2f}" if goal else "").rstrip())


async def _costs(
    claims: Sequence[Claim], documents: Sequence[Document], address: str
) -> dict[LabelerName, _Cost]:
    names = cast("tuple[LabelerName, ...]", get_args(LabelerName))
    return {
        labeler: await _cost(labeler, claims, documents, address)
        for labeler in names
        if labeler not in _UNASKED
    }


async def _cost(
    labeler: LabelerName, claims: Sequence[Claim], documents: Sequence[Document], address: str
) -> _Cost:
    prompts = _Prompts()
    chat = ChatOpenAI(
        model=_MODEL, base_url=address, api_key=SecretStr("none"), callbacks=[prompts]
    )
    settings = LoopSettings(labeler=labeler, cache=False, context_window=128_000)
    context = run_context(chat, None, settings)
    if context.whole_answer:
        claims = [Claim(number=1, text=" ".join(claim.text for claim in claims))]
    await label_table(
        context.labeler,
        claims,
        documents,
        meter=UsageMeter(),
        max_claims=context.max_claims,
    )
    texts = sorted(prompts.texts)
    repeated = sum(_tokens(_common(one, other)) for one, other in pairwise(texts))
    return _Cost(len(texts), sum(_tokens(text) for text in texts), repeated)


def _text(number: int, tokens: int) -> str:
    """A text of so many tokens, unlike that of another number from its beginning on."""
    words = [f"Ledger number {number}:"]
    while _tokens(" ".join(words)) < tokens - 1:
        words.append(_WORDS[(number * len(words) + len(words) ** 2) % len(_WORDS)])
    return " ".join(words) + "."


def _tokens(text: str) -> int:
    return count_tokens(text, _MODEL).n


def _common(one: str, other: str) -> str:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(letter for letter, _ in same)


if __name__ == "__main__":
    main()
