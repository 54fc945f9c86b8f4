"""Counts the tokens that a model reads and writes in each call of the demo.

```sh
python -m measurements.demo_steps
```

The command answers the question of ``make demo`` from ``examples/lighthouse``, without a cache. For
each call, it prints the name of the prompt's *template* in ``conflictscore/prompts``, and how many
tokens were *sent*, *read* and *written*. If a prompt begins like an earlier one, the local model
server still has the state of these tokens, and reads only the others. Reading takes most of the
time of a call.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import click
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from conflictscore import create_self_correcting_rag
from conflictscore.models.usage import cost_of
from conflictscore.prompts import PromptSet
from conflictscore.retrieval.opening import open_retrieval

QUESTION = "In which year did the Vennick Point lighthouse first light its lamp?"
"""The question of ``make demo``."""
# Placeholders, and the tags around a document, to which a mark is added.
_VARIABLE = re.compile(r"\$\{?[a-z_]+\}?|</?document\b[^<>]*>")
_DOCUMENTS = Path(__file__).parents[1] / "examples" / "lighthouse"


class Call(NamedTuple):
    """A call: its template, and the tokens of its prompt and reply."""

    template: str
    sent: int
    kept: int
    """Tokens of the prompt whose state the server has from an earlier prompt."""
    written: int

    @property
    def read(self) -> int:
        """Tokens of the prompt that the server has to read."""
        return self.sent - self.kept


def template_of(prompt: str, templates: Mapping[str, str]) -> str:
    """Return the name of the template from which a prompt was made; empty if there is none.

    A prompt begins like its template, and has all text between the template's placeholders. If
    there are several such templates, the longest is returned.
    """
    parts = {name: _VARIABLE.split(text) for name, text in templates.items()}
    matching = [name for name, texts in parts.items() if any(texts) and _is_made_of(prompt, texts)]
    return max(matching, key=lambda name: sum(map(len, parts[name])), default="")


def _is_made_of(prompt: str, texts: Sequence[str]) -> bool:
    """Return whether a prompt begins with the first text, and has the others after it in order."""
    place = len(texts[0]) if prompt.startswith(texts[0]) else -1
    for text in texts[1:]:
        found = prompt.find(text, place) if place >= 0 else -1
        place = found + len(text) if found >= 0 else -1
    return place >= 0


@dataclass
class CallRecorder(BaseCallbackHandler):
    """Records the template and tokens of each call, in the order in which the replies arrive."""

    templates: Mapping[str, str]
    calls: list[Call] = field(default_factory=list)
    _names: dict[UUID, str] = field(default_factory=dict)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """Note the template of a prompt."""
        self._names[run_id] = template_of(messages[0][-1].text, self.templates)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Record an answered call."""
        generation = response.generations[0][0]
        cost = cost_of(generation.message if isinstance(generation, ChatGeneration) else None)
        name = self._names.pop(run_id, "")
        self.calls.append(Call(name, cost.input_tokens, cost.cache_read_tokens, cost.output_tokens))


def demo_calls(model: str | BaseChatModel) -> tuple[Sequence[Call], str, str]:
    """Return the calls of the demo with a model, its first answer, and its final answer."""
    prompts = PromptSet.load()
    recorder = CallRecorder(prompts.texts)
    graph = create_self_correcting_rag(
        model, open_retrieval(docs=str(_DOCUMENTS)), prompts=prompts, cache=False
    )
    state = graph.invoke({"question": QUESTION}, config={"callbacks": [recorder]})
    return recorder.calls, str(state["first_answer"]), str(state["answer"])


@click.command(help=__doc__)
@click.option("--model", default="local", show_default=True)
def main(model: str) -> None:
    """See the module."""
    calls, first_answer, answer = demo_calls(model)
    click.echo("| template | sent | read | written |")
    click.echo("|---|---|---|---|")
    for call in calls:
        click.echo(f"| {call.template} | {call.sent:,} | {call.read:,} | {call.written:,} |")
    sent, read, written = map(sum, zip(*((c.sent, c.read, c.written) for c in calls), strict=True))
    click.echo(f"| all {len(calls)} | {sent:,} | {read:,} | {written:,} |")
    click.echo(f"\nbefore: {first_answer}\nnow: {answer}")


if __name__ == "__main__":
    main()
