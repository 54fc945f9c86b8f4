"""Three ways to ask for a report, from no word about conflicts to rules (Tables 8 to 10)."""

from enum import StrEnum
from itertools import pairwise

from conflictscore.benchmarks.reports.topics import Topic
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.models.window import fit_documents
from conflictscore.nodes.generate import cut_notes
from conflictscore.nodes.replies import read_text
from conflictscore.prompts import PromptSet, material_line
from conflictscore.records import Record

__all__ = ["REPLY_TOKENS", "Report", "Style", "write_report"]

REPLY_TOKENS = 1024
"""The most that a report may have; three paragraphs need half of it."""


class Style(StrEnum):
    """How a report is asked for."""

    RAG = "rag"
    """From the documents, with no word about conflicts."""
    BALANCED = "balanced"
    """With care, and with all sides."""
    SUPER_BALANCED = "super-balanced"
    """By rules: hedge, attribute, name every view."""

    @property
    def template(self) -> str:
        """The template that asks for it."""
        return "report_" + self.value.replace("-", "_")


class Report(Record):
    """A report as it was written."""

    text: str
    paragraphs: int
    """Blocks of text between empty lines; three at the most were asked for."""
    notes: tuple[str, ...] = ()
    """Which documents the writer saw in part only."""


async def write_report(
    topic: Topic, style: Style, *, model: LanguageModel, prompts: PromptSet, meter: UsageMeter
) -> Report:
    """Ask for a report on a topic.

    Args:
        topic: With the documents, which are untrusted.
        style: How it is asked for.
        model: Who writes.
        prompts: The templates ``report_rag``, ``report_balanced`` and ``report_super_balanced``.
        meter: Counts the calls.

    Raises:
        ConfigurationError: A setting is wrong, or the context window is too small.
        ProviderError: The model failed, or twice replied with nothing or beyond its length.
    """
    subject = material_line(topic.text)
    fitted = fit_documents(
        topic.documents,
        model,
        prompts,
        around=prompts.render(style.template, topic=subject, documents=""),
        reply_tokens=REPLY_TOKENS,
    )
    text = await model.ask(
        prompts.render(
            style.template, topic=subject, documents=prompts.documents(fitted.documents)
        ),
        read_text,
        prompts=prompts,
        meter=meter,
        max_tokens=REPLY_TOKENS,
    )
    return Report(
        text=text,
        paragraphs=_paragraphs(text),
        notes=tuple(cut_notes(fitted, "write the report")),
    )


def _paragraphs(text: str) -> int:
    lines = ["", *(line.strip() for line in text.splitlines())]
    return sum(bool(line) and not before for before, line in pairwise(lines))
