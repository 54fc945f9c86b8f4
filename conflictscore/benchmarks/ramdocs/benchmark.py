"""RAMDocs: in free form by exact match, or as a right answer against a wrong one.

The free form is in :mod:`conflictscore.benchmarks.ramdocs.exact`; what follows is of the multiple
choice. One name covers several entities there ("What sport is Richard Leach associated with?"),
each with an answer that is right for it, so its ``correct`` documents often disagree among
themselves and none of them is wrong. Only the questions whose correct documents agree on one answer
are taken, and of these only those that come with a wrong answer. Those are few (36 of the 252 lines
that this was tried on); the others can be had with the documents of one entity.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.harness.benchmark import Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.selection import question_id, shuffled_options
from conflictscore.benchmarks.json_lines import read_json_lines, text_of, texts_of
from conflictscore.benchmarks.ramdocs.exact import (
    MEASURES,
    judge_exact_match,
    read_questions,
)
from conflictscore.errors import InputError

__all__ = ["RamDocs", "ramdocs", "read_ramdocs"]

_TYPES = ("correct", "misinfo", "noise")
_DISAGREE = "its correct documents give several answers"
_NO_CORRECT = "no document gives a correct answer"
_NO_WRONG = "there is no wrong answer"


class RamDocs(NamedTuple):
    """The questions that make a multiple choice, and how many do not."""

    questions: tuple[Question, ...]
    left_out: dict[str, int]
    """How many questions were left out, by reason."""


def ramdocs(data: Path, form: Form, seed: int) -> Benchmark:
    """RAMDocs as the harness runs it, over the documents of each question.

    Args:
        data: The published file.
        form: ``multiple-choice`` is judged by accuracy, on the questions that make one;
            ``free-form`` by exact match, on all, and no model judges it.
        seed: Of the order of the two options.

    Raises:
        InputError: The file cannot be used; see :func:`read_ramdocs` and
            :func:`.exact.read_questions`.
    """
    hashes = {"data": sha256_of_file(data)}
    if form == "free-form":
        return Benchmark(
            name="ramdocs",
            form=form,
            questions=read_questions(data),
            measures=MEASURES,
            judge=judge_exact_match,
            hashes=hashes,
        )
    read = read_ramdocs(data, seed=seed, one_entity=True)
    return Benchmark(
        name="ramdocs",
        form=form,
        questions=read.questions,
        hashes=hashes,
        notes=tuple(
            f"questions left out: {count}, {reason}" for reason, count in read.left_out.items()
        ),
    )


def read_ramdocs(path: str | Path, *, seed: int, one_entity: bool = False) -> RamDocs:
    """Read the published JSON lines, in file order.

    An option is a whole statement, such as 'The answer to "What sport is Ryan Davis associated
    with?" is AFL.', since the chosen option is the claim that documents are held against, and none
    can support or contradict the bare "AFL". The bare answers are in ``correct`` and
    ``incorrect``. Of several wrong answers the option is the one that most documents give, on a tie
    the one listed first; one that is right for some entity of that name is never taken. The
    documents of the question are attached in the order of the file, and nothing says of which type
    they are. The category is the number of documents that are marked as misinforming with the wrong
    option. It can be 0: some wrong answers stand only in documents that the set calls correct.

    Args:
        path: A file with ``question``, ``documents`` (``text``, ``type``, ``answer``),
            ``gold_answers`` and ``wrong_answers`` a line.
        seed: Of the order of the two options, which depends on it and the question's text alone.
        one_entity: Also take the questions whose correct documents give several answers: the right
            option is the one that most of them give, on a tie the first, and the correct documents
            with another answer are left out, so that those which stay agree.

    Raises:
        InputError: The file cannot be used; the line names file, row and field.
    """
    questions: list[Question] = []
    left_out: Counter[str] = Counter()
    first_row: dict[str, str] = {}
    for where, record in read_json_lines(Path(path)):
        made = _question(record, where, seed, one_entity)
        if isinstance(made, str):
            left_out[made] += 1
            continue
        if (earlier := first_row.setdefault(made.id, where)) != where:
            row = earlier.removeprefix(f"{path}, ")
            raise InputError(f"{where}, field question: the same question as in {row}")
        questions.append(made)
    if not questions:
        raise InputError(f"{path}: no question in it makes a multiple choice")
    return RamDocs(tuple(questions), dict(left_out))


def _question(record: Any, where: str, seed: int, one_entity: bool) -> Question | str:
    """The question, or why it is left out."""
    text = text_of(record, "question", where)
    documents = _documents(record, where)
    golds, wrongs = (texts_of(record, name, where) for name in ("gold_answers", "wrong_answers"))
    right = Counter(_folded(answer) for kind, answer, _ in documents if kind == "correct")
    if not right:
        return _NO_CORRECT
    if len(right) > 1 and not one_entity:
        return _DISAGREE
    [(gold_form, _)] = right.most_common(1)
    answer = next(a for kind, a, _ in documents if kind == "correct" and _folded(a) == gold_form)
    never = {*right, *map(_folded, golds)}
    wrong = {form: said for form, said in _by_form(wrongs).items() if form not in never}
    if not wrong:
        return _NO_WRONG
    given = Counter(_folded(said) for kind, said, _ in documents if kind == "misinfo")
    chosen = max(wrong, key=lambda form: given[form])
    options, gold = shuffled_options(
        _statement(text, answer), _statement(text, wrong[chosen]), question=text, seed=seed
    )
    others = ", one of several entities" if len(right) > 1 else ""
    return Question(
        id=question_id("ramdocs", text),
        question=text,
        options=options,
        gold=gold,
        correct=(answer,),
        incorrect=tuple(wrong.values()),
        category=f"{given[chosen]} marked as misinforming{others}",
        documents=tuple(
            {"text": content}
            for kind, said, content in documents
            if kind != "correct" or _folded(said) == gold_form
        ),
    )


def _statement(question: str, answer: str) -> str:
    quoted = question.replace('"', "'")
    return f'The answer to "{quoted}" is {answer.rstrip(".")}.'


def _documents(record: Any, where: str) -> list[tuple[str, str, str]]:
    """Type, answer and text of each document."""
    documents = record.get("documents")
    if not isinstance(documents, list) or not documents:
        raise InputError(f"{where}, field documents: a list of documents is needed")
    read = []
    for number, document in enumerate(documents, start=1):
        place = f"{where}, document {number}"
        kind = text_of(document, "type", place)
        if kind not in _TYPES:
            raise InputError(f"{place}, field type: {kind!r} is none of {', '.join(_TYPES)}")
        read.append((kind, text_of(document, "answer", place), text_of(document, "text", place)))
    return read


def _by_form(answers: Iterable[str]) -> dict[str, str]:
    """Each answer once, by the form in which it is compared, as it was written first."""
    forms: dict[str, str] = {}
    for answer in answers:
        forms.setdefault(_folded(answer), answer)
    return forms


def _folded(answer: str) -> str:
    """An answer without case, punctuation and white space to tell it apart by."""
    return " ".join(re.findall(r"\w+", answer.casefold()))
