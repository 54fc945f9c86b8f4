"""ConflictBench's sources in their published formats, and its construction (paper, appendix A).

ConflictBench itself is not published. Its construction gives each question one claim. With
conflict, the claim is held against documents that give its answer and documents that give another
one; without, against one document that gives its answer and two of other questions.

What the paper leaves open is decided here, and so figures can differ from its Table 2:

- Which questions become conflicts: by a coin that falls with the seed and the question.
- The words of a claim: the paper has GPT-4 write it, as ``--write-claims`` does. Without that it
  is 'The answer to "..." is ...', and for ConflictingQA the affirmative statement that its authors
  searched with.
- Which perturbed passages of MacNoise are shown: those that its ``pert_lbls`` marks, taken in turn
  as they were and perturbed.
- Which questions of ContraQA a false paragraph is about: those whose answer stands in the true
  paragraph and no longer in the false one.

The formats are those of the repositories: AlexWan0/rag-convincingness and lilys012/AmbigDocs (their
READMEs and code), wjdghks950/Discern-and-Answer (its code and the samples in ``DATA/GPT``) and
teacherpeterpan/ContraQA (README and code). That a query of ContraQA carries SQuAD's ``context``,
which leads to its paragraph, follows from the code and size of that file; nobody here has seen it.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.conflict_detection.groups import (
    ClaimGroup,
    GroupDocument,
    folded,
    statement,
)
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.json_lines import (
    read_items,
    read_json,
    read_json_lines,
    text_of,
)
from conflictscore.errors import InputError
from conflictscore.records import Label
from conflictscore.retrieval.cleaning import clean_text


class PublishedSet(NamedTuple):
    """A row of the paper's Tables 1 and 2, those of GPT-4.1; shares in [0, 1]."""

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
"""By set; ``overall`` is over the five others together."""

_STANCES = {"yes": Label.SUPPORTS, "no": Label.CONTRADICTS}
_FAKE = "-FAKE"
_PASSAGE = re.compile(r"title:(.*?)context:(.*)", re.DOTALL | re.IGNORECASE)
_OTHER_DOCUMENTS = 2
_MOST_DRAWS = 1_000
"""Many questions of ContraQA are on one paragraph, which is then drawn in vain."""


class _Question(NamedTuple):
    """A question and answer for a claim, and the documents that could be shown with it."""

    id: str
    text: str
    answer: str
    supporting: tuple[GroupDocument, ...]
    contradicting: tuple[GroupDocument, ...]


def read_ambigdocs(path: Path, seed: int) -> list[ClaimGroup]:
    """Read AmbigDocs: one name, several entities, an answer for each.

    The claim gives the answer of the question's first document. A document with another answer is
    taken to contradict it, though it speaks of another entity of that name.

    Args:
        path: A JSON list: ``qid``, ``question``, ``documents`` (``title``, ``text``, ``answer``).
        seed: Of the construction.
    """

    def question(record: Any, where: str) -> _Question:
        documents = [
            (folded(text_of(document, "answer", place)), _titled(document, place))
            for place, document in _listed(record, "documents", where)
        ]
        right, answer = documents[0][0], clean_text(record["documents"][0]["answer"])
        return _Question(
            text_of(record, "qid", where),
            text_of(record, "question", where),
            answer,
            tuple(_labelled(d, Label.SUPPORTS) for said, d in documents if said == right),
            tuple(_labelled(d, Label.CONTRADICTS) for said, d in documents if said != right),
        )

    read = read_items(path, question, id_field="qid", rows=_items(path))
    return _constructed("ambigdocs", read.items, path, seed)


def read_macnoise(path: Path, seed: int, name: str = "") -> list[ClaimGroup]:
    """Read MacNoise: retrieved passages, and the same passages rewritten around the answer.

    Its NQ and TQA variants are files of one format.

    Args:
        path: A JSON list or JSON lines: ``question``, ``answers``, ``ctxs`` (``text``,
            ``text_pert``) and ``pert_lbls``, 1 for each passage that could be perturbed. A
            question without such a passage is left out.
        seed: Of the construction.
        name: Of the set; without one it is called as the file.
    """

    def question(record: Any, where: str) -> _Question | str:
        passages = _listed(record, "ctxs", where)
        marks = record.get("pert_lbls")
        if not isinstance(marks, list) or len(marks) != len(passages):
            raise InputError(f"{where}, field pert_lbls: a number for each of ctxs is needed")
        pairs = [
            (_passage(passage, "text", place), _passage(passage, "text_pert", place))
            for (place, passage), mark in zip(passages, marks, strict=True)
            if mark == 1
        ]
        if not pairs:
            return "no passage could be perturbed"
        turned = pairs[1::2] or pairs
        return _Question(
            str(record.get("id", where.rpartition(" ")[2])),
            text_of(record, "question", where),
            _first(record, "answers", where),
            tuple(_document(*true, Label.SUPPORTS) for true, _ in pairs[::2]),
            tuple(_document(*false, Label.CONTRADICTS) for _, false in turned),
        )

    read = read_items(path, question, id_field="id", rows=_items(path))
    return _constructed(name or path.stem, read.items, path, seed)


