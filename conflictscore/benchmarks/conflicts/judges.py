"""Judges answers by the measures of "DRAGged into Conflicts" (section 4), with our own prompts.

Limits without a stated reason were chosen by hand.
"""

import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from conflictscore.benchmarks.harness.conflict_types import inline_citations
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.judging import Judge, read_choice
from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.loop.inputs import given_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.records import Document
from conflictscore.sentences import CITATIONS, sentence_ends
from conflictscore.threads import at_once

GROUNDING_TEMPLATE = "conflicts_grounding"

_GROUNDING_TOKENS = 200
"""The maximum number of tokens in a reply about one sentence.

The reply has one word and a short explanation. A reply without the word is requested again.
"""
_NUMBERS = range(1000)
"""The numbers that a citation can contain.

Larger numbers in brackets, such as years, are not citations. Smaller numbers are citations, even if
there is no such document: a made-up citation counts against the answer.
"""

# Text in brackets, usually a citation. The bounds keep the search linear.
_BRACKETS = re.compile(r"[ \t]{0,20}\[[^\[\]\n]{1,120}\]")
_WORD = re.compile(r"\w")
_BULLET = re.compile(r"^(?:[-*•–]|\d{1,3}[.)])\s+|^#+\s+")
# Citations without a sentence: "[1][2]."
_ONLY_CITATIONS = re.compile(rf"{CITATIONS}[\s.]*")


class Support(StrEnum):
    """The possible relations between a sentence and the documents that it cites."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    NO_CLAIM = "no-claim"
    """The sentence states nothing that could be right or wrong, so the share leaves it out."""


class SentenceVerdict(NamedTuple):
    """A judge's verdict on one sentence of an answer."""

    support: Support | None
    """Whether the documents support the sentence; None if the judge failed or was unreadable."""
    reason: str


async def grounding_verdict(
    question: str, answer: str, documents: Sequence[Document], judge: Judge
) -> Verdict | None:
    """Compute the share, in [0, 1], of sentences that their cited documents support.

    A sentence that cites no document, or a document that does not exist, counts as not supported,
    even if it states nothing. No call is made for such a sentence. All other sentences are judged
    concurrently, with one call each; sentences that state nothing are left out.

    Returns:
        A verdict whose value is the share, and whose explanation lists the verdict on each
        sentence; or None if no sentence states anything. If a sentence could not be judged, the
        verdict has an error instead of a value. A sentence could not be judged if a call failed, if
        the reply was unreadable twice, or if no support was found in documents that had been
        shortened to fit the judge's context window.
    """
    documents_by_number = {document.number: document for document in documents}
    render = partial(
        judge.prompts.render,
        GROUNDING_TEMPLATE,
        question=material_line(question),
        answer=material(answer),
    )

    async def of_sentence(sentence: str) -> SentenceVerdict:
        citations = inline_citations(sentence, _NUMBERS)
        if not citations:
            return SentenceVerdict(Support.UNSUPPORTED, "the sentence cites no document")
        if absent := [number for number in citations if number not in documents_by_number]:
            return SentenceVerdict(Support.UNSUPPORTED, f"there is no document {absent[0]}")
        ask = partial(render, sentence=material(sentence))
        try:
            evidence = judge.fitted(
                [documents_by_number[n] for n in citations], ask(documents=""), _GROUNDING_TOKENS
            )
            prompt = ask(documents=judge.prompts.documents(evidence.documents))
            verdict = await judge.ask(prompt, read_support, _GROUNDING_TOKENS)
        except (ProviderError, ContextWindowError) as error:
            return SentenceVerdict(None, str(error))
        # any other verdict is based on a passage that the judge saw
        if evidence.cut and verdict.support is Support.UNSUPPORTED:
            model, numbers = judge.model, ", ".join(map(str, evidence.cut))
            return SentenceVerdict(
                None,
                f"documents {numbers} were shortened to fit the context window of {model.name}"
                f" ({model.context_window} tokens), so support may be in the missing parts",
            )
        return verdict

    sentences = split_sentences(answer)
    distinct = list(dict.fromkeys(sentences))  # a repeated sentence is judged once
    verdicts = await at_once([partial(of_sentence, sentence) for sentence in distinct])
    verdict_of = dict(zip(distinct, verdicts, strict=True))
    sentence_verdicts = [verdict_of[sentence] for sentence in sentences]
    for number, (support, reason) in enumerate(sentence_verdicts, start=1):
        if support is None:
            return Verdict(
                value=None, error=f"sentence {number} of {len(sentence_verdicts)}: {reason}"
            )
    counts = Counter(support for support, _ in sentence_verdicts)
    stating = len(sentence_verdicts) - counts[Support.NO_CLAIM]
    if not stating:
        return None
    explanation = "; ".join(
        f"{n}: {support} ({reason})"
        for n, (support, reason) in enumerate(sentence_verdicts, start=1)
    )
    return Verdict(value=counts[Support.SUPPORTED] / stating, explanation=explanation)


def read_support(reply: str) -> SentenceVerdict:
    """Read the verdict on the line ``GROUNDING:`` of a reply, and the explanation if there is one.

    Letter case is ignored. Brackets and Markdown around the words are ignored too.
    """
    support, reason = read_choice(reply, "GROUNDING", Support, note="EXPLANATION")
    return SentenceVerdict(support, reason or "no reason given")


