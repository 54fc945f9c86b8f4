"""Measures first answers to questions about a time if only sentences with times are shown.

```sh
python -m measurements.time_questions --ramdocs ramdocs.jsonl --natural disputes.jsonl
python -m measurements.time_questions --ramdocs … --natural … --half 1 --model local
```

For each half of the questions, the first command counts the documents that state an answer, the
documents whose shown sentences still state it, and the tokens of the documents. It does so for the
questions as they are, and again as if all of them asked for a year: then fewer sentences are shown.

With ``--model``, the model answers each question about a year twice: from whole documents, and from
their shown sentences. An answer is right if it has a right year and no wrong one.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from conflictscore.answering.answer_replies import read_text
from conflictscore.answering.answerer import REPLY_TOKENS
from conflictscore.answering.time_questions import asks_for_time, stating_times
from conflictscore.benchmarks.ramdocs.benchmark import normalised
from conflictscore.loop.state import Reader
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Document
from conflictscore.storage.cache import ContentCache
from conflictscore.tokens import count_tokens

_YEAR = re.compile(r"\b[12]\d{3}\b")
_WHEN = re.compile(r"\s*when (?=(?:was|were|is|did|does|do|will)\b)", re.IGNORECASE)


class TimeQuestion(NamedTuple):
    """A question for a time, with documents and the answer that each of them states, if any."""

    source: str
    question: str
    documents: tuple[Document, ...]
    stated: tuple[str, ...]
    right: frozenset[str]
    """The years in the right answers."""
    wrong: frozenset[str]

    def for_year(self) -> "TimeQuestion | None":
        """Return the question for the year instead; None if right answers name no year."""
        question, count = _WHEN.subn("In which year ", self.question)
        return self._replace(question=question) if count and self.right else None


def questions_of_ramdocs(path: Path, half: int) -> Iterator[TimeQuestion]:
    """Yield the questions for a time in every second row of RAMDocs."""
    for row in _rows(path)[half::2]:
        documents = row["documents"]
        yield from _question("ramdocs", row["question"], documents, "answer", row["gold_answers"])


def questions_of_natural(path: Path, half: int) -> Iterator[TimeQuestion]:
    """Yield the questions that ask for a time, from every second natural dispute."""
    for row in _rows(path)[half::2]:
        yield from _question("natural", row["question"], row["documents"], "says", row["right"])


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _question(
    source: str, question: str, rows: Sequence[dict[str, Any]], field: str, right: Sequence[str]
) -> Iterator[TimeQuestion]:
    if not asks_for_time(question):
        return
    documents = [
        Document(number=number, text=row["text"], title=row.get("title") or "")
        for number, row in enumerate(rows, start=1)
    ]
    answers = [str(row[field] or "") for row in rows]
    stated = tuple(
        answer if normalised(answer) in normalised(document.text) else ""
        for answer, document in zip(answers, documents, strict=True)
    )
    right_years = frozenset(_YEAR.findall(" ".join(right)))
    wrong_years = frozenset(_YEAR.findall(" ".join(answers))) - right_years
    yield TimeQuestion(source, question, tuple(documents), stated, right_years, wrong_years)


def kept_counts(questions: Sequence[TimeQuestion]) -> tuple[int, int, int, int]:
    """Return the documents that state an answer, those that still do, and tokens of all, shown."""
    states = keeps = tokens = shown_tokens = 0
    for asked in questions:
        for answer, whole, part in zip(
            asked.stated,
            asked.documents,
            stating_times(asked.documents, asked.question),
            strict=True,
        ):
            tokens += count_tokens(whole.text)
            shown_tokens += count_tokens(part.text)
            states += bool(answer)
            keeps += bool(answer) and normalised(answer) in normalised(part.text)
    return states, keeps, tokens, shown_tokens


def outcome_of(reply: str, asked: TimeQuestion) -> str:
    """Return whether a reply names a right year, a wrong one, both or none."""
    years = set(_YEAR.findall(reply))
    is_right, is_wrong = bool(years & asked.right), bool(years & asked.wrong)
    return (
        "both"
        if is_right and is_wrong
        else "right"
        if is_right
        else "wrong"
        if is_wrong
        else "none"
    )


async def answered(
    asked: TimeQuestion, documents: Sequence[Document], model: LanguageModel, prompts: PromptSet
) -> str:
    """Return the model's first answer."""
    prompt = prompts.render(
        "free_form_rag",
        question=material(asked.question),
        documents=prompts.documents(documents, brief=True),
    )
    return await Reader(model, prompts, UsageMeter()).ask(prompt, read_text, REPLY_TOKENS)


async def _compare(questions: Sequence[TimeQuestion], model: LanguageModel) -> None:
    prompts, pairs = PromptSet.load(), Counter[tuple[str, str, str]]()
    for asked in questions:
        parts = stating_times(asked.documents, asked.question)
        if [*asked.documents] == parts:
            continue
        replies = [await answered(asked, each, model, prompts) for each in (asked.documents, parts)]
        whole, part = (outcome_of(reply, asked) for reply in replies)
        pairs[asked.source, whole, part] += 1
        click.echo(f"{whole} {part} {asked.question} {json.dumps(replies)}", err=True)
    click.echo("\n| set | whole documents | shown sentences | questions |\n|---|---|---|---|")
    for (source, whole, part), count in sorted(pairs.items()):
        click.echo(f"| {source} | {whole} | {part} | {count} |")


@click.command(help=__doc__)
@click.option("--ramdocs", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--natural", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--half", type=click.IntRange(0, 1), multiple=True, default=(0, 1))
@click.option("--model")
def main(ramdocs: Path, natural: Path, half: Sequence[int], model: str | None) -> None:
    """See the module."""
    for each in half:
        sets = {
            "ramdocs": [*questions_of_ramdocs(ramdocs, each)],
            "natural": [*questions_of_natural(natural, each)],
        }
        for_year = [
            year for questions in sets.values() for q in questions if (year := q.for_year())
        ]
        click.echo("| half | questions | | documents with answer | kept | tokens | shown |")
        click.echo("|---|---|---|---|---|---|---|")
        for name, questions in (*sets.items(), ("for a year", for_year)):
            counts = " | ".join(f"{count:,}" for count in kept_counts(questions))
            click.echo(f"| {each} | {name} | {len(questions)} | {counts} |")
        if model:
            asyncio.run(_compare(for_year, open_model(model, cache=ContentCache.default())))


if __name__ == "__main__":
    main()
