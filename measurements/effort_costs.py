"""Calls, tokens and seconds of an answer by effort, at an endpoint that takes a second a call.

```sh
python -m measurements.effort_costs --seconds 1
```

The endpoint is scripted (``tests/fakes``): its answer has 2 or 25 claims, each told by every
document; in a disputed answer two of three documents give another year for the first claim.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import click

from conflictscore import create_self_correcting_rag
from tests.batches import batch_of, batch_reply
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
    """A sentence about one thing in the town."""
    return f"The {_THINGS[number - 1]} was {_DEEDS[number % 4]} in {year}."


@dataclass
class Town(World):
    """A model that takes a while, and compares years thing by thing."""

    seconds: float = 1.0

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        """Reply after a while."""
        time.sleep(self.seconds)
        prompt = str(request.messages[-1]["content"])
        if '"verdicts", a list' in prompt:
            self.asked["batch"] += 1
            asked = batch_of(prompt)
            return batch_reply([asked.verdict(one, compared) for one in asked.claims])
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
        """What a document says of the first thing."""
        [year] = re.findall(rf"{_THINGS[0]} was [a-z ]+ in (\d{{4}})", document)
        return told(1, int(year))


def compared(claim: str, document: str) -> str:
    """How a document bears on a claim."""
    for line in document.splitlines():
        if line.split()[1:2] == claim.split()[1:2]:
            same = _YEAR.findall(line) == _YEAR.findall(claim)
            return "SUPPORTS" if same else "CONTRADICTS"
    return "IRRELEVANT"


def _last(prompt: str, mark: str) -> str:
    return str(re.findall(rf"<{mark}\b[^>]*>(.*?)</{mark}\b[^>]*>", prompt, re.DOTALL)[-1])


def measured(
    effort: Any, claims: int, documents: int, *, disputed: bool, seconds: float
) -> tuple[int, int, float, str]:
    """Calls, tokens, seconds, and whether the answer was checked and changed."""
    years = {number: 1800 + number for number in range(1, claims + 1)}
    texts = []
    for number in range(documents):
        years_here = years | ({1: 1899} if disputed and number % 3 else {})
        own = " ".join(
            _FILLER[(number * 5 + n * (number + 1)) % 12] + str(n) for n in range(3 * claims)
        )
        texts.append("\n".join(told(*one) for one in years_here.items()) + f"\nAlso of {own}.")
    sentences = [told(*one) for one in years.items()]
    world = Town(answer=" ".join(sentences), regenerated=told(1, 1899), seconds=seconds)
    with OpenAIServer(world) as server:
        graph = create_self_correcting_rag(scripted_model(server), cache=False, effort=effort)
        # the first answer of a process learns in one call more what the endpoint can do
        graph.invoke({"question": "When?", "documents": [told(3, 1803), told(4, 1804)]})
        before = len(server.requests)
        started = time.perf_counter()
        state = graph.invoke({"question": "What was made when?", "documents": texts})
        took = time.perf_counter() - started
        calls = len(server.requests) - before
    usage = state["usage"]
    outcome = f"{state['checked']}, {'changed' if state['flipped'] else 'kept'}"
    return calls, usage["input_tokens"] + usage["output_tokens"], took, outcome


@click.command()
@click.option("--seconds", default=1.0, help="Seconds that the endpoint takes for a call.")
@click.option("--effort", "efforts", multiple=True, default=("fast", "standard", "thorough"))
def main(seconds: float, efforts: Sequence[str]) -> None:
    """Print a table in Markdown."""
    click.echo("| effort | claims | documents | disputed | calls | tokens | seconds | |")
    click.echo("|---|---|---|---|---|---|---|---|")
    for effort, disputed, claims, documents in product(efforts, (False, True), (2, 25), (6, 10)):
        calls, tokens, took, outcome = measured(
            effort, claims, documents, disputed=disputed, seconds=seconds
        )
        click.echo(
            f"| {effort} | {claims} | {documents} | {'yes' if disputed else 'no'}"
            f" | {calls} | {tokens:,} | {took:.1f} | {outcome} |"
        )


if __name__ == "__main__":
    main()
