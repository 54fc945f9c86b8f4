"""Shortens documents for the benchmarks' judges, asks the judge model, and reads its replies."""

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

_V = TypeVar("_V")

MARKUP = r"[ \t*_`#>\-]*"
"""A pattern that matches the Markdown characters around a word in a reply."""


@dataclass(frozen=True)
class Judge:
    """A model that judges answers, its prompt templates, and the meter that counts its calls."""

    model: LanguageModel
    prompts: PromptSet
    meter: UsageMeter

    async def ask(self, prompt: str, parse: Callable[[str], _V], reply_tokens: int) -> _V:
        """Ask the model, and return its reply as ``parse`` reads it.

        ``parse`` raises a ValueError if it cannot read a reply. If a reply cannot be read, the
        model is asked a second time.
        """
        return await self.model.ask(
            prompt, parse, prompts=self.prompts, meter=self.meter, max_tokens=reply_tokens
        )

    async def decide(self, prompt: str, word: str, reply_tokens: int) -> Verdict:
        """Ask the model for a verdict, which its reply gives on the line ``WORD:``.

        If the call fails, or if two replies are unreadable, the verdict has an error instead of a
        value.
        """
        try:
            return await self.ask(prompt, lambda reply: read_verdict(reply, word), reply_tokens)
        except (ProviderError, ContextWindowError) as error:
            return Verdict(value=None, error=str(error))

    def fitted(self, documents: Sequence[Document], around: str, reply_tokens: int) -> Fitted:
        """Cut the documents if they and the text ``around`` exceed the model's context window."""
        return fit_documents(
            documents, self.model, self.prompts, around=around, reply_tokens=reply_tokens
        )


def read_verdict(reply: str, word: str) -> Verdict:
    """Read a verdict from a line ``WORD: True`` or ``WORD: False``, and its explanation.

    The explanation may be missing. The rules are those of :func:`read_choice`.
    """
    choice, explanation = read_choice(reply, word, (True, False), note="EXPLANATION")
    return Verdict(value=choice, explanation=explanation or None)


def read_choice(reply: str, word: str, choices: Iterable[_V], *, note: str) -> tuple[_V, str]:
    """Read the choice on the line ``WORD:`` of a reply, and the first note, which may be empty.

    Letter case is ignored, and so are punctuation and Markdown around the words. The argument
    ``note`` is the word that begins a note, such as ``COMMENT``. A note ends before the line
    ``WORD:``, before the next note, or at the end of the reply.

    Raises:
        ValueError: The line is missing, it names none of the choices, it names something that is
            not a choice, or two such lines name different choices. The message lists the choices in
            their order.
    """
    # ``str`` is needed for the choices True and False
    choices_by_words = {_words(str(choice)): choice for choice in choices}
    line_of, note_of = (
        re.compile(rf"{MARKUP}{re.escape(mark)}{MARKUP}:(?P<said>.*)", re.IGNORECASE)
        for mark in (word, note)
    )
    named_choices: set[_V] = set()
    notes: list[list[str]] = []
    inside = False
    for line in reply.splitlines():
        if match := line_of.match(line):
            inside = False
            if (name := _words(match["said"])) not in choices_by_words:
                allowed_words = ", ".join(map(str, choices_by_words.values()))
                raise ValueError(f'the line "{word}:" named none of {allowed_words}')
            named_choices.add(choices_by_words[name])
        elif match := note_of.match(line):
            inside = True
            notes.append([match["said"].lstrip("*_ ")])
        elif inside:
            notes[-1].append(line)
    if len(named_choices) != 1:
        raise ValueError(
            f'the line "{word}:" {"named more than one choice" if named_choices else "was missing"}'
        )
    return named_choices.pop(), " ".join(" ".join(notes[0]).split()) if notes else ""


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))
