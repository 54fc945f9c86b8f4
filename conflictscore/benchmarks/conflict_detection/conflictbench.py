"""Reads ConflictBench's sources in their published formats, and constructs it (paper, appendix A).

ConflictBench itself is not published. By its construction, each question has one claim. If it is to
be a conflict, the claim is checked against documents that give its answer and documents that give
another answer. Otherwise it is checked against one document that gives its answer and two documents
of other questions.

The paper leaves some points open. They are decided here as follows, so figures can differ from its
Table 2:

- Which questions become conflicts: by a draw that depends on the seed and the question.
- The words of a claim: in the paper GPT-4 writes it, as with ``--write-claims``. Otherwise the
  words are fixed; for ConflictingQA they are the affirmative statement that its authors used as a
  search query.
- Which perturbed passages of MacNoise are shown: the ones marked in ``pert_lbls``, alternately
  original and perturbed.
- Which questions of ContraQA a false paragraph contradicts: the ones whose answer it no longer
  contains.

The formats are those of the repositories AlexWan0/rag-convincingness, lilys012/AmbigDocs,
wjdghks950/Discern-and-Answer and teacherpeterpan/ContraQA. We have not seen ContraQA's file of
queries: that a query contains SQuAD's ``context`` is inferred from the code and the size of the
file.
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
    """A row of the paper's Tables 1 and 2 for GPT-4.1; shares in [0, 1]."""

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
"""The paper's figures by set; ``overall`` covers the five other sets together."""

_FAKE = "-FAKE"
_PASSAGE = re.compile(r"title:(.*?)context:(.*)", re.DOTALL | re.IGNORECASE)
_OTHER_DOCUMENTS = 2
_MOST_DRAWS = 1_000
"""Maximum draws for a document of another question.

Many questions of ContraQA share a paragraph, so some draws fail.
"""


class _Question(NamedTuple):
    """A published question in the common form from which groups are made.

    ``supporting`` documents give the answer that the claim will state. ``contradicting`` documents
    give another answer; there may be none.
    """

    id: str
    text: str
    answer: str
    supporting: tuple[GroupDocument, ...]
    contradicting: tuple[GroupDocument, ...]


class _AnsweringDocument(PublishedRow):
    """A document of AmbigDocs, with its answer for the entity that it is about."""

    title: Text
    text: Text
    answer: Text

    def as_shown(self, label: Label) -> GroupDocument:
        return GroupDocument(text=self.text, title=self.title, label=label)


class _AmbigDocs(PublishedRow):
    """A row of AmbigDocs: an ambiguous name, and a document for each entity with that name."""

    qid: Text
    question: Text
    documents: Annotated[list[_AnsweringDocument], Field(min_length=1)]


def read_ambigdocs(path: Path, seed: int) -> list[ClaimGroup]:
    """Read AmbigDocs: one name, several entities, an answer for each.

    The claim gives the answer of the question's first document. A document with a different
    answer counts as contradicting it, although it is about another entity of that name.
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
    """A retrieved passage of MacNoise, and the same passage rewritten around the answer."""

    text: Text
    text_pert: Cleaned | None = None
    """The perturbed text; None if the passage could not be perturbed."""


class _MacNoise(PublishedRow):
    """A row of MacNoise; ``pert_lbls`` has 1 for each of ``ctxs`` that could be perturbed."""

    id: int | str | None = None
    question: Text
    answers: Annotated[list[Text], Field(min_length=1)]
    ctxs: list[_Perturbed]
    pert_lbls: list[Any]


def read_macnoise(path: Path, seed: int, name: str) -> list[ClaimGroup]:
    """Read MacNoise: retrieved passages, and the same passages rewritten around the answer.

    Its NQ and TQA variants have the same format. ``pert_lbls`` is 1 for each passage that could be
    perturbed; a question without such a passage is left out.
    """

    def question(row: _MacNoise, where: str) -> _Question | str:
        if len(row.pert_lbls) != len(row.ctxs):
            raise InputError(f"{where}, field pert_lbls: a number for each of ctxs is needed")
        perturbable = [
            passage for passage, mark in zip(row.ctxs, row.pert_lbls, strict=True) if mark == 1
        ]
        pairs = [(passage.text, passage.text_pert) for passage in perturbable if passage.text_pert]
        if len(pairs) < len(perturbable):
            raise InputError(f"{where}, field ctxs: a marked passage has no text_pert")
        if not pairs:
            return "no passage could be perturbed"
        return _Question(
            where.rpartition(" ")[2] if row.id is None else str(row.id),
            row.question,
            row.answers[0],
            tuple(_passage(true, Label.SUPPORTS) for true, _ in pairs[::2]),
            tuple(_passage(false, Label.CONTRADICTS) for _, false in pairs[1::2] or pairs),
        )

    rows = read_items(path, _MacNoise, question, id_field="id", rows=_items(path))
    return _constructed(name, rows.items, path, seed)


class _Paragraph(PublishedRow):
    """A paragraph of ContraQA's corpus; an id that ends in ``-FAKE`` marks a false version."""

    id: Text
    contents: Cleaned


