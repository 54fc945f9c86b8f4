"""Defines WikiContradict for the harness, with its nine prompts and its three ratings."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from conflictscore.benchmarks.harness.definition import Benchmark, Form
from conflictscore.benchmarks.harness.figures import Figures, Proportion
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.judging import Judge, read_choice
from conflictscore.benchmarks.wikicontradict import ENTRY
from conflictscore.benchmarks.wikicontradict.data import (
    AGREEING,
    ContradictingQuestion,
    read_questions,
)
from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.reporting.plain_table import Card

TEMPLATE = "wikicontradict_judge"
CONFLICT_TEMPLATE = "wikicontradict_judge_conflict"
"""The template for rating replies to "do the passages conflict?" if the passages do conflict."""
AGREEMENT_TEMPLATE = "wikicontradict_judge_agreement"
"""The template for rating replies to "do the passages conflict?" if the passages agree."""

MEASURES = ("correct", "at least partially correct")
"""The measures, which are both derived from the same rating. The first measure is the main one."""

_REPLY_TOKENS = 320
"""The maximum number of tokens in a judge's reply, which is a rating and a comment of one or two
sentences; chosen by hand."""


class Rating(StrEnum):
    """The possible ratings of an answer, from worst to best."""

    INCORRECT = "incorrect"
    """The reply has no correct answer, or it combines correct answers into something impossible."""
    PARTIALLY_CORRECT = "partially correct"
    """The reply has only some of the correct answers, or all of them, but takes a side."""
    CORRECT = "correct"
    """The answer gives all correct answers, and presents each one as possible."""


def read_rating(reply: str) -> tuple[Rating, str]:
    """Read the rating on the line ``RATING:`` of a reply, and the comment, which may be empty.

    Letter case is ignored. Brackets and Markdown around the words are ignored too.
    """
    # an error message lists the ratings in the order of the prompt, from best to worst
    return read_choice(reply, "RATING", reversed(Rating), note="COMMENT")


@dataclass(frozen=True)
class ModelRating:
    """Asks a language model to rate an answer."""

    template: str = TEMPLATE
    """The prompt template, which defines what a correct answer is."""
    passages: int = 2
    """The number of passages, counted from the first, whose answers are accepted as correct."""

    async def __call__(
        self,
        question: Question,
        answer: str,
        *,
        model: LanguageModel,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> dict[str, Verdict]:
        """Return a verdict for each measure; each has an error if the rating cannot be read."""
        try:
            rating, comment = await self.rate(question, answer, Judge(model, prompts, meter))
        except (ProviderError, ContextWindowError) as error:
            return {name: Verdict(value=None, error=str(error)) for name in MEASURES}
        verdicts = rating is Rating.CORRECT, rating is not Rating.INCORRECT
        explanation = f"{rating}: {comment}" if comment else str(rating)
        return {
            name: Verdict(value=verdict, explanation=explanation)
            for name, verdict in zip(MEASURES, verdicts, strict=True)
        }

    async def rate(self, question: Question, answer: str, judge: Judge) -> tuple[Rating, str]:
        """Return the rating of an answer, and the judge's comment.

        Raises:
            ProviderError: There was no reply, or two unreadable replies.
            ContextWindowError: The prompt is longer than the model's context window.
        """
        right = question.correct[: self.passages]
        prompt = judge.prompts.render(
            self.template,
            question=material_line(question.question),
            correct_answers="\n".join(
                f"- {material_line(correct_answer)}" for correct_answer in right
            ),
            answer=material(answer.strip()),
        )
        return await judge.ask(prompt, read_rating, _REPLY_TOKENS)


def wikicontradict(data: Path, form: Form, seed: int) -> Benchmark:
    """Define the benchmark; its questions are categorised by type of contradiction.

    The methods ``no-documents``, ``first-document``, ``second-document``, ``rag`` and
    ``control-rag`` use the paper's prompt templates 1 to 5. The methods ``swapped-order``,
    ``asked-conflict``, ``agreeing-pair`` and ``asked-agreeing`` use the templates 5.1 to 5.4 of the
    paper's supplement B. The method ``regenerated-rag`` is not from the paper. The method's prompt
    is the default one, which asks for an ordinary answer, as the prompt of ``rag`` does.

    ``seed`` has no effect; the function has it because the harness passes it to every benchmark.
    """
    own = {
        "asked-conflict": ModelRating(CONFLICT_TEMPLATE),
        "agreeing-pair": ModelRating(passages=1),
        "asked-agreeing": ModelRating(AGREEMENT_TEMPLATE, passages=1),
    }
    return Benchmark(
        name="wikicontradict",
        form=form,
        questions=tuple(map(_question, read_questions(data))),
        measures=MEASURES,
        judge=ModelRating(),
        judges=own,
        # a typical reply of the judge, from which a dry run estimates costs
        reply_forms=(f"RATING: {Rating.CORRECT}",),
        wording={
            "free_form_rag": "wikicontradict_passages",
            "free_form_control_rag": "wikicontradict_both_views",
        },
        offered=ENTRY.methods,
        hashes={"data": sha256_of_file(data)},
        notes=(
            "unlike in the paper, answers are compared with the answers of both passages;"
            " first-document and second-document see only one passage, and an answer that gives"
            " this passage's answer counts as partially correct",
            "agreeing-pair and asked-agreeing see both published wordings of the first passage,"
            " since the paper's agreeing passages are not published",
        ),
    )


def _question(source: ContradictingQuestion) -> Question:
    first_text, second_text = source.contexts
    # If both passages are the same text, this text contradicts itself. So does its other wording,
    # which therefore cannot serve as an agreeing passage.
    again = {AGREEING: source.contexts_self_contained[0]} if first_text != second_text else {}
    # The agreeing passage is in the metadata, so that only the methods that compare it read it.
    return Question(
        id=source.id,
        question=source.question,
        correct=source.answers,
        category=source.contradiction_type,
        documents=({"text": first_text, "metadata": again}, {"text": second_text}),
    )


_TEMPLATES = {
    "no-documents": "1",
    "first-document": "2",
    "second-document": "3",
    "rag": "4",
    "control-rag": "5",
    "swapped-order": "5.1",
    "asked-conflict": "5.2",
    "agreeing-pair": "5.3",
    "asked-agreeing": "5.4",
}
"""The number of the paper's prompt template that each method uses."""


def rating_tables(figures: Figures) -> tuple[Card, ...]:
    """Tabulate the ratings of each method.

    Methods that use a prompt template of the paper come first, in the order of the templates. There
    is no table for runs of other benchmarks, whose figures are passed to this function too.
    """
    if figures.measures != MEASURES:
        return ()
    rows: list[tuple[str, tuple[str, ...]]] = []
    for method in figures.methods:
        best, some = (method.measures.get(measure) for measure in MEASURES)
        if isinstance(best, Proportion) and isinstance(some, Proportion):
            counts = (best.count, some.count - best.count, some.n - some.count)
            shares = [f"{100 * count / some.n:.1f}" if some.n else "none" for count in counts]
            cells = [f"{share} ({count:,})" for share, count in zip(shares, counts, strict=True)]
            number = _TEMPLATES.get(method.method, "")  # Methods such as guarded-rag have none.
            # The sort key "9" comes after every template number.
            rows.append((number or "9", (method.method, number, *cells, f"{some.n:,}")))
    return (
        Card(
            title="Ratings",
            columns=("method", "template", "correct", "partially correct", "incorrect", "n"),
            rows=tuple(cells for _, cells in sorted(rows, key=lambda row: row[0])),
            note="% of judged answers, and their number; template: the paper's prompt template"
            " that the method uses",
        ),
    )
