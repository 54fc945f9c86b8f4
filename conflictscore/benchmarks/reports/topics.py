"""Topics of reports as the paper has them: the main entity of each question (section 5)."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.judging import Judge, at_once
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import read_text
from conflictscore.prompts import PromptSet, material_line
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.storage.private_files import write_whole

_REPLY_TOKENS = 60


def write_topics(
    benchmark: Benchmark,
    out: Path,
    model: LanguageModel,
    prompts: PromptSet,
    tell: Callable[[str, str], None],
) -> None:
    """Have a model name the main entity of each question, and write a file to run reports from.

    Args:
        benchmark: The questions.
        out: JSON lines with the questions' documents and their ``topic``, for ``--data``.
        model: What is asked, a call a question; its cache makes a second time free.
        prompts: Where ``report_topic`` is.
        tell: Called with each question and its topic, in order.

    Raises:
        ProviderError: A topic could not be had; nothing is written.
    """
    judge = Judge(model, prompts, UsageMeter())
    asked = [partial(_topic, judge, question.question) for question in benchmark.questions]
    topics = run_for_sync_caller(at_once(asked))
    rows = []
    for question, topic in zip(benchmark.questions, topics, strict=True):
        tell(question.question, topic)
        rows.append(json.dumps(_row(question, topic), ensure_ascii=False))
    write_whole(out, "".join(f"{row}\n" for row in rows).encode())


async def _topic(judge: Judge, question: str) -> str:
    prompt = judge.prompts.render("report_topic", question=material_line(question))
    return " ".join(clean_text(await judge.ask(prompt, read_text, _REPLY_TOKENS)).split())


def _row(question: Question, topic: str) -> dict[str, Any]:
    documents = [
        {**document, "date": document.get("metadata", {}).get("date", "")}
        for document in question.documents
    ]
    told = {"id": question.id, "topic": topic, "question": question.question}
    return {**told, "docs": documents, "has_conflict": True}
