"""Reads ConflictBench's published sources and rebuilds the benchmark (the paper's appendix A).

ConflictBench itself is not published, but the paper describes its construction. Each question
yields one claim, which states an answer. If a conflict is to be shown, the claim is checked against
documents that give its answer and documents that give a different answer. Otherwise the claim is
checked against one document that gives its answer, and two unrelated documents that are taken from
other questions.

The paper leaves some points open, so our figures can differ from the paper's Table 2. We decide
these points as follows:

- For each question, a random draw decides whether a conflict is shown. The draw depends on the seed
  and the question.
- Claims follow a fixed pattern. With ``--write-claims``, a model writes the claims, as GPT-4 does
  in the paper. For ConflictingQA, the claim is the affirmative statement that the authors of
  ConflictingQA used as a search query.
- For MacNoise, only passages that ``pert_lbls`` marks as perturbable are shown. Of these passages,
  the first, third, fifth and so on are shown in their original version, and the others in their
  perturbed version. A single passage is shown in both versions.
- For ContraQA, a false paragraph counts as contradicting an answer if it no longer contains that
  answer.

The formats are those of the repositories AlexWan0/rag-convincingness, lilys012/AmbigDocs,
wjdghks950/Discern-and-Answer and teacherpeterpan/ContraQA. We have not seen ContraQA's query file.
From the code of ContraQA and the size of the file, we infer that a query contains SQuAD's
``context``.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from conflictscore.benchmarks.conflict_detection.groups import (
    ClaimGroup,
    GroupDocument,
    folded,
    statement,
)
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.json_lines import (
    Cleaned,
    PublishedRow,
    Text,
    read_items,
    read_json,
    read_json_lines,
    row_of,
)
from conflictscore.errors import InputError
from conflictscore.records import Label


class PublishedSet(NamedTuple):
    """The figures of one row in the paper's Tables 1 and 2, for GPT-4.1; shares are in [0, 1]."""

    conflicts: int
    others: int
    precision: float
    recall: float
    f1: float
    accuracy: float
    accuracy_no_conflict: float


PUBLISHED: Mapping[str, PublishedSet] = {
    "contraqa": PublishedSet(424, 374, 0.9971, 0.8208, 0.9004, 0.9035, 0.9973),
    "macnoise-nq": PublishedSet(94, 105, 0.8763, 0.9043, 0.8901, 0.8945, 0.8857),
    "macnoise-tqa": PublishedSet(116, 95, 0.9655, 0.9655, 0.9655, 0.9621, 0.9579),
    "ambigdocs": PublishedSet(291, 360, 0.9962, 0.8935, 0.9420, 0.9508, 0.9972),
    "conflictingqa": PublishedSet(355, 79, 0.9720, 0.9775, 0.9747, 0.9585, 0.8734),
    "overall": PublishedSet(1280, 1013, 0.9763, 0.9000, 0.9366, 0.932, 0.9724),
}
"""The paper's figures for each set. The row ``overall`` covers all five sets together."""

CONTRAQA_FILES = ("corpus.json", "queries.json")
"""The files in ContraQA's folder. All sources other than ContraQA are single files."""
_FAKE = "-FAKE"  # Follows the true paragraph's id in the id of a false version.
# The format of a MacNoise passage.
_PASSAGE = re.compile(r"title:(.*?)context:(.*)", re.DOTALL | re.IGNORECASE)
_OTHER_DOCUMENTS = 2
"""If a claim has no conflict, it is shown with this number of unrelated documents."""
_MOST_DRAWS = 1_000
"""The maximum number of draws in the search for unrelated documents; chosen by hand.

Many ContraQA questions share a paragraph, so some draws find only the question's own documents. If
1,000 draws find too few others, the file has almost none, and an unlimited search might never end.
"""


class _Question(NamedTuple):
    """A published question, from which a group is made; all sources share this format.

    The ``supporting`` documents give the answer that the claim will state. The ``contradicting``
    documents give a different answer. The tuple ``contradicting`` may be empty.
    """

    id: str
    text: str
    answer: str
    supporting: tuple[GroupDocument, ...]
    contradicting: tuple[GroupDocument, ...]


class _AnsweringDocument(PublishedRow):
    """A document of AmbigDocs, and the correct answer for the entity that it describes."""

    title: Text
    text: Text
    answer: Text

    def as_shown(self, label: Label) -> GroupDocument:
        return GroupDocument(text=self.text, title=self.title, label=label)


class _AmbigDocs(PublishedRow):
    """A row of AmbigDocs: an ambiguous name, and one document for each entity with that name."""

    qid: Text
    question: Text
    documents: Annotated[list[_AnsweringDocument], Field(min_length=1)]


