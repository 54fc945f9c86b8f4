"""Shared parts of the benchmarks' judges: asking concurrently, and reading a reply."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.models import Fitted, fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Document
from conflictscore.threads import at_once as at_once

_V = TypeVar("_V")
_S = TypeVar("_S", bound=str)

MARKUP = r"[ \t*_`#>\-]*"
"""The Markdown that may stand around a word of a reply."""

_AROUND_VALUE = " \t*_`#>-[]."
_EXPLANATION = re.compile(rf"^{MARKUP}explanation{MARKUP}:[*_\s]*", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Judge:
    """A model that judges, with the templates that it is asked by and what counts its calls."""

    model: LanguageModel
    prompts: PromptSet
    meter: UsageMeter

    async def ask(self, prompt: str, read: Callable[[str], _V], reply_tokens: int) -> _V:
        """Ask once, and once more where the reply cannot be read."""
        return await self.model.ask(
            prompt, read, prompts=self.prompts, meter=self.meter, max_tokens=reply_tokens
        )

    async def decide(self, prompt: str, word: str, reply_tokens: int) -> Verdict:
        """The verdict on the line ``WORD:``, or one without a value that says what failed."""
        try:
            return await self.ask(prompt, lambda reply: read_verdict(reply, word), reply_tokens)
        except (ProviderError, ContextWindowError) as error:
            return Verdict(value=None, error=str(error))

    def fitted(self, documents: Sequence[Document], around: str, reply_tokens: int) -> Fitted:
        """The documents, cut where they must be to fit the context window with ``around`` them."""
        return fit_documents(
            documents, self.model, self.prompts, around=around, reply_tokens=reply_tokens
        )


def read_verdict(reply: str, word: str) -> Verdict:
    """The verdict of a reply: a line ``WORD: True`` or ``WORD: False``, and the explanation.

    Upper and lower case, square brackets and Markdown around the words make no difference. A reply
    without an explanation still has a verdict.

    Args:
        reply: What the judge wrote.
        word: What the line begins with, such as ``TRUTHFUL``.
    """
    begins = re.compile(rf"{MARKUP}{re.escape(word)}{MARKUP}:", re.IGNORECASE)
    values = set()
    for line in reply.splitlines():
        if found := begins.match(line):
            value = line[found.end() :].strip(_AROUND_VALUE).lower()
            if value not in {"true", "false"}:
                raise ValueError(f'the line "{word}:" said neither True nor False')
            values.add(value == "true")
    if len(values) != 1:
        said = "said both True and False" if values else "was missing"
        raise ValueError(f'the line "{word}:" {said}')
    parts = _EXPLANATION.split(reply, maxsplit=1)
    explanation = " ".join(parts[1].split()) if len(parts) > 1 else ""
    return Verdict(value=values.pop(), explanation=explanation or None)


def read_choice(
    reply: str, word: str, choices: Iterable[_S], *, note: str, fold: Callable[[str], str]
) -> tuple[_S, str]:
    """The choice on the line ``WORD:`` of a reply, and the first note, empty without one.

    Upper and lower case and Markdown around the words make no difference.

    Args:
        reply: What the judge wrote.
        word: What the line begins with, such as ``RATING``.
        choices: What it may say, in the order that an error names them.
        note: What a line with a note begins with, such as ``COMMENT``.
        fold: Brings what stands on the line to the form of a choice.
    """
    known = {str(choice): choice for choice in choices}
    line_of = re.compile(rf"{MARKUP}{word}{MARKUP}:(?P<said>.*)", re.IGNORECASE)
    note_of = re.compile(rf"{MARKUP}{note}{MARKUP}:[*_\s]*(?P<said>.*)", re.IGNORECASE)
    said: set[_S] = set()
    noted = ""
    for line in reply.splitlines():
        if found := line_of.match(line):
            if (choice := known.get(fold(found["said"]))) is None:
                raise ValueError(f'the line "{word}:" said none of {", ".join(known)}')
            said.add(choice)
        elif (found := note_of.match(line)) and not noted:
            noted = " ".join(found["said"].split())
    if len(said) != 1:
        raise ValueError(
            f'the line "{word}:" {"said more than one thing" if said else "was missing"}'
        )
    return said.pop(), noted
