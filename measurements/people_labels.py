"""Reads questions whose documents people labelled, and provides a labeler with these labels.

RAMDocs states which answer each document gives, and which answers are correct. WikiContradict
states the same for its two passages. Therefore each document's label is known for any claim that
contains such an answer letter by letter. No model is called, and the other words of the claim are
ignored. For NatConfQA, the question is whether a claim is true or false. The evidence ids of its
own questions do not lead to passages, but people labelled each passage against the claim from which
a question was made.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from langchain_core.documents import Document as Passage

from conflictscore.answering.statements import affirms, same_answer
from conflictscore.benchmarks.harness.question_sample import question_id
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.benchmarks.ramdocs.benchmark import (
    ExactMatch,
    exact_match,
    normalised,
    read_questions,
)
from conflictscore.benchmarks.wikicontradict.data import (
    read_questions as read_contradicting,
)
from conflictscore.errors import ConfigurationError
from conflictscore.labelers.denials import denied_in
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.retrieval.passages import cut_to_passages

_YES_NO = re.compile(r"(?:^|(?<=: )|(?<=; ))(yes|no)\b", re.IGNORECASE)
_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


class LabelledQuestion(NamedTuple):
    """A question, with the answers that people found in its documents.

    Attributes:
        question: The question. The documents of a question have ``gives`` in their metadata.
        right: Answers that are correct for some entity with the name in the question.
        wrong: Answers that are correct for no such entity.
        rivals: Whether correct answers conflict; otherwise each is correct for a different entity.
    """

    question: Question
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    rivals: bool

    def shortened(self, tokens: int) -> "LabelledQuestion":
        """Return the question with each document cut to the passage that matches it best."""
        given = self.question.documents
        whole = [Passage(document["text"]) for document in given]
        cut = cut_to_passages(self.question.question, whole, tokens)
        pairs = zip(given, cut, strict=True)
        documents = tuple({**document, "text": part.page_content} for document, part in pairs)
        return self._replace(question=self.question.model_copy(update={"documents": documents}))

    def judged(self, answer: str) -> ExactMatch:
        """Return the known answers that an answer gives.

        If the known answers are "true" and "false", the answer may say so in other words.
        """
        if "true" in (*self.right, *self.wrong):
            said = {"yes": "true", "no": "false"}
            answer = _YES_NO.sub(lambda word: said[word[0].casefold()], answer)
            if not re.search("true|false", answer, re.IGNORECASE):
                answer = "true" if affirms(answer, self.question.question) else "false"
        return exact_match(answer, self.right, self.wrong)

    def stated(self, claim: str) -> tuple[str, ...]:
        """Return the known answers that a claim contains."""
        found = self.judged("false" if denied_in(claim) is not None else claim)
        return (*found.given, *found.wrong)

    def label(self, claim: str, gives: str) -> Label:
        """Return the label of a document that gives this answer (empty: none), for a claim."""
        stated = set(map(normalised, self.stated(claim)))
        if not stated or not gives:
            return Label.IRRELEVANT
        if normalised(gives) in stated:
            return Label.SUPPORTS
        right = set(map(normalised, self.right))
        apart = self.rivals or normalised(gives) not in right or not stated <= right
        return Label.CONTRADICTS if apart else Label.IRRELEVANT


def _ramdocs(path: Path) -> list[LabelledQuestion]:
    """Read the questions, each for the entity that most correct documents are about.

    The data does not state which entity a document is about. However, documents with a different
    correct answer are about a different entity. Such documents are left out, so that the remaining
    documents agree or disagree about a single entity.
    """
    rows = [record for _, record in read_json_lines(path)]
    made = []
    for question, row in zip(read_questions(path, name_entities=False), rows, strict=True):
        told = [(d["type"], d["answer"]) for d in row["documents"]]
        right = [answer for kind, answer in told if kind == "correct"]
        wrong = set(map(normalised, question.incorrect))
        if not right:
            continue
        answer = max(right, key=right.count)
        asked = question.model_copy(update={"correct": (answer,)})
        kept = [
            (document, said if kind == "correct" or normalised(said) in wrong else "")
            for document, (kind, said) in zip(question.documents, told, strict=True)
            if kind != "correct" or normalised(said) == normalised(answer)
        ]
        documents, gives = zip(*kept, strict=True)
        asked = asked.model_copy(update={"documents": documents})
        made.append(_labelled(asked, gives, (answer,), question.incorrect, rivals=False))
    return made


def _ramdocs_whole(path: Path) -> list[LabelledQuestion]:
    """Read the questions with all their documents, including those about namesakes and noise."""
    rows = [record for _, record in read_json_lines(path)]
    made = []
    for question, row in zip(read_questions(path, name_entities=False), rows, strict=True):
        known = {*map(normalised, row["gold_answers"]), *map(normalised, question.incorrect)}
        said = [str(d["answer"]) for d in row["documents"]]
        gives = [answer if normalised(answer) in known else "" for answer in said]
        right = tuple(row["gold_answers"])
        if set(map(normalised, right)) & set(map(normalised, gives)):
            made.append(_labelled(question, gives, right, question.incorrect, rivals=False))
    return made


def _wikicontradict(path: Path) -> list[LabelledQuestion]:
    """Read the questions whose answers use different words, and whose passages differ."""
    made = []
    for asked in read_contradicting(path):
        one, other = (answer.strip(" .") for answer in asked.answers)
        told = set(map(normalised, (one, other)))
        if len(told) < 2 or told & {"yes", "no", ""} or len(set(asked.contexts_self_contained)) < 2:
            continue
        if exact_match(one, [other], ()).given or exact_match(other, [one], ()).given:
            continue
        question = Question(
            id=asked.id,
            question=asked.question,
            correct=(one, other),
            documents=tuple({"text": text} for text in asked.contexts_self_contained),
        )
        made.append(_labelled(question, [one, other], (one, other), (), rivals=True))
    return made


def _natconfqa(path: Path) -> list[LabelledQuestion]:
    """Ask whether each claim is true, if any of its passages supports or contradicts it.

    The answer that more passages give is correct. In a tie, both answers are correct and conflict.
    """
    made = []
    for _, row in read_json_lines(path):
        says = {Label.SUPPORTS: "true", Label.CONTRADICTS: "false", Label.IRRELEVANT: ""}
        kept = [d for d in row["docs"] if d["label"] in says]
        gives = [says[d["label"]] for d in kept]
        lead = gives.count("true") - gives.count("false")
        if not any(gives):
            continue
        # the answer that more passages give, or both in a tie
        right = ("true", "false")[lead < 0 : 2 - (lead > 0)]
        question = Question(
            id=question_id("natconfqa", row["id"]),
            question=f"Is this true or false: {row['claim'].strip()}",
            correct=right,
            incorrect=tuple({"true", "false"} - set(right)),
            documents=tuple({"text": d["text"]} for d in kept),
        )
        made.append(_labelled(question, gives, right, question.incorrect, rivals=not lead))
    return made


def _conflicts(path: Path) -> list[LabelledQuestion]:
    """Read CONFLICTS' questions on outdated facts and misinformation; its notes give answers."""
    made = []
    for _, row in read_json_lines(path):
        gold, query = str(row["gold_answer"]).strip(), str(row["query"])
        if not {"outdated", "misinformation"} & {*row["conflict_type"].split()}:
            continue
        others, gives = list[str](), [""] * len(row["docs"])
        for place, note in enumerate(row["llm_per_doc_notes"]):
            fact = str(note["key_fact"]).rstrip(".")
            if note["verdict"] != "supports" or not fact:
                continue
            if exact_match(fact, [gold], ()).given:
                gives[place] = gold
                continue
            gives[place] = next((one for one in others if same_answer(one, fact, query)), fact)
            others += [gives[place]] if gives[place] == fact else []
        if gold in gives:
            question = Question(
                id=str(row["id"]),
                question=query,
                correct=(gold,),
                incorrect=tuple(others),
                documents=tuple(
                    {"text": d["text"], "metadata": {"date": d["date"]}} for d in row["docs"]
                ),
            )
            made.append(_labelled(question, gives, (gold,), tuple(others), rivals=False))
    return made


