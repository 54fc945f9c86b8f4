"""Defines RAMDocs for the harness, judged by exact match.

The name in a question refers to one, two or three entities ("What sport is Richard Leach associated
with?"). Each entity has its own correct answer, and the question asks for all correct answers. So
documents can disagree although none of them is wrong, and a conflict does not imply misinformation.
The harness adds the names of the entities to the question, so that answers and their claims specify
the entity.

Exact match has limits. If an answer mentions a wrong answer only to deny it, the wrong answer still
counts as given. If a date or number is written in a different notation, it counts as missing. Signs
of numbers are ignored like other punctuation.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
"""The measures that :func:`judge_exact_match` computes. The first measure is the main one."""

_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
"""Matches a comma that separates thousands."""
_ARTICLES = frozenset({"a", "an", "the"})
"""Words that are ignored when answers are compared."""


class ExactMatch(NamedTuple):
    """The reference answers that an answer contains or lacks."""

    given: tuple[str, ...]
    """The correct reference answers that occur in the answer."""
    missing: tuple[str, ...]
    """The correct reference answers that do not occur in the answer."""
    wrong: tuple[str, ...]
    """The wrong reference answers that occur in the answer."""

    @property
    def exact(self) -> bool:
        """Whether the answer contains all correct reference answers and no wrong one."""
        return not self.missing and not self.wrong


def normalised(text: str) -> str:
    """Normalise text for comparison.

    Letter case is ignored. Punctuation, articles, and commas within numbers are removed.
    """
    plain = _GROUPED.sub("", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(word for word in re.findall(r"\w+", plain) if word not in _ARTICLES)


def exact_match(answer: str, right: Sequence[str], wrong: Iterable[str]) -> ExactMatch:
    """Search an answer for right and wrong reference answers; only whole words match.

    A wrong reference answer does not count if it occurs only inside a right one. For example, if
    "American football" is right, the "football" in it does not count as wrong. In the opposite
    case, "American football" is wrong although it contains "football", which is right. If a
    reference answer is right for one entity and wrong for another, it does not count as wrong.
    """
    # reversed here and in the result: if several answers have the same form, the first one is kept
    forms = _by_form(reversed(right))
    if not right or not all(map(normalised, right)):
        raise ValueError(
            "at least one correct answer is needed, and each must contain a letter or digit"
        )
    text = f" {normalised(answer)} "
    answers_given = [candidate for form, candidate in forms.items() if f" {form} " in text]
    missing = [candidate for form, candidate in forms.items() if f" {form} " not in text]
    return ExactMatch(
        given=tuple(reversed(answers_given)),
        missing=tuple(reversed(missing)),
        wrong=tuple(_wrong_in(text, forms, _by_form(wrong, besides=forms))),
    )


def _wrong_in(text: str, right: Iterable[str], wrong: Mapping[str, str]) -> Iterator[str]:
    """Yield the wrong answers in a normalised text, unless they occur only inside correct answers.

    ``right`` contains forms, and ``wrong`` maps forms to answers. Before the search for a wrong
    form, all right forms are removed from the text, except those that the wrong form contains.
    """
    by_length = sorted(right, key=len, reverse=True)
    for form, answer in wrong.items():
        rest = _without(text, (shorter for shorter in by_length if not _is_inside(shorter, form)))
        if f" {form} " in rest:
            yield answer


def _is_inside(form: str, longer: str) -> bool:
    return f" {form} " in f" {longer} "


def _by_form(answers: Iterable[str], *, besides: Container[str] = ()) -> dict[str, str]:
    """Map normalised forms to their answers, except empty forms and the forms in ``besides``."""
    return {
        form: answer for answer in answers if (form := normalised(answer)) and form not in besides
    }


def _without(text: str, forms: Iterable[str]) -> str:
    """Replace each of these forms in a normalised text with a ``|``, in the given order.

    Normalised forms contain no ``|``, so no form can match across one. Two neighbouring forms share
    a space, so it takes a second replacement to replace both.
    """
    for form in forms:
        while f" {form} " in text:
            text = text.replace(f" {form} ", " | ")
    return text


async def judge_exact_match(
    question: Question, answer: str, *, model: LanguageModel, prompts: PromptSet, meter: UsageMeter
) -> dict[str, Verdict]:
    """Judge an answer by :data:`MEASURES`, without a model; see ``AnswerJudge``."""
    match = exact_match(answer, question.correct, question.incorrect)
    parts = (("missing", match.missing), ("wrong", match.wrong))
    why = "; ".join(f"{name}: {', '.join(answers)}" for name, answers in parts if answers) or None
    verdicts = (match.exact, not match.missing, not match.wrong)
    return {
        measure: Verdict(value=verdict, explanation=None if verdict else why)
        for measure, verdict in zip(MEASURES, verdicts, strict=True)
    }


class _Document(PublishedRow):
    """A document of RAMDocs; its ``type`` is ``misinfo`` if it states a wrong answer."""

    text: Text
    type: Text


class _Published(PublishedRow):
    """A row of RAMDocs.

    ``disambig_entity`` lists the entities that share the ambiguous name and have different answers.
    """

    question: Text
    documents: Annotated[list[_Document], Field(min_length=1)]
    disambig_entity: list[Cleaned]
    gold_answers: Annotated[list[Cleaned], Field(min_length=1)]
    wrong_answers: list[Cleaned]


def read_questions(path: str | Path, *, name_entities: bool = True) -> tuple[Question, ...]:
    """Read the published JSON lines as free-form questions, in file order.

    ``correct`` contains the correct answers, and ``incorrect`` the answers that are wrong for every
    entity. All documents are attached in file order, but without their types. The category states
    the number of entities, whether a document misinforms, and whether the question already contains
    a correct answer.

    The name of an entity can reveal its answer, as "Monkey Grip (film)" does if the question asks
    for the medium. An answer that repeats such a question counts as giving the correct answer. Such
    a question occurred 77 times among the 252 that we tried. If ``name_entities`` is false,
    questions stay ambiguous, as they were published.
    """
    return read_items(path, _Published, partial(_question, name_entities=name_entities)).items


def _question(row: _Published, where: str, *, name_entities: bool) -> Question:
    right, entities = ([*filter(None, texts)] for texts in (row.gold_answers, row.disambig_entity))
    if not right or not all(map(normalised, right)):
        raise InputError(
            f"{where}, field gold_answers: every answer must contain a letter or digit"
        )
    if name_entities and not entities:
        raise InputError(f"{where}, field disambig_entity: a non-empty string is needed")
    misinforms = any(document.type == "misinfo" for document in row.documents)
    # reversed here and below, as in ``exact_match``
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
    """Define RAMDocs. Questions come with their own documents, and no model judges the answers."""
    return Benchmark(
        name="ramdocs",
        form=form,
        questions=read_questions(data),
        measures=MEASURES,
        judge=judge_exact_match,
        offered=ENTRY.methods,
        hashes={"data": sha256_of_file(data)},
    )
