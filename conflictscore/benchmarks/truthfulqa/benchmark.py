"""Defines TruthfulQA for the harness, and judges free-form answers (Tables 17 and 18)."""

import csv
import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from pydantic import Field

from conflictscore.benchmarks.harness.definition import CHOICES, Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS
from conflictscore.benchmarks.harness.question_sample import (
    drawn_order,
    question_id,
    shuffled_options,
)
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.json_lines import PublishedRow, Text, read_items, read_json
from conflictscore.benchmarks.judging import Judge
from conflictscore.errors import InputError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.threads import at_once


def truthfulqa(data: Path, form: Form, seed: int) -> Benchmark:
    """Define TruthfulQA in one of four forms: binary choice, MC1, MC2 or free form (section 6.1).

    MC1 and MC2 use the targets of Lin et al. (2022). Lin et al. compare the likelihoods of whole
    answers, but chat endpoints do not return these likelihoods. So in this benchmark, the model
    sees the options and chooses a letter. MC2 is the sum of the probabilities of the letters of all
    true options.
    """
    free = form == "free-form"
    return Benchmark(
        name="truthfulqa",
        form=form,
        questions=read_truthfulqa(data, form=form, seed=seed),
        measures=("truthful", "informative") if free else (CHOICES[form],),
        graded=frozenset({"mc2"}) if form == "mc2" else frozenset(),
        judge=judge_answer if free else None,
        reply_forms=REPLY_FORMS if free else (),
        prompt_set="paper",
        offered=COMMON_METHODS,
        hashes={"data": sha256_of_file(data)},
    )


_JUDGES = {
    "truthful": ("judge_truthful", "TRUTHFUL"),
    "informative": ("judge_informative", "HELPFUL"),
}
"""For each measure, the prompt template and the word before the verdict in a reply."""

REPLY_FORMS = tuple(f"{word}: True\nEXPLANATION: It agrees." for _, word in _JUDGES.values())
"""Sample replies for a dry run (see ``Benchmark.reply_forms``), one for each measure."""

_REPLY_TOKENS = 320
"""The maximum number of tokens in a judge's reply, which is a verdict and a short explanation.

The maximum was chosen by hand. A reply that reaches the maximum before the verdict is requested
again.
"""


async def judge_answer(
    question: Question, answer: str, *, model: LanguageModel, prompts: PromptSet, meter: UsageMeter
) -> dict[str, Verdict]:
    """Judge a free-form answer by both measures, concurrently; see ``AnswerJudge``.

    The verdicts are independent. If a call fails, or if its reply is unreadable twice, only the
    verdict of this call has an error instead of a value.
    """
    judge = Judge(model, prompts, meter)
    calls = [partial(judge_measure, measure, question, answer, judge) for measure in _JUDGES]
    return dict(zip(_JUDGES, await at_once(calls), strict=True))


async def judge_measure(measure: str, question: Question, answer: str, judge: Judge) -> Verdict:
    """Judge an answer by one measure, ``truthful`` or ``informative``."""
    template, word = _JUDGES[measure]
    prompt = judge.prompts.render(
        template,
        question=material_line(question.question),
        answer=material(answer),
        correct_answers=_listed(question.correct),
        incorrect_answers=_listed(question.incorrect),
    )
    return await judge.decide(prompt, word, _REPLY_TOKENS)


def _listed(answers: Sequence[str]) -> str:
    return "\n".join(f"- {material_line(answer)}" for answer in answers) or "- (none)"


_MOST_OPTIONS = 26
"""The maximum number of options; each option needs its own letter.

Official questions have up to 24 options.
"""


def read_truthfulqa(path: str | Path, *, form: Form, seed: int) -> tuple[Question, ...]:
    """Read the questions of one of the official files, in file order.

    A question's id is derived from its text. So the id is the same in both versions of the file and
    in every run.

    Args:
        path: The path of ``mc_task.json`` if the form is ``mc1`` or ``mc2``, otherwise that of the
            CSV file. The CSV file is in UTF-8, with or without a byte order mark.
        form: The form of the questions. ``multiple-choice`` offers the columns Best Answer and Best
            Incorrect Answer, and needs the version of January 2025. ``free-form`` works with both
            versions. ``mc1`` offers one correct answer and all wrong answers. ``mc2`` offers all
            correct answers and all wrong answers. Empty answers are left out; 22 official questions
            have an empty wrong answer.
        seed: The seed for the order of the options. The order depends only on the seed and on the
            texts.

    Returns:
        The questions. If the questions were read from the CSV file, ``correct`` begins with Best
        Answer. Neither ``correct`` nor ``incorrect`` contains an answer twice. Two questions have
        the answer "Unknown" in both lists, since the file has it in both.
    """
    file = Path(path)
    if form in ("mc1", "mc2"):
        if file.suffix.lower() == ".csv":
            raise InputError(f"{path}: {form} needs the official mc_task.json")
        make = partial(_with_targets, form=form, seed=seed)
        return read_items(file, _Targets, make, rows=read_json(file)).items
    rows = _rows(file, form)
    if form == "free-form":
        return read_items(file, _Cells, _free_form, id_field="Question", rows=rows).items
    choice = partial(_choice, seed=seed)
    return read_items(file, _ChoiceCells, choice, id_field="Question", rows=rows).items


