"""Measures the model calls and tokens that a check adds to a turn, without a clock.

```sh
python -m measurements.price
```

A scripted endpoint (``tests/fakes``), which imitates OpenAI's API, answers questions from documents
of one paragraph each. The endpoint also gives the labels, for the default labeler. Tokens are
counted with OpenAI's vocabulary. The plain turn is the single call that answers from the same
documents without a check. The interpreter's steps are counted per call to a judge and per row of
`score-file`. ``measurements.client_loops`` measures the processor time of the calls, and
``measurements.service_load`` measures the service.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import click

from conflictscore import create_self_correcting_rag
from conflictscore.tokens import count_tokens
from measurements.call_steps import call_steps, file_call_steps
from measurements.effort_costs import Town, told, town_documents
from measurements.row_steps import row_steps
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import scripted_model


class Exchange(NamedTuple):
    """A call: the first words of its prompt, and the tokens of its messages and of its reply."""

    first_words: str
    read: int
    written: int


class Price(NamedTuple):
    """The cost of a checked answer, and its cost without the check."""

    calls: int
    read: int
    """Tokens of all messages sent to the endpoint."""
    written: int
    plain: int
    """Tokens of the prompt and reply of the call that answers the question."""
    outcome: str

    @property
    def ratio(self) -> float:
        """Tokens of the whole turn, divided by those of the plain turn."""
        return (self.read + self.written) / self.plain


@dataclass
class CountedTown(Town):
    """The scripted model, which records the tokens of each call."""

    exchanges: list[Exchange] = field(default_factory=list)
    _lock: Any = field(default_factory=threading.Lock)

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        """Reply, and record the tokens."""
        reply = super().__call__(request)
        text = reply.text if isinstance(reply, Reply) else reply
        exchange = Exchange(
            request.prompt[:60],
            sum(count_tokens(str(message["content"])) for message in request.messages),
            count_tokens(text) if isinstance(text, str) else 0,
        )
        with self._lock:
            self.exchanges.append(exchange)
        return reply


def price_of(
    claims: int,
    documents: int,
    *,
    disputed: bool = False,
    each: int | None = None,
    alone: bool = False,
) -> Price:
    """Return the price of one answer with the default labeler.

    Each document states ``each`` of the claims, by default all. ``disputed`` and ``alone`` are
    those of :func:`~measurements.effort_costs.town_documents`.
    """
    years = {number: 1800 + number for number in range(1, claims + 1)}
    texts = town_documents(years, documents, disputed=disputed, each=each, alone=alone)
    answer = " ".join(told(*sentence) for sentence in years.items())
    town = CountedTown(answer=answer, regenerated=told(1, 1899), seconds=0)
    with OpenAIServer(town) as server:
        graph = create_self_correcting_rag(scripted_model(server), cache=False)
        graph.invoke({"question": "When?", "documents": [told(3, 1803), told(4, 1804)]})
        town.exchanges.clear()  # not counted: detecting the endpoint's capabilities
        state: Mapping[str, Any] = graph.invoke(
            {"question": "What was made when?", "documents": texts}
        )
    answering = town.exchanges[0]
    return Price(
        calls=len(town.exchanges),
        read=sum(exchange.read for exchange in town.exchanges),
        written=sum(exchange.written for exchange in town.exchanges),
        plain=answering.read + answering.written,
        outcome=f"{state['checked']}, {'changed' if state['flipped'] else 'kept'}",
    )


_ANSWERS = (
    (6, 10, None, 0),
    (25, 10, None, 0),
    (25, 10, 5, 0),
    (6, 10, None, 1),
    (6, 10, None, 6),
)


@click.command(help=__doc__)
def main() -> None:
    """See the module."""
    columns = "claims | told by a document | documents | dissenting | calls | read | written"
    click.echo(f"| {columns} | x plain turn | |")
    click.echo("|---|---|---|---|---|---|---|---|---|")
    for claims, documents, each, dissenting in _ANSWERS:
        price = price_of(
            claims, documents, disputed=dissenting > 0, each=each, alone=dissenting == 1
        )
        click.echo(
            f"| {claims} | {each or claims} | {documents} | {dissenting}"
            f" | {price.calls}"
            f" | {price.read:,} | {price.written:,} | {price.ratio:.1f} | {price.outcome} |"
        )
    click.echo(
        f"\nA call to a judge (`json`), with all work around it, takes {call_steps():,.0f} function"
        f" calls. While `score-file` scores short rows, it takes {file_call_steps():,.0f}."
    )
    steps = row_steps()
    click.echo(
        f"\nA row of `score-file` with two claims and three documents takes {steps.calls:,.0f}"
        f" function calls and creates {steps.records:.0f} records."
    )


if __name__ == "__main__":
    main()