def _minority(_: Path) -> list[LabelledQuestion]:
    """Read the constructed cases in ``minority.toml``."""
    made: list[LabelledQuestion] = []
    for kind in tomllib.loads(Path(__file__).with_name("minority.toml").read_text("utf-8"))["kind"]:
        for case in kind["cases"]:
            of = dict(zip(kind["fields"], case, strict=True))
            of["named"] = of["subject"][0].upper() + of["subject"][1:]
            told = {"metadata": {"form": kind["form"].format(**of)}}
            question = Question(
                id=f"minority-{len(made) + 1}",
                question=kind["question"].format(**of),
                correct=(of["right"],),
                incorrect=(of["wrong"],),
                documents=tuple(
                    {"title": title.format(**of), "text": text.format(**of), **told}
                    for _, title, text in kind["documents"]
                ),
            )
            gives = [of[side] for side, _, _ in kind["documents"]]
            right, wrong = question.correct, question.incorrect
            made.append(_labelled(question, gives, right, wrong, rivals=False))
    return made


def _labelled(
    question: Question,
    gives: Sequence[str],
    right: tuple[str, ...],
    wrong: tuple[str, ...],
    *,
    rivals: bool,
) -> LabelledQuestion:
    documents = tuple(
        {
            **document,
            "metadata": {**document.get("metadata", {}), "asked": question.id, "gives": answer},
        }
        for document, answer in zip(question.documents, gives, strict=True)
    )
    told = question.model_copy(update={"documents": documents})
    return LabelledQuestion(told, right, wrong, rivals)


