"""The judges of free-form answers beside labels: is an answer truthful, and is it informative?"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field
from typing_extensions import override

from conflictscore.benchmarks.agreement import JudgeCheck, Request
from conflictscore.benchmarks.harness.figures import Proportion
from conflictscore.benchmarks.harness.question_sample import lot, question_id
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.harness.statistics import accuracy, balanced_accuracy, cohen_kappa
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.benchmarks.truthfulqa.benchmark import JUDGES, Quality, judge_measure
from conflictscore.benchmarks.truthfulqa.data import read_truthfulqa
from conflictscore.errors import InputError
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Record, Usage
from conflictscore.retrieval.cleaning import clean_text

_PROMPT = re.compile(r"Q: (?P<question>[^\n]+)\nA: ?(?P<answer>.*)\n(?P<asks>True|Helpful):", re.S)
_MEASURES: dict[str, Quality] = {"True": "truthful", "Helpful": "informative"}
_LABELS = {"yes": True, "no": False}

REPEATED = "the same answer with the same label is in an earlier row"
BOTH = "the same answer is labelled both yes and no"
VERBATIM = "the answer is one of the references, and has its label for that reason"
NO_REFERENCES = "there are no references for the question"
_NAMED_QUESTIONS = 3


class LabelledAnswer(NamedTuple):
    """An answer, with the question and references that a judge is shown, and its label."""

    question: Question
    answer: str
    label: bool


class LabelledAnswers(NamedTuple):
    """The labelled answers of a file."""

    measure: Quality
    answers: tuple[LabelledAnswer, ...]
    rows: int
    left_out: dict[str, int]
    """How many rows were left out, by reason."""
    without_references: tuple[str, ...]
    """The questions that have none, in the order of the file."""


def read_labelled(path: str | Path, references: Sequence[Question]) -> LabelledAnswers:
    """Read TruthfulQA's labelled answers, and give each the references of its question.

    Left out and counted are rows whose question has no references; all rows of an answer that is
    labelled both ways; repeated rows; and answers that are references word for word, which make up
    a third of the published files: their label follows from the list they stand in, and a judge
    that is shown the list would be checked for its reading, not for its judgement.

    Args:
        path: JSON lines with ``prompt`` (``Q: …``, ``A: …`` and ``True:`` or ``Helpful:``, a line
            each) and ``completion`` (``yes`` or ``no``). What the prompts end in says which measure
            the labels are of.
        references: Questions with their reference answers, found by the text of the question.
    """
    asked = {question.id: question for question in references}
    labels: dict[tuple[str, str], set[bool]] = {}
    rows: list[tuple[str, str, bool]] = []
    unknown: dict[str, str] = {}
    measure: Quality | None = None
    for where, record in read_json_lines(Path(path)):
        text, answer, label, asks = _row(record, where)
        if measure not in (None, asks):
            raise InputError(f"{where}, field prompt: it asks for {asks}, and row 1 for {measure}")
        measure = asks
        key = question_id("tqa", text)
        if key not in asked:
            unknown.setdefault(key, clean_text(text))
        labels.setdefault((key, answer), set()).add(label)
        rows.append((key, answer, label))
    if measure is None:
        raise InputError(f"{path}: there is no labelled answer in it")
    answers: list[LabelledAnswer] = []
    left_out: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    for key, answer, label in rows:
        if key not in asked:
            left_out[NO_REFERENCES] += 1
        elif len(labels[key, answer]) > 1:
            left_out[BOTH] += 1
        elif (key, answer) in seen:
            left_out[REPEATED] += 1
        elif _folded(answer) in _references(asked[key]):
            left_out[VERBATIM] += 1
        else:
            answers.append(LabelledAnswer(asked[key], answer, label))
        seen.add((key, answer))
    return LabelledAnswers(
        measure, tuple(answers), len(rows), dict(left_out), tuple(unknown.values())
    )


def balanced_sample(
    answers: Sequence[LabelledAnswer], size: int, seed: int
) -> tuple[LabelledAnswer, ...]:
    """Draw half of each label by seed, without replacement, in the order of the file.

    So each label's recall is known equally well, and a judge that always says the same is right
    half of the time. Of an odd number, one more is labelled no.
    """
    if size < 2:
        raise InputError(f"sample is {size}; give at least 2, one of each label")
    drawn: set[tuple[str, str]] = set()
    for label, share in ((True, size // 2), (False, size - size // 2)):
        keys = [(a.question.id, a.answer) for a in answers if a.label is label]
        if share > len(keys):
            word = "yes" if label else "no"
            raise InputError(
                f"sample is {size}, {share} of it labelled {word}; there are only {len(keys)} such"
                " answers with references"
            )
        drawn.update(sorted(keys, key=lambda key: lot("judge check", seed, "\n".join(key)))[:share])
    return tuple(a for a in answers if (a.question.id, a.answer) in drawn)


class Confusion(Record):
    """How often the judge said what, of the answers with one label."""

    yes: Annotated[int, Field(ge=0)]
    no: Annotated[int, Field(ge=0)]
    unjudged: Annotated[int, Field(ge=0)]


class LabelAgreement(Record):
    """Agreement of a judge with labels; unjudged answers are counted, and in no figure."""

    n: Annotated[int, Field(ge=0)]
    """Labelled answers that the judge was given."""
    unjudged: Annotated[int, Field(ge=0)]
    """Of these, answers without a verdict."""
    accuracy: Proportion
    balanced_accuracy: float | None
    """Mean of the recalls of yes and no, in [0, 1]; None where a label is missing."""
    cohen_kappa: float | None
    """In [-1, 1]; 0 is the agreement of chance; None where it has no value."""
    labelled_yes: Confusion
    labelled_no: Confusion


class TruthfulQACheck(JudgeCheck[LabelledAnswer, Verdict, LabelAgreement]):
    """The check of the judge of truthfulness or informativeness, whichever was labelled."""

    key_fields = ("id", "answer")
    holds = "a verdict of judge-check"

    def __init__(self, request: Request) -> None:
        """Read the files, and open the judge."""
        references = request.questions()
        self._read = read_labelled(
            request.answers, read_truthfulqa(references, form="free-form", seed=0)
        )
        self.rows: Sequence[LabelledAnswer] = self._read.answers
        if request.sample is not None:
            self.rows = balanced_sample(self.rows, request.sample, request.seed)
        if not self.rows:
            raise InputError(f"{request.answers}: no answer in it can be judged with {references}")
        self._request, self._model = request, request.open_judge()
        self.judge: Mapping[str, Any] = {
            "measure": self._read.measure,
            "judge": self._model.name,
            "endpoint": self._model.endpoint,
            "prompt": request.prompts.sha256_of(JUDGES[self._read.measure].template),
        }

    @override
    def key(self, row: LabelledAnswer) -> Sequence[str]:
        return row.question.id, row.answer

    @override
    def kept(self, row: LabelledAnswer, said: Verdict, usage: Usage) -> Mapping[str, Any]:
        return {"question": row.question.question, "label": row.label, **said.to_json()}

    @override
    def read(self, row: Mapping[str, Any]) -> Verdict:
        return Verdict(**{name: row[name] for name in Verdict.model_fields})

    @override
    def failure(self, said: Verdict) -> str | None:
        return said.error

    @override
    async def ask(self, row: LabelledAnswer, meter: UsageMeter) -> Verdict:
        return await judge_measure(
            self._read.measure,
            row.question,
            row.answer,
            model=self._model,
            prompts=self._request.prompts,
            meter=meter,
        )

    @override
    def agreement(self, judged: Sequence[Verdict]) -> LabelAgreement:
        return agreement([row.label for row in self.rows], judged)

    @override
    def about(self, judged: Sequence[Verdict]) -> dict[str, Any]:
        return {
            "measure": self._read.measure,
            **self._request.about(self._model),
            "rows": self._read.rows,
            "answers": len(self._read.answers),
            "left_out": self._read.left_out,
            "without_references": list(self._read.without_references),
        }

    @override
    def lines(self, about: Mapping[str, Any], figures: LabelAgreement) -> Iterator[str]:
        yield f"judge of {about['measure']}: {about['judge']} at {about['endpoint']}"
        sampled = about["sample_seed"] is not None
        drawn = f"a sample of {figures.n}, half of each label" if sampled else "all of them judged"
        yield f"{about['rows']} rows, {about['answers']} answers that can be judged; {drawn}"
        for reason, count in about["left_out"].items():
            yield f"  rows left out: {count}, {reason}"
        if missing := about["without_references"]:
            more = len(missing) - _NAMED_QUESTIONS
            rest = f", and {more} more" if more > 0 else ""
            yield f"  without references: {', '.join(missing[:_NAMED_QUESTIONS])}{rest}"
        yield f"\n{'':12}{'judge: yes':>12}{'judge: no':>12}{'unjudged':>12}"
        for label, said in (("yes", figures.labelled_yes), ("no", figures.labelled_no)):
            yield f"labelled {label:3}{said.yes:>12}{said.no:>12}{said.unjudged:>12}"
        share = figures.accuracy
        bounds = "" if share.low is None else f", 95 % interval {share.low:.3f} to {share.high:.3f}"
        yield f"\naccuracy           {_number(share.value)} ({share.count} of {share.n}{bounds})"
        yield f"balanced accuracy  {_number(figures.balanced_accuracy)}"
        yield f"Cohen's kappa      {_number(figures.cohen_kappa)}"


def agreement(labels: Sequence[bool], verdicts: Sequence[Verdict]) -> LabelAgreement:
    """Compare a judge's verdicts with the labels.

    Args:
        labels: One an answer.
        verdicts: As many, in the same order.
    """
    values_or_none = (
        None if verdict.value is None else bool(verdict.value) for verdict in verdicts
    )
    pairs = list(zip(labels, values_or_none, strict=True))
    said = Counter(pairs)
    judged = [(label, value) for label, value in pairs if value is not None]
    known, values = [label for label, _ in judged], [value for _, value in judged]
    return LabelAgreement(
        n=len(labels),
        unjudged=len(labels) - len(judged),
        accuracy=accuracy(known, values),
        balanced_accuracy=balanced_accuracy(known, values),
        cohen_kappa=cohen_kappa(known, values),
        labelled_yes=_confusion(said, label=True),
        labelled_no=_confusion(said, label=False),
    )


def _row(record: Any, where: str) -> tuple[str, str, bool, Quality]:
    prompt, completion = _fields(record, where)
    found = _PROMPT.fullmatch(prompt.rstrip())
    if found is None or not found["question"].strip():
        raise InputError(
            f'{where}, field prompt: it is not of the form "Q: …", "A: …" and "True:" or'
            ' "Helpful:", a line each'
        )
    label = _LABELS.get(completion.strip().lower())
    if label is None:
        raise InputError(f"{where}, field completion: {completion[:40]!r} is neither yes nor no")
    return found["question"], found["answer"].strip(), label, _MEASURES[found["asks"]]


def _fields(record: Any, where: str) -> Iterator[str]:
    for field in ("prompt", "completion"):
        value = record.get(field) if isinstance(record, dict) else None
        if not isinstance(value, str):
            raise InputError(f"{where}, field {field}: a text is needed")
        yield value


def _references(question: Question) -> set[str]:
    return set(map(_folded, (*question.correct, *question.incorrect)))


def _folded(answer: str) -> str:
    return " ".join(answer.casefold().split()).rstrip(".")


def _confusion(said: Mapping[tuple[bool, bool | None], int], *, label: bool) -> Confusion:
    return Confusion(
        yes=said.get((label, True), 0),
        no=said.get((label, False), 0),
        unjudged=said.get((label, None), 0),
    )


def _number(value: float | None) -> str:
    return "no value" if value is None else f"{value:.3f}"