def read_ambigdocs(path: Path, seed: int) -> list[ClaimGroup]:
    """Read AmbigDocs, whose questions have one answer for each entity with the ambiguous name.

    The claim states the answer that the question's first document gives. A document with a
    different answer counts as contradicting the claim, although it describes a different entity.
    """

    def question(row: _AmbigDocs, where: str) -> _Question:
        answer = row.documents[0].answer
        right = [folded(document.answer) == folded(answer) for document in row.documents]
        sides = list(zip(row.documents, right, strict=True))
        return _Question(
            row.qid,
            row.question,
            answer,
            tuple(document.as_shown(Label.SUPPORTS) for document, same in sides if same),
            tuple(document.as_shown(Label.CONTRADICTS) for document, same in sides if not same),
        )

    rows = read_items(path, _AmbigDocs, question, id_field="qid", rows=_items(path))
    return _constructed("ambigdocs", rows.items, path, seed)


class _Perturbed(PublishedRow):
    """A retrieved passage of MacNoise, and a version rewritten to give a different answer."""

    text: Text
    text_pert: Cleaned | None = None
    """The rewritten ("perturbed") text, or None if the passage could not be rewritten."""


class _MacNoise(PublishedRow):
    """A row of MacNoise. ``pert_lbls`` contains 1 for each passage that could be rewritten."""

    id: int | str | None = None
    question: Text
    answers: Annotated[list[Text], Field(min_length=1)]
    ctxs: list[_Perturbed]
    pert_lbls: list[Any]


def read_macnoise(path: Path, seed: int, name: str) -> list[ClaimGroup]:
    """Read MacNoise, whose retrieved passages also have versions with a different answer.

    The NQ and TQA variants of MacNoise have the same format. ``pert_lbls`` contains 1 for each
    passage that could be rewritten. If a question has no such passage, it is left out.
    """

    def question(row: _MacNoise, where: str) -> _Question | str:
        if len(row.pert_lbls) != len(row.ctxs):
            raise InputError(f"{where}, field pert_lbls: needs one number for each passage in ctxs")
        perturbable = [
            passage for passage, mark in zip(row.ctxs, row.pert_lbls, strict=True) if mark == 1
        ]
        pairs = [(passage.text, passage.text_pert) for passage in perturbable if passage.text_pert]
        if len(pairs) < len(perturbable):
            raise InputError(f"{where}, field ctxs: a passage marked in pert_lbls has no text_pert")
        if not pairs:
            return "no passage could be rewritten to give a different answer"
        return _Question(
            # a row without an id gets its number in the file
            where.rpartition(" ")[2] if row.id is None else str(row.id),
            row.question,
            row.answers[0],
            tuple(_passage(true, Label.SUPPORTS) for true, _ in pairs[::2]),
            tuple(_passage(false, Label.CONTRADICTS) for _, false in pairs[1::2] or pairs),
        )

    rows = read_items(path, _MacNoise, question, id_field="id", rows=_items(path))
    return _constructed(name, rows.items, path, seed)


class _Paragraph(PublishedRow):
    """A paragraph of ContraQA's corpus. If its id contains ``-FAKE``, it is a false version."""

    id: Text
    contents: Cleaned


class _SquadAnswers(PublishedRow):
    """Answers in SQuAD's format. Only the first one is used."""

    text: Annotated[list[Text], Field(min_length=1)]


class _ContraQuery(PublishedRow):
    """A ContraQA question with the true paragraph that answers it."""

    id: Text
    question: Text
    context: Text
    answers: _SquadAnswers


def read_contraqa(path: Path, seed: int) -> list[ClaimGroup]:
    """Read ContraQA, which has Wikipedia paragraphs and false versions of these paragraphs.

    The folder of the "polluted" corpus contains two files. ``corpus.json`` has one
    paragraph per line, as JSON. If a paragraph's id contains ``-FAKE``, it is a false version.
    ``queries.json`` contains a JSON list of questions. A question is kept only if its
    paragraph has a false version that does not contain the answer.
    """
    corpus_path, queries = (path / name for name in CONTRAQA_FILES)
    corpus = [row_of(_Paragraph, paragraph, at) for at, paragraph in read_json_lines(corpus_path)]
    false: dict[str, list[str]] = {}
    for paragraph in corpus:
        name, mark, _ = paragraph.id.partition(_FAKE)
        if mark:
            false.setdefault(name, []).append(paragraph.contents)
    versions = {
        folded(paragraph.contents): false[paragraph.id]
        for paragraph in corpus
        if paragraph.id in false
    }

    def question(row: _ContraQuery, where: str) -> _Question | str:
        answer = row.answers.text[0]
        answer_words = f" {folded(answer)} "  # the spaces make only whole words match
        fakes = versions.get(folded(row.context), ())
        fakes = [text for text in fakes if answer_words not in f" {folded(text)} "]
        if not fakes:
            return (
                "corpus.json has no false version of the question's context that lacks the answer"
            )
        return _Question(
            row.id,
            row.question,
            answer,
            (GroupDocument(text=row.context, label=Label.SUPPORTS),),
            tuple(GroupDocument(text=fake, label=Label.CONTRADICTS) for fake in fakes),
        )

    rows = read_items(queries, _ContraQuery, question, id_field="id", rows=read_json(queries))
    return _constructed("contraqa", rows.items, path, seed)