def split_sentences(answer: str) -> tuple[str, ...]:
    """Split an answer into sentences, with rules for European, Chinese and Japanese text.

    No sentence extends beyond the end of its line, unless the line ends with a colon.
    Bullets, list numbers and heading marks are removed. If a citation in brackets follows a full
    stop, it belongs to the preceding sentence. Text that has no letter or digit outside brackets is
    not a sentence.
    """
    sentences: list[list[str]] = []  # Each sentence's text, then the lines that only cite.
    lead: list[str] = []  # Earlier lines that end with a colon.
    for raw in answer.splitlines():
        line = _BULLET.sub("", raw.strip())
        if not line:
            continue
        # ``_ONLY_CITATIONS`` also matches a line of full stops, so a bracket is required; after a
        # line that ends with a colon, the citations are joined to that line below
        if sentences and not lead and "[" in line and _ONLY_CITATIONS.fullmatch(line):
            sentences[-1].append(line)
            continue
        lead.append(line)
        if not line.rstrip("*_ ").endswith(":"):
            sentences += _of_line(" ".join(lead))
            lead = []
    sentences += _of_line(" ".join(lead))
    return tuple(map(" ".join, sentences))


def _of_line(line: str) -> Iterator[list[str]]:
    start = 0
    for end in [*sentence_ends(line), len(line)]:
        sentence = line[start:end].strip()
        start = end
        if _WORD.search(_BRACKETS.sub("", sentence)):
            yield [sentence]


BEHAVIOUR = "expected behaviour"
"""The measure of whether an answer behaves as the question's conflict type requires.

Annotators assigned the conflict type.
"""
RECALL = "answer recall"
"""The measure of whether an answer contains the correct answer, for questions that have one."""
GROUNDING = "grounding"
"""The measure of grounding: the share of sentences, in [0, 1], that the cited documents support."""


_FOLLOWS, _GIVEN = "FOLLOWS", "GIVEN"

REPLY_FORMS = (f"{_FOLLOWS}: True\n{_GIVEN}: True\nGROUNDING: {Support.SUPPORTED}",)
"""A sample reply for a dry run (see ``Benchmark.reply_forms``), which all three judges can read."""

_REPLY_TOKENS = 320
"""The maximum number of tokens in a reply about a whole answer.

The explanation covers several documents, so it is longer than an explanation about one sentence.
"""


async def judge_answer(
    question: Question, answer: str, *, model: LanguageModel, prompts: PromptSet, meter: UsageMeter
) -> dict[str, Verdict]:
    """Judge an answer by every applicable measure, concurrently; see ``AnswerJudge``.

    The verdicts are independent. If a call fails, or if its reply is unreadable twice, only the
    verdict of this call has an error instead of a value. Measures that do not apply are absent.
    Recall does not apply if there is no correct answer, and grounding does not apply if no sentence
    states anything.
    """
    documents = given_documents({"documents": list(question.documents)})
    judge = Judge(model, prompts, meter)
    judging: list[Callable[[], Coroutine[Any, Any, Verdict | None]]] = [
        partial(_behaviour, question, answer, documents, judge),
        partial(_recall, question, answer, judge),
        partial(grounding_verdict, question.question, answer, documents, judge),
    ]
    verdicts = await at_once(judging)
    by_measure = zip((BEHAVIOUR, RECALL, GROUNDING), verdicts, strict=True)
    return {measure: verdict for measure, verdict in by_measure if verdict is not None}


async def _behaviour(
    question: Question, answer: str, documents: Sequence[Document], judge: Judge
) -> Verdict:
    """Judge in one call whether the answer behaves as the question's conflict type requires.

    The judge sees all documents. If some of them were shortened to fit the judge's context window,
    the verdict still counts, and its explanation lists the shortened documents.

    Raises:
        ValueError: The question has no conflict type.
    """
    if question.conflict_type is None:
        raise ValueError(f"question {question.id!r} has no conflict type, which the judge needs")
    render = partial(
        judge.prompts.render,
        "conflicts_behaviour",
        question=material_line(question.question),
        case=judge.prompts.render(
            f"conflicts_case_{question.conflict_type.value.replace('-', '_')}"
        ),
        answer=material(answer),
    )
    try:
        evidence = judge.fitted(documents, render(documents=""), _REPLY_TOKENS)
    except ContextWindowError as error:
        return Verdict(value=None, error=str(error))
    prompt = render(documents=judge.prompts.documents(evidence.documents))
    verdict = await judge.decide(prompt, _FOLLOWS, _REPLY_TOKENS)
    if not evidence.cut or verdict.value is None:
        return verdict
    cut = f"the judge saw only parts of documents {', '.join(map(str, evidence.cut))}"
    explanation = f"{verdict.explanation} ({cut})" if verdict.explanation else cut
    return verdict.model_copy(update={"explanation": explanation})


async def _recall(question: Question, answer: str, judge: Judge) -> Verdict | None:
    if not question.correct:
        return None
    prompt = judge.prompts.render(
        "conflicts_recall",
        question=material_line(question.question),
        gold=material_line("; ".join(question.correct)),
        answer=material(answer),
    )
    return await judge.decide(prompt, _GIVEN, _REPLY_TOKENS)