SETS = {
    "ramdocs": _ramdocs,
    "ramdocs-whole": _ramdocs_whole,
    "natconfqa": _natconfqa,
    "wikicontradict": _wikicontradict,
    "conflicts": _conflicts,
    "minority": _minority,
}
"""The functions that read the published files, by the name of the set."""


Table = Mapping[Label, tuple[int, int, int]]
"""For each label by people: how often a labeler gave SUPPORTS, CONTRADICTS and IRRELEVANT."""

TABLES: dict[str, Table] = {
    "nli": dict(zip(_LABELS, ((25, 3, 22), (13, 16, 21), (1, 3, 46)), strict=True)),
    "choice": dict(zip(_LABELS, ((42, 3, 5), (31, 7, 12), (30, 2, 18)), strict=True)),
}
"""Confusion tables of two labelers, on 150 pairs of Factcheck-GPT with equally many of each label;
from ``measurements.label_accuracy`` at commit 53259e3."""


class Spoiler(NamedTuple):
    """Replaces some labels with wrong ones, according to a rate or a labeler's confusion table.

    Attributes:
        rate: Share of the labels, in [0, 1], that become one of the two other labels, with equal
            probability. Ignored if there is a table.
        table: The name of a confusion table, from which the new label is drawn.
        seed: Determines which labels are replaced. Labels replaced at one rate are also replaced at
            every higher rate.
    """

    rate: float = 0.0
    table: str | None = None
    seed: int = 0

    @classmethod
    def named(cls, name: str, seed: int) -> "Spoiler":
        """Return the spoiler for the name of a table, or for a rate.

        Raises:
            ConfigurationError: The name is neither a table nor a rate.
        """
        if name in TABLES:
            return cls(table=name, seed=seed)
        try:
            return cls(rate=float(name), seed=seed)
        except ValueError:
            known = ", ".join(TABLES)
            raise ConfigurationError(f"--spoiled {name}: a share, or one of {known}") from None

    def spoil(self, label: Label, claim: str, document: str) -> Label:
        """Return the label or a replacement; equal arguments give the same result."""
        digest = hashlib.sha256(f"{self.seed}\0{claim}\0{document}".encode()).digest()
        draw = Random(digest)  # noqa: S311 - a draw, not a secret
        if self.table is not None:
            [given] = draw.choices(_LABELS, TABLES[self.table][label])
            return given
        is_noisy = draw.random() < self.rate
        return draw.choice([one for one in _LABELS if one is not label]) if is_noisy else label


class PeopleLabeler:
    """Gives people's labels, after ``spoiler`` has replaced some; it calls no model."""

    identity = None

    def __init__(self, labelled: Iterable[LabelledQuestion], spoiler: Spoiler) -> None:
        """Take the labelled questions.

        Args:
            labelled: The questions. Documents of all other questions are labelled irrelevant.
            spoiler: Replaces some of the labels.
        """
        self._known = {one.question.id: one for one in labelled}
        self._spoiler = spoiler
        self.name = f"people({spoiler.table or spoiler.rate})"

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """See :class:`~conflictscore.labelers.protocol.Labeler`."""
        asked = self._known.get(str(document.metadata.get("asked")))
        gives = str(document.metadata.get("gives") or "")
        truth = asked.label(claim.text, gives) if asked else Label.IRRELEVANT
        given = self._spoiler.spoil(truth, claim.text, document.text)
        return EvidenceLabel(claim=claim.number, document=document.number, label=given)
