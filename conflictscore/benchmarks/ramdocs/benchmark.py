"""RAMDocs, judged by exact match.

One name covers one to three entities there ("What sport is Richard Leach associated with?"), each
with an answer that is right for it. The question asks for what is right for each of them. Its
correct documents therefore may disagree without a wrong one among them: that a claim conflicts is
no sign of misinformation. Where the question names the entities, answers, and the claims that are
made of them, say which entity they are about. What exact match cannot see: a wrong answer that is
mentioned only to be denied counts as given, and a date or number that is written in another way
counts as missing.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from conflictscore.benchmarks.harness.definition import Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.question_sample import question_id
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.json_lines import Cleaned, PublishedRow, Text, read_items
from conflictscore.benchmarks.ramdocs import ENTRY
from conflictscore.errors import InputError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet

MEASURES = ("exact match", "all right answers", "no wrong answer")
"""The measures of :func:`judge_exact_match`; the first is the benchmark's own."""

_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = frozenset({"a", "an", "the"})


class ExactMatch(NamedTuple):
    """The right and wrong answers that an answer gives."""

    given: tuple[str, ...]
    """Right answers that stand in it."""
    missing: tuple[str, ...]
    """Right answers that do not."""
    wrong: tuple[str, ...]
    """Wrong answers that stand in it."""

    @property
    def exact(self) -> bool:
        """Whether it gives all right answers and no wrong one."""
        return not self.missing and not self.wrong


def normalised(text: str) -> str:
    """A text without case, punctuation, articles, and commas within numbers, for comparison."""
    plain = _GROUPED.sub("", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(word for word in re.findall(r"\w+", plain) if word not in _ARTICLES)


def exact_match(answer: str, right: Sequence[str], wrong: Iterable[str]) -> ExactMatch:
    """Look for right and wrong answers in an answer, as whole words in a row.

    A wrong answer counts only where it stands outside the right ones: "football" does not stand in
    "American football" if that is right. One that is also right, for another entity, is not wrong.
    """
    forms = _by_form(reversed(right))
    if not right or not all(map(normalised, right)):
        raise ValueError("a right answer is needed, and each must have a letter or digit")
    text = f" {normalised(answer)} "
    answers_given = [candidate for form, candidate in forms.items() if f" {form} " in text]
    missing = [candidate for form, candidate in forms.items() if f" {form} " not in text]
    rest = _without(text, forms)
    wrong_by_form = {
        form: candidate
        for form, candidate in _by_form(wrong, besides=forms).items()
        if f" {form} " in rest
    }
    return ExactMatch(
        given=tuple(reversed(answers_given)),
        missing=tuple(reversed(missing)),
        wrong=tuple(wrong_by_form.values()),
    )


def _by_form(answers: Iterable[str], *, besides: Container[str] = ()) -> dict[str, str]:
    """Answers by their normalised form, but for those without a word and those in ``besides``."""
    return {
        form: answer for answer in answers if (form := normalised(answer)) and form not in besides
    }


def _without(text: str, forms: Iterable[str]) -> str:
    """A normalised text with a bar in the place of each of these forms, the longest first.

    A bar is no part of a normalised text, so words on both sides of it do not come together.
    """
    for form in sorted(forms, key=len, reverse=True):
        while f" {form} " in text:
            text = text.replace(f" {form} ", " | ")
    return text


async def judge_exact_match(
    question: Question, answer: str, *, model: LanguageModel, prompts: PromptSet, meter: UsageMeter
) -> dict[str, Verdict]:
    """The verdicts on an answer by each of :data:`MEASURES` (an ``AnswerJudge``); asks no model."""
    match = exact_match(answer, question.correct, question.incorrect)
    parts = (("missing", match.missing), ("wrong", match.wrong))
    why = "; ".join(f"{name}: {', '.join(answers)}" for name, answers in parts if answers) or None
    verdicts = (match.exact, not match.missing, not match.wrong)
    return {
        measure: Verdict(value=verdict, explanation=None if verdict else why)
        for measure, verdict in zip(MEASURES, verdicts, strict=True)
    }


class _Document(PublishedRow):
    """A document of RAMDocs; ``type`` is ``misinfo`` if it states a wrong answer."""

    text: Text
    type: Text


class _Published(PublishedRow):
    """A row of RAMDocs: ``disambig_entity`` has the entities of a name, which differ in answer."""

    question: Text
    documents: Annotated[list[_Document], Field(min_length=1)]
    disambig_entity: list[Cleaned]
    gold_answers: Annotated[list[Cleaned], Field(min_length=1)]
    wrong_answers: list[Cleaned]


def read_questions(path: str | Path, *, name_entities: bool = True) -> tuple[Question, ...]:
    """Read the published JSON lines as free-form questions, in file order.

    ``correct`` holds the right answers, ``incorrect`` the wrong ones that are right for no entity.
    All documents are attached in the order of the file, and nothing says of which type they are.
    The category says how many entities there are, whether a document misinforms, and whether a
    right answer stands in the question already: the names of entities give away some ("Monkey Grip
    (film)", asked for its medium), and an answer that repeats the question then counts as giving
    it. That goes for 77 of the 252 lines that this was tried on. Without ``name_entities`` the
    question stays ambiguous, as published.
    """
    return read_items(path, _Published, partial(_question, name_entities=name_entities)).items


def _question(row: _Published, where: str, *, name_entities: bool) -> Question:
    right, entities = ([*filter(None, texts)] for texts in (row.gold_answers, row.disambig_entity))
    if not right or not all(map(normalised, right)):
        raise InputError(f"{where}, field gold_answers: texts with a letter or digit are needed")
    if name_entities and not entities:
        raise InputError(f"{where}, field disambig_entity: a text is needed")
    misinforms = any(document.type == "misinfo" for document in row.documents)
    wrong = _by_form(reversed(row.wrong_answers), besides=set(map(normalised, right)))
    number = "one entity" if len(entities) == 1 else f"{len(entities)} entities"
    text = f"{row.question} Answer for {_listed(entities)}." if name_entities else row.question
    hint = ", an answer in the question" if exact_match(text, right, ()).given else ""
    return Question(
        id=question_id("ramdocs", row.question),
        question=text,
        correct=tuple(right),
        incorrect=tuple(reversed(wrong.values())),
        category=f"{number}, {'misinformation' if misinforms else 'no misinformation'}{hint}",
        documents=tuple({"text": document.text} for document in row.documents),
    )


def _listed(entities: Sequence[str]) -> str:
    if len(entities) == 1:
        return f"this one: {entities[0]}"
    return f"each of these, by name: {'; '.join(entities)}"


def ramdocs(data: Path, form: Form, seed: int) -> Benchmark:
    """RAMDocs as the harness runs it, over the documents of each question; no model judges it."""
    return Benchmark(
        name="ramdocs",
        form=form,
        questions=read_questions(data),
        measures=MEASURES,
        judge=judge_exact_match,
        offered=ENTRY.methods,
        hashes={"data": sha256_of_file(data)},
    )
