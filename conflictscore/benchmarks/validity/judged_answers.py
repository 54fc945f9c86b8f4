"""Answers that people judged, and made ones, with the claims that they are scored by.

No language model takes them apart: every sentence is a claim. The answer as one claim is labelled
beside them, for a rival that reads it whole.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.benchmarks.harness.question_sample import question_id
from conflictscore.benchmarks.json_lines import read_json_lines, text_of
from conflictscore.benchmarks.natconfqa.data import read_natconfqa
from conflictscore.benchmarks.natconfqa.metrics import values
from conflictscore.benchmarks.natconfqa.people import read_people
from conflictscore.benchmarks.wikicontradict.data import ContradictingQuestion, read_rated
from conflictscore.benchmarks.wikicontradict.judge import Rating
from conflictscore.markdown import passages

ANSWERS = "answers"
"""The set of the groups that are claims of answers."""

_VALUES = {Rating.INCORRECT: 0.0, Rating.PARTIALLY_CORRECT: 0.5, Rating.CORRECT: 1.0}

FORMS = {
    "one-sided": "{one}.",
    "hedged": "It is possible that {one}.",
    "side by side": "{one}. {other}.",
    "two-sided": "It is disputed whether {one} or {other}.",
    "attributed": "One source says that {one}, and another source says that {other}.",
    "evasive": "The sources do not allow a clear answer to this question.",
}
"""Made answers to one question, of the two answers that its passages give."""

_YES_NO = re.compile(r"^(yes|no)\b\s*([,.;:]\s*|$)", re.IGNORECASE)
_FUNCTION_WORDS = re.compile(
    r"(an?|the|th(is|at|ese|ose)|there|its?|in|on|at|by|from|of|for|as|after|before|during|he|she"
    r"|they|his|her|their|both|all|some|no|one|each|most|many|only|not)\b",
    re.IGNORECASE,
)
"""Words that begin an answer with a capital letter only because it is a sentence."""


class JudgedAnswer(NamedTuple):
    """An answer with the documents it is held against.

    Attributes:
        part: What answers it is counted with: a prompt template, or a form of made answers.
        question: Its id; answers to one question hang together.
        value: What people say of it, in [0, 1], more being better; None of a made one.
        text: The answer.
        documents: Texts of the documents.
    """

    part: str
    question: str
    value: float | None
    text: str
    documents: tuple[str, ...]

    @property
    def whole(self) -> ClaimGroup:
        """The answer as one claim."""
        return _group(" ".join(self.text.split()), self.documents)

    @property
    def claims(self) -> tuple[ClaimGroup, ...]:
        """Its sentences; none where it has no words."""
        found = (self.text[one.start : one.end] for one in passages(self.text))
        return tuple(
            _group(" ".join(sentence.split()), self.documents)
            for sentence in found
            if any(map(str.isalnum, sentence))
        )


def wikicontradict_answers(path: str | Path) -> tuple[JudgedAnswer, ...]:
    """WikiContradict's rated answers, each held against both passages of its question.

    Args:
        path: The published human evaluation; Incorrect is 0, Partially correct .5, Correct 1.
    """
    contexts = {}
    for where, row in read_json_lines(Path(path)):
        key = question_id("wc", text_of(row, "question", where))
        fields = ("context1_self_contained", "context2_self_contained")
        contexts[key] = tuple(text_of(row, field, where) for field in fields)
    answers = []
    for rated in read_rated(path):
        key = question_id("wc", rated.question)
        part = f"template {rated.prompt.value}"
        answers.append(JudgedAnswer(part, key, _VALUES[rated.rating], rated.answer, contexts[key]))
    return tuple(answers)


def natconfqa_answers(questions: str | Path, judged: str | Path) -> tuple[JudgedAnswer, ...]:
    """NatConfQA's judged answers, each held against all passages of its question.

    The value is people's recall of conflicts: the share of the question's pairs of answers in
    conflict of which they found both in the answer. Questions without a conflict have none and are
    left out.

    Args:
        questions: The published questions.
        judged: The published judgements.
    """
    people = read_people(judged, read_natconfqa(questions).questions)
    return tuple(
        JudgedAnswer(row.prompt, row.question.id, recall, row.answer, row.question.passages)
        for row in people
        if (recall := values(row.counts)["conflict_recall"].value) is not None
    )


def made_answers(questions: Iterable[ContradictingQuestion]) -> tuple[JudgedAnswer, ...]:
    """Answers in each of :data:`FORMS`, of WikiContradict's two answers as full sentences.

    A question of which one answer is no more than yes or no is left out.
    """
    made = []
    for asked in questions:
        one, other = map(_clause, asked.answers_self_contained)
        if not (one and other):
            continue
        for form, template in FORMS.items():
            text = template.format(one=one, other=other)
            text = ". ".join(part[:1].upper() + part[1:] for part in text.split(". "))
            documents = asked.contexts_self_contained
            made.append(JudgedAnswer(form, asked.id, None, text, documents))
    return tuple(made)


def first_questions(answers: Sequence[JudgedAnswer], limit: int | None) -> tuple[JudgedAnswer, ...]:
    """The answers to the first questions; all where there is no limit."""
    kept = set(list(dict.fromkeys(answer.question for answer in answers))[:limit])
    return tuple(answer for answer in answers if answer.question in kept)


def claim_groups(answers: Iterable[JudgedAnswer]) -> list[ClaimGroup]:
    """All that is to be labelled, each claim on its documents once."""
    groups = (group for answer in answers for group in (*answer.claims, answer.whole))
    return list({group.id: group for group in groups}.values())


def _clause(answer: str) -> str:
    """An answer as it stands within a sentence."""
    text = _YES_NO.sub("", " ".join(answer.split()), count=1).rstrip(" .;")
    return text[:1].lower() + text[1:] if _FUNCTION_WORDS.match(text) else text


def _group(claim: str, documents: Sequence[str]) -> ClaimGroup:
    """A claim that nobody labelled, so what ``has_conflict`` says of it is not read."""
    content = "\0".join((claim, *documents)).encode("utf-8", "surrogatepass")
    return ClaimGroup(
        set=ANSWERS,
        id=sha256(content).hexdigest()[:16],
        claim=claim,
        documents=tuple(GroupDocument(text=text) for text in documents),
        has_conflict=False,
    )