class _Page(PublishedRow):
    """A web page that ConflictingQA retrieved for a question, and the stance of the page.

    If ``search_type`` is ``yes_statement``, then ``search_engine_input`` contains the question
    reworded as a statement. This statement becomes the claim.
    """

    search_query: Text
    search_type: str | None = None
    search_engine_input: Cleaned | None = None
    title: Cleaned | None = None
    text_window: Text
    stance: Annotated[Literal["yes", "no"], BeforeValidator(lambda stance: str(stance).lower())]


def read_conflictingqa(path: Path, seed: int) -> list[ClaimGroup]:
    """Read ConflictingQA, which has contentious questions and pages that answer yes or no.

    Every question becomes one claim with all its pages. As in the paper, the claim counts as a
    conflict if at least one page says yes and at least one says no; nothing is drawn at random.

    The published table is a pickle file, which can run arbitrary code when it is loaded. So convert
    the table first, with ``pandas.read_pickle(...).to_json(path, orient="records", lines=True)``.
    """
    pages: dict[str, list[GroupDocument]] = {}
    claims: dict[str, str] = {}
    for where, record in read_json_lines(path):
        page = row_of(_Page, record, where)
        label = Label.SUPPORTS if page.stance == "yes" else Label.CONTRADICTS
        pages.setdefault(page.search_query, []).append(
            GroupDocument(text=page.text_window, title=page.title or "", label=label)
        )
        # in a search query, quotation marks only ask for the exact words
        if page.search_type == "yes_statement" and page.search_engine_input:
            claims.setdefault(page.search_query, page.search_engine_input.replace('"', ""))
    return [
        ClaimGroup(
            set="conflictingqa",
            id=query,
            claim=claims.get(query) or statement(query, "yes"),
            question=query,
            answer="yes",
            documents=tuple(documents),
            has_conflict=len({document.label for document in documents}) > 1,
        )
        for query, documents in pages.items()
    ]


def _constructed(
    name: str, questions: Sequence[_Question], path: Path, seed: int
) -> list[ClaimGroup]:
    """Construct groups as ConflictBench does, one per question; about half of them have a conflict.

    If a question has contradicting documents, a random draw that depends on ``seed`` decides
    whether they are shown with the supporting ones. If no contradicting documents are shown, the
    group contains the question's first supporting document and documents from other questions. With
    these further documents, the number of documents does not reveal the conflict.

    Raises:
        InputError: There are too few documents from other questions.
    """
    groups = []
    for question in questions:
        # the lot depends on the question alone, so a part of the file gives the same conflicts
        ticket = lot(f"conflictbench {name}", seed, question.id)
        conflict = bool(question.contradicting) and ticket[0] % 2 == 0
        if conflict:
            documents = (*question.supporting, *question.contradicting)
        else:
            others = _of_others(question, questions, random.Random(ticket))  # noqa: S311 - no secret
            if len(others) < _OTHER_DOCUMENTS:
                raise InputError(
                    f"{path}: there are too few documents from other questions to show with"
                    f" {question.id!r}, which needs {_OTHER_DOCUMENTS}"
                )
            documents = (question.supporting[0], *others)
        groups.append(
            ClaimGroup(
                set=name,
                id=question.id,
                claim=statement(question.text, question.answer),
                question=question.text,
                answer=question.answer,
                documents=documents,
                has_conflict=conflict,
            )
        )
    return groups


def _of_others(
    question: _Question, questions: Sequence[_Question], rng: random.Random
) -> tuple[GroupDocument, ...]:
    """Draw documents from other questions; these documents say nothing about the claim."""
    own = {document.text for document in (*question.supporting, *question.contradicting)}
    documents_by_text: dict[str, GroupDocument] = {}
    for _ in range(_MOST_DRAWS):
        document = rng.choice(rng.choice(questions).supporting)
        if document.text not in own:
            documents_by_text.setdefault(
                document.text, document.model_copy(update={"label": Label.IRRELEVANT})
            )
        if len(documents_by_text) == _OTHER_DOCUMENTS:
            break
    return tuple(documents_by_text.values())


def _items(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a JSON Lines file (``.jsonl``) or of a JSON list (any other extension)."""
    return read_json_lines(path) if path.suffix == ".jsonl" else read_json(path)


def _passage(whole: str, label: Label) -> GroupDocument:
    """Convert a passage, which may have the form ``title: ... context: ...``, to a document."""
    match = _PASSAGE.fullmatch(whole)
    title, text = (match[1].strip(), match[2].strip()) if match else ("", whole)
    return GroupDocument(text=text, title=title, label=label)