class _SquadAnswers(PublishedRow):
    """Answers in SQuAD's form; the first one is used."""

    text: Annotated[list[Text], Field(min_length=1)]


class _ContraQuery(PublishedRow):
    """A question of ContraQA with the true paragraph that answers it."""

    id: Text
    question: Text
    context: Text
    answers: _SquadAnswers


def read_contraqa(path: Path, seed: int) -> list[ClaimGroup]:
    """Read ContraQA: paragraphs of Wikipedia, and false versions of them.

    The folder of the polluted corpus has two files: ``corpus.json``, JSON lines in which an id that
    ends in ``-FAKE`` marks a false version, and ``queries.json``, a JSON list. A question is left
    out if every false version still contains its answer.
    """
    corpus = [
        row_of(_Paragraph, paragraph, at) for at, paragraph in read_json_lines(path / "corpus.json")
    ]
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
        answer_words = f" {folded(answer)} "
        fakes = versions.get(folded(row.context), ())
        fakes = [text for text in fakes if answer_words not in f" {folded(text)} "]
        if not fakes:
            return "no false version of their context in corpus.json leaves the answer out"
        return _Question(
            row.id,
            row.question,
            answer,
            (GroupDocument(text=row.context, label=Label.SUPPORTS),),
            tuple(GroupDocument(text=fake, label=Label.CONTRADICTS) for fake in fakes),
        )

    queries = path / "queries.json"
    rows = read_items(queries, _ContraQuery, question, id_field="id", rows=read_json(queries))
    return _constructed("contraqa", rows.items, path, seed)


class _Page(PublishedRow):
    """A web page that ConflictingQA retrieved for a question, with its stance.

    If ``search_type`` is ``yes_statement``, ``search_engine_input`` is the question as a statement,
    which becomes the claim.
    """

    search_query: Text
    search_type: str | None = None
    search_engine_input: Cleaned | None = None
    title: Cleaned | None = None
    text_window: Text
    stance: Annotated[Literal["yes", "no"], BeforeValidator(lambda stance: str(stance).lower())]


def read_conflictingqa(path: Path, seed: int) -> list[ClaimGroup]:
    """Read ConflictingQA: contentious questions, and pages that answer yes or no.

    Every question becomes one claim with all its pages, and is a conflict if they take both
    stances, as in the paper; nothing is drawn at random. The published table is a pickle, which can
    run code. Convert it with ``pandas.read_pickle(...).to_json(path, orient="records",
    lines=True)``.
    """
    pages: dict[str, list[GroupDocument]] = {}
    claims: dict[str, str] = {}
    for where, record in read_json_lines(path):
        page = row_of(_Page, record, where)
        label = Label.SUPPORTS if page.stance == "yes" else Label.CONTRADICTS
        pages.setdefault(page.search_query, []).append(
            GroupDocument(text=page.text_window, title=page.title or "", label=label)
        )
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
    """Construct groups like ConflictBench: one claim per question, about half in conflict.

    A draw by ``seed`` decides whether a question with contradicting documents shows both sides. All
    other questions show their first supporting document among documents of other questions, so that
    the number of documents does not reveal the conflict.

    Raises:
        InputError: There are too few documents of other questions.
    """
    groups = []
    for question in questions:
        ticket = lot(f"conflictbench {name}", seed, question.id)
        conflict = bool(question.contradicting) and ticket[0] % 2 == 0
        if conflict:
            documents = (*question.supporting, *question.contradicting)
        else:
            others = _of_others(question, questions, random.Random(ticket))  # noqa: S311 - no secret
            if len(others) < _OTHER_DOCUMENTS:
                raise InputError(
                    f"{path}: there are too few documents of other questions to show with"
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
    """Documents of other questions, drawn at random, which say nothing about the claim."""
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
    return read_json_lines(path) if path.suffix == ".jsonl" else read_json(path)


def _passage(whole: str, label: Label) -> GroupDocument:
    """A passage, which may have the form ``title: ... context: ...``."""
    match = _PASSAGE.fullmatch(whole)
    title, text = (match[1].strip(), match[2].strip()) if match else ("", whole)
    return GroupDocument(text=text, title=title, label=label)
