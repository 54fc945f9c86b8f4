"""Measures calls, tokens and seconds per answer for each effort, with a slow scripted endpoint.

```sh
python -m measurements.effort_costs --seconds 1
```

The scripted endpoint (``tests/fakes``) takes ``--seconds`` per call. The endpoint's answer has 2 or
25 claims, and every document states all of these claims. If the answer is disputed, two of every
three documents give a different year for the first claim.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import click

from conflictscore import create_self_correcting_rag
from tests.batches import AskedBatch, batch_of, brief_reply
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import World, scripted_model

_TOLD = re.compile(r"The \w+ was \w+ by [\w ]+ in \d{4}\.")
_SAID_THINGS = """
    bell lamp tower mill bridge quay school chapel market ferry library lifeboat railway cannery
    orchard brewery well clock weir observatory lock forge theatre hospital reservoir
"""
_THINGS = _SAID_THINGS.split()
_DEEDS = "hung by the parish", "opened by two sisters", "built by convicts", "given by a whaler"
_SAID_FILLER = "harbour mole lantern keeper gull tide rope barrel sail chart anchor signal"
_FILLER = _SAID_FILLER.split(" ")
_YEAR = re.compile(r"\b1[89]\d\d\b")


def told(number: int, year: int) -> str:
    """Return a sentence that states the year of one thing in the town."""
    return f"The {_THINGS[number - 1]} was {_DEEDS[number % 4]} in {year}."


@dataclass
class Town(World):
    """A slow scripted model that compares the years given for a thing."""

    seconds: float = 1.0

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        """Reply after a delay."""
        time.sleep(self.seconds)
        prompt = str(request.messages[-1]["content"])
        if '"verdicts"' in prompt:
            self.asked["batch"] += 1
            asked = batch_of(prompt)
            return brief_reply([_verdict(asked, claim_id) for claim_id in asked.claims])
        if "the separate claims" in prompt:
            self.asked["decompose"] += 1
            return "Claims:\n" + "\n".join(
                f"- {one}" for one in _TOLD.findall(_last(prompt, "answer"))
            )
        if prompt.startswith("Write the question that a statement answers"):
            return f"When was the {_THINGS[0]} {_DEEDS[1]}?"
        reply = super().__call__(request)
        if '"document_snippet"' in prompt and isinstance(reply, str):
            document, claim = (_last(prompt, mark) for mark in ("document", "claim"))
            return re.sub(r'"answer": "\w+"', f'"answer": "{compared(claim, document)}"', reply)
        return reply

    def reading(self, document: str) -> str:
        """Return the sentence in which a document states the first thing's year."""
        [year] = re.findall(rf"{_THINGS[0]} was [a-z ]+ in (\d{{4}})", document)
        return told(1, int(year))


def _verdict(asked: AskedBatch, claim_id: str) -> dict[str, Any]:
    """Return a verdict with the decisive line, and with a reason of five words, as requested."""
    verdict = asked.verdict(claim_id, compared)
    thing = asked.claims[claim_id].split()[1]
    lines = [line for line in asked.document.splitlines() if line.split()[1:2] == [thing]]
    verdict["snippet"] = lines[0] if lines else ""
    return verdict | {"reason": "It names the same thing."}


def compared(claim: str, document: str) -> str:
    """Return the label of a document for a claim."""
    for line in document.splitlines():
        if line.split()[1:2] == claim.split()[1:2]:
            same = _YEAR.findall(line) == _YEAR.findall(claim)
            return "SUPPORTS" if same else "CONTRADICTS"
    return "IRRELEVANT"


def _last(prompt: str, mark: str) -> str:
    return str(re.findall(rf"<{mark}\b[^>]*>(.*?)</{mark}\b[^>]*>", prompt, re.DOTALL)[-1])


def town_documents(
    years: Mapping[int, int],
    documents: int,
    *,
    disputed: bool,
    each: int | None = None,
    alone: bool = False,
) -> list[str]:
    """Return documents that give the years of some things; the other words differ in each document.

    If ``disputed`` is True, two of every three documents give a different year for the first thing,
    or only the second document if ``alone`` is True. ``each`` is the number of things that a
    document covers; None for all.
    """
    texts = []
    for number in range(documents):
        dissents = disputed and (number == 1 if alone else number % 3)
        years_here = {**years, 1: 1899} if dissents else dict(years)
        if each is not None:
            first = number * each % len(years)
            names = [*years_here, *years_here][first : first + each]
            years_here = {name: years_here[name] for name in names}
        # the words differ in each document, so that no document counts as a copy
        own = " ".join(
            _FILLER[(number * 5 + n * (number + 1)) % 12] + str(n) for n in range(3 * len(years))
        )
        sentences = "\n".join(told(*sentence) for sentence in years_here.items())
        texts.append(f"{sentences}\nAlso of {own}.")
    return texts


class AnswerCost(NamedTuple):
    """The cost of one answer."""

    calls: int
    read: int
    """Tokens of all prompts; the endpoint counts each word as a token."""
    written: int
    seconds: float
    outcome: str
    """How far the answer was checked, and whether it was changed."""

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies together."""
        return self.read + self.written


def measured(
    effort: Any, claims: int, documents: int, *, disputed: bool, seconds: float
) -> AnswerCost:
    """Return the cost of an answer with this many claims, all stated by every document."""
    years = {number: 1800 + number for number in range(1, claims + 1)}
    texts = town_documents(years, documents, disputed=disputed)
    sentences = [told(*one) for one in years.items()]
    world = Town(answer=" ".join(sentences), regenerated=told(1, 1899), seconds=seconds)
    with OpenAIServer(world) as server:
        graph = create_self_correcting_rag(scripted_model(server), cache=False, effort=effort)
        # the first answer of a process takes one more call, to detect the endpoint's capabilities
        graph.invoke({"question": "When?", "documents": [told(3, 1803), told(4, 1804)]})
        before = len(server.requests)
        started = time.perf_counter()
        state = graph.invoke({"question": "What was made when?", "documents": texts})
        took = time.perf_counter() - started
        calls = len(server.requests) - before
    usage = state["usage"]
    outcome = f"{state['checked']}, {'changed' if state['flipped'] else 'kept'}"
    return AnswerCost(calls, usage["input_tokens"], usage["output_tokens"], took, outcome)


@click.command()
@click.option("--seconds", default=1.0, help="Seconds that the endpoint takes per call.")
@click.option("--effort", "efforts", multiple=True, default=("fast", "standard", "thorough"))
def main(seconds: float, efforts: Sequence[str]) -> None:
    """Print the costs as a Markdown table."""
    click.echo("| effort | claims | documents | disputed | calls | tokens | seconds | |")
    click.echo("|---|---|---|---|---|---|---|---|")
    for effort, disputed, claims, documents in product(efforts, (False, True), (2, 25), (6, 10)):
        cost = measured(effort, claims, documents, disputed=disputed, seconds=seconds)
        click.echo(
            f"| {effort} | {claims} | {documents} | {'yes' if disputed else 'no'}"
            f" | {cost.calls} | {cost.tokens:,} | {cost.seconds:.1f} | {cost.outcome} |"
        )


if __name__ == "__main__":
    main()