def read_contraqa(path: Path, seed: int) -> list[ClaimGroup]:
    """Read ContraQA: paragraphs of Wikipedia, and false versions of them.

    Args:
        path: The folder of the polluted corpus: ``corpus.json``, JSON lines with ``id`` and
            ``contents``, where an id that ends in ``-FAKE`` is that of a false version; and
            ``queries.json``, a JSON list with ``id``, ``question``, ``answers`` (``text``) and
            ``context``. A question whose answer every false version keeps is left out.
        seed: Of the construction.
    """
    false: dict[str, list[str]] = {}
    for where, record in read_json_lines(path / "corpus.json"):
        name, mark, _ = text_of(record, "id", where).partition(_FAKE)
        if mark:
            false.setdefault(name, []).append(text_of(record, "contents", where))
    versions: dict[str, list[str]] = {}
    for where, record in read_json_lines(path / "corpus.json"):
        if record["id"] in false:
            versions[folded(text_of(record, "contents", where))] = false[record["id"]]

    def question(record: Any, where: str) -> _Question | str:
        true = text_of(record, "context", where)
        answer = _first(record.get("answers"), "text", f"{where}, field answers")
        fakes = [text for text in versions.get(folded(true), ()) if not _says(text, answer)]
        if not fakes:
            return "no false version of their context in corpus.json leaves the answer out"
        return _Question(
            text_of(record, "id", where),
            text_of(record, "question", where),
            answer,
            (_document("", true, Label.SUPPORTS),),
            tuple(_document("", fake, Label.CONTRADICTS) for fake in fakes),
        )

    queries = path / "queries.json"
    read = read_items(queries, question, id_field="id", rows=_items(queries))
    return _constructed("contraqa", read.items, path, seed)


def read_conflictingqa(path: Path, seed: int) -> list[ClaimGroup]:
    """Read ConflictingQA: contentious questions, and pages that answer yes or no.

    Every question becomes one claim with all its pages, and conflicts where both stances are among
    them, as in the paper; nothing is drawn.

    Args:
        path: JSON lines with a row of the published table each: ``search_query``, ``search_type``,
            ``search_engine_input``, ``title``, ``text_window`` and ``stance``.
        seed: Not used.
    """
    if path.suffix == ".pkl":
        raise InputError(
            f"{path}: a pickled table is not read, since it can run code; write it as JSON lines"
            " first: pandas.read_pickle(...).to_json('conflictingqa.jsonl', orient='records',"
            " lines=True)"
        )
    pages: dict[str, list[GroupDocument]] = {}
    claims: dict[str, str] = {}
    for where, record in read_json_lines(path):
        query = text_of(record, "search_query", where)
        stance = text_of(record, "stance", where).lower()
        if stance not in _STANCES:
            raise InputError(f"{where}, field stance: {stance!r} is neither yes nor no")
        text, title = text_of(record, "text_window", where), record.get("title") or ""
        pages.setdefault(query, []).append(
            _document(clean_text(str(title)), text, _STANCES[stance])
        )
        if record.get("search_type") == "yes_statement":
            said = text_of(record, "search_engine_input", where)
            claims.setdefault(query, said.replace('"', ""))
    return [
        ClaimGroup(
            set="conflictingqa",
            id=query,
            claim=claims.get(query) or statement(query, "yes"),
            question=query,
            answer="yes",
            documents=tuple(documents),
            has_conflict=len({document.label for document in documents}) == len(_STANCES),
        )
        for query, documents in pages.items()
    ]


def _constructed(
    name: str, questions: Sequence[_Question], path: Path, seed: int
) -> list[ClaimGroup]:
    groups = []
    for question in questions:
        drawn = lot(f"conflictbench {name}", seed, question.id)
        conflict = bool(question.contradicting) and drawn[0] % 2 == 0
        if conflict:
            documents = (*question.supporting, *question.contradicting)
        else:
            others = _of_others(question, questions, random.Random(drawn))  # noqa: S311 - no secret
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
    """Documents of other questions, drawn at random; they have nothing to say of the claim."""
    own = {document.text for document in (*question.supporting, *question.contradicting)}
    found: dict[str, GroupDocument] = {}
    for _ in range(_MOST_DRAWS):
        shown = rng.choice(rng.choice(questions).supporting)
        if shown.text not in own:
            found.setdefault(shown.text, _labelled(shown, Label.IRRELEVANT))
        if len(found) == _OTHER_DOCUMENTS:
            break
    return tuple(found.values())


def _items(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a JSON list, or of JSON lines, with file and place for errors."""
    if path.suffix == ".jsonl":
        found = list(read_json_lines(path))
    else:
        values = read_json(path)
        if not isinstance(values, list):
            raise InputError(f"{path}: a JSON list is needed")
        found = [(f"{path}, item {n}", value) for n, value in enumerate(values, start=1)]
    for where, value in found:
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: a JSON object is needed")
        yield where, value


def _listed(record: Mapping[str, Any], field: str, where: str) -> list[tuple[str, Any]]:
    values = record.get(field)
    if not isinstance(values, list) or not values:
        raise InputError(f"{where}, field {field}: a list is needed that is not empty")
    return [(f"{where}, {field} {n}", value) for n, value in enumerate(values, start=1)]


def _first(record: Any, field: str, where: str) -> str:
    values = record.get(field) if isinstance(record, Mapping) else None
    first = values[0] if isinstance(values, list) and values else None
    return text_of({field: first}, field, where)


def _titled(record: Any, where: str) -> GroupDocument:
    return GroupDocument(text=text_of(record, "text", where), title=text_of(record, "title", where))


def _passage(record: Any, field: str, where: str) -> tuple[str, str]:
    """Title and text of a passage that is written ``title: ... context: ...``."""
    whole = text_of(record, field, where)
    found = _PASSAGE.fullmatch(whole)
    if not found:
        return "", whole
    return found[1].strip(), text_of({field: found[2]}, field, where)


def _document(title: str, text: str, label: Label) -> GroupDocument:
    return GroupDocument(text=text, title=title, label=label)


def _labelled(document: GroupDocument, label: Label) -> GroupDocument:
    return document.model_copy(update={"label": label})


def _says(text: str, answer: str) -> bool:
    return f" {folded(answer)} " in f" {folded(text)} "