class _Targets(PublishedRow):
    """A row of the file for MC1 and MC2. Targets map true answers to 1, and false answers to 0."""

    question: Text
    mc1_targets: dict[str, int]
    mc2_targets: dict[str, int]


def _with_targets(row: _Targets, where: str, *, form: Form, seed: int) -> Question:
    """Convert a row into an MC1 or MC2 question; raise InputError if the row cannot be used."""
    field = f"{form}_targets"
    targets = row.mc1_targets if form == "mc1" else row.mc2_targets
    truth_by_answer: dict[str, int] = {}
    for published, mark in targets.items():
        answer = clean_text(published)
        if answer and truth_by_answer.setdefault(answer, mark) != mark:
            raise InputError(f"{where}, field {field}: {answer!r} is marked both 1 and 0")
    if {0, 1} != set(truth_by_answer.values()):
        raise InputError(
            f"{where}, field {field}: answers marked 1 (true) and answers marked 0 (false) are"
            " needed"
        )
    options = drawn_order([*truth_by_answer], question=row.question, seed=seed)
    right = tuple(option for option in options if truth_by_answer[option])
    if form == "mc1" and len(right) != 1:
        raise InputError(
            f"{where}, field {field}: exactly one true answer is needed, not {len(right)}"
        )
    if not 2 <= len(options) <= _MOST_OPTIONS:
        raise InputError(f"{where}, field {field}: 2 to {_MOST_OPTIONS} answers are needed")
    return Question(
        id=question_id("tqa", row.question),
        question=row.question,
        options=options,
        gold=options.index(right[0]) if form == "mc1" else None,
        correct=right,
        incorrect=tuple(option for option in options if not truth_by_answer[option]),
    )


class _Cells(PublishedRow):
    """The columns that every version of TruthfulQA.csv has. Semicolons separate list elements."""

    question: Text = Field(alias="Question")
    best: Text = Field(alias="Best Answer")
    correct: Text = Field(alias="Correct Answers")
    incorrect: Text = Field(alias="Incorrect Answers")
    category: Text = Field(alias="Category")


class _ChoiceCells(_Cells):
    """The columns that binary choice needs; only the version of January 2025 has them."""

    wrong: Text = Field(alias="Best Incorrect Answer")


_WRONG = _ChoiceCells.model_fields["wrong"].alias
"""The name of the column that only the version of January 2025 has."""


def _free_form(row: _Cells, where: str) -> Question:
    return Question(
        id=question_id("tqa", row.question),
        question=row.question,
        correct=tuple(dict.fromkeys([row.best, *_answers(row.correct, "Correct Answers", where)])),
        incorrect=tuple(dict.fromkeys(_answers(row.incorrect, "Incorrect Answers", where))),
        category=row.category,
    )


def _choice(row: _ChoiceCells, where: str, *, seed: int) -> Question:
    if row.wrong.casefold() == row.best.casefold():
        raise InputError(f"{where}, field {_WRONG}: must differ from Best Answer")
    options, gold = shuffled_options(row.best, row.wrong, question=row.question, seed=seed)
    return _free_form(row, where).model_copy(update={"options": options, "gold": gold})


def _answers(cell: str, column: str, where: str) -> list[str]:
    answers = [answer.strip() for answer in cell.split(";") if answer.strip()]
    if not answers:
        raise InputError(f"{where}, field {column}: contains no answer")
    return answers


def _rows(path: Path, form: Form) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the location of each row below the CSV header, and the row's cells by column name.

    Empty rows are skipped. Quotes are parsed strictly, since a stray quote would otherwise silently
    join two rows.

    Raises:
        InputError: The file cannot be read, lacks a column that ``form`` needs, or has a row that
            is longer or shorter than the header.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    number, header = 0, list[str]()
    try:
        for number, cells in enumerate(table, start=1):
            where = f"{path}, row {number}"
            if not cells:
                continue
            if not header:
                header = [cell.strip() for cell in cells]
                # without the column Question, this is a different file; a later error names that
                # column
                if form == "multiple-choice" and _WRONG not in header and "Question" in header:
                    raise InputError(
                        f"{where}: multiple choice needs the column {_WRONG}, which the version of"
                        " January 2025 has; this file supports only free form"
                    )
            elif len(cells) != len(header):
                raise InputError(
                    f"{where}: the row has {len(cells)} cells, but the header has {len(header)};"
                    " does a cell with a comma lack quotes?"
                )
            else:
                yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}, row {number + 1}: not CSV ({error})") from None
