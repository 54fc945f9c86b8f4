"""WikiContradict's annotated articles, in the format of its supplement (appendix E)."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import InputError
from conflictscore.records import Record

__all__ = [
    "ARTICLE_FIELDS",
    "COMMENTS",
    "RESULT",
    "Annotation",
    "AskedQuestion",
    "ContradictingPassage",
    "annotation",
    "published",
    "read_annotations",
]


class ContradictingPassage(Record):
    """One side of a contradiction."""

    article: str
    information: str
    """As it stands in the article."""
    standalone: str | None = None
    """So that it can be understood by itself; None where the annotator left it as it is."""
    states: str | None = None
    """What it says that the other passage does not agree with, in the annotator's words."""
    span: str | None = None
    """The words of the passage that are contradicted."""

    @property
    def text(self) -> str:
        """What is shown to a reader who sees nothing else of the article."""
        return self.standalone or self.information


class AskedQuestion(Record):
    """A question that the passages answer differently."""

    number: Annotated[int, Field(ge=1)]
    question: str
    answers: tuple[str, str]
    """By passage."""


class Annotation(Record):
    """What an annotator made of one tag on a Wikipedia article (supplement, appendix E)."""

    title: str
    url: str
    paragraph: str
    """With the tag, as it was found."""
    paragraph_clean: str
    tag: str
    tag_date: str
    tag_reason: str
    valid: bool
    """Whether there is a contradiction; without one, all that follows may be missing."""
    passages: tuple[ContradictingPassage, ContradictingPassage] | None = None
    same_passage: bool | None = None
    """Whether one passage contradicts itself; None where that was not said."""
    taxonomy: tuple[tuple[str, ...], ...] = ()
    """Paths such as (``Contradict type IV``, ``Explicit``)."""
    questions: tuple[AskedQuestion, ...] = ()
    confidence: Annotated[int, Field(ge=1, le=5)] | None = None
    valid_comment: str | None = None
    contradict_comment: str | None = None
    qa_comment: str | None = None

    def contradiction_type(self, number: str) -> str | None:
        """The type ``I``, ``II``, ``III`` or ``IV``; of several that were chosen, the last.

        So the published file has it in ``Contradict type I`` and so on.
        """
        chosen = [path[1] for path in self.taxonomy if path[0] == _TYPE + number and len(path) > 1]
        return chosen[-1] if chosen else None


ARTICLE_FIELDS = (
    "title",
    "url",
    "paragraph_A",
    "paragraph_A_clean",
    "tag",
    "tagDate",
    "tagReason",
)
COMMENTS = ("valid_comment", "contradict_comment", "qa_comment")
RESULT = "annotationResult"

_TYPE = "Contradict type "
_TYPES = ("I", "II", "III", "IV")
_QUESTION = re.compile(r"question([1-9]\d?)")
_UNCHANGED = re.compile(r"add the answer based on passage [12]", re.IGNORECASE)
"""What stands in the annotation form before an answer is written."""


def read_annotations(path: str | Path) -> tuple[Annotation, ...]:
    """Read the annotated articles, in file order.

    Args:
        path: JSON lines in the published format: the article's fields, and ``annotationResult``.

    Raises:
        InputError: The file cannot be used; the line names file, row and field.
    """
    read = []
    for where, record in read_json_lines(Path(path)):
        result = record.get(RESULT) if isinstance(record, Mapping) else None
        if not isinstance(result, Mapping):
            raise InputError(f"{where}, field {RESULT}: an object is needed")
        read.append(annotation(record, result, where))
    if not read:
        raise InputError(f"{path}: there is no annotation in it")
    return tuple(read)


def annotation(article: Mapping[str, Any], result: Mapping[str, Any], where: str) -> Annotation:
    """An annotation of its published form.

    Args:
        article: The fields of the article.
        result: ``annotationResult``. The four types may be missing, as they follow from
            ``taxonomy``; an answer that the form was not changed in goes with no question.
        where: File and row, for the error.

    Raises:
        InputError: A field is missing or not what it should be.
    """
    title, url, *rest = (_string(article, name, where) for name in ARTICLE_FIELDS)
    place = f"{where}, {RESULT}"
    valid = _choice(result, "wikitag_label_valid", {"Valid": True, "Invalid": False}, place)
    if not title:
        raise InputError(f"{where}, field title: a text is needed that is not empty")
    if valid is None:
        raise InputError(f"{place}, field wikitag_label_valid: Valid or Invalid is needed")
    read = Annotation(
        title=title,
        url=url,
        paragraph=rest[0],
        paragraph_clean=rest[1],
        tag=rest[2],
        tag_date=rest[3],
        tag_reason=rest[4],
        valid=valid,
        passages=(_passage(result, "A", place), _passage(result, "B", place)) if valid else None,
        same_passage=_choice(
            result, "wikitag_label_samepassage", {"Same": True, "Different": False}, place
        ),
        taxonomy=_taxonomy(result, place),
        questions=_asked(result, place),
        confidence=_confidence(result, place),
        **{name: _optional(result, name, place) for name in COMMENTS},
    )
    if valid and not read.questions:
        raise InputError(f"{place}, field question1: a text is needed that is not empty")
    for roman in _TYPES:
        said = _optional(result, _TYPE + roman, place)
        if said is not None and said != read.contradiction_type(roman):
            raise InputError(f"{place}, field {_TYPE}{roman}: {said!r} is not what taxonomy says")
    return read


def published(made: Annotation) -> dict[str, Any]:
    """An annotation in its published form; the inverse of :func:`annotation`."""
    article = (
        made.title,
        made.url,
        made.paragraph,
        made.paragraph_clean,
        made.tag,
        made.tag_date,
        made.tag_reason,
    )
    result: dict[str, Any] = {"wikitag_label_valid": "Valid" if made.valid else "Invalid"}
    if made.same_passage is not None:
        result["wikitag_label_samepassage"] = "Same" if made.same_passage else "Different"
    for side, passage in zip("AB", made.passages or (), strict=False):
        for name, field in _passage_fields(side).items():
            if (value := getattr(passage, name)) is not None:
                result[field] = value
    for roman in _TYPES:
        if (chosen := made.contradiction_type(roman)) is not None:
            result[_TYPE + roman] = chosen
    result["taxonomy"] = [list(path) for path in made.taxonomy]
    for asked in made.questions:
        result[f"question{asked.number}"] = asked.question
        for number, answer in enumerate(asked.answers, start=1):
            result[f"question{asked.number}_answer{number}"] = answer
    if made.confidence is not None:
        result["confidence"] = made.confidence
    result |= {name: text for name in COMMENTS if (text := getattr(made, name)) is not None}
    return {**dict(zip(ARTICLE_FIELDS, article, strict=True)), RESULT: result}


def _string(record: Mapping[str, Any], field: str, where: str) -> str:
    """A text that may be empty, letter by letter: an export gives back what was read."""
    value = record.get(field)
    if not isinstance(value, str):
        raise InputError(f"{where}, field {field}: a text is needed")
    return value


def _optional(record: Mapping[str, Any], field: str, where: str) -> str | None:
    return None if record.get(field) in (None, "") else _string(record, field, where)


def _choice(
    record: Mapping[str, Any], field: str, meanings: Mapping[str, bool], where: str
) -> bool | None:
    said = _optional(record, field, where)
    if said is not None and said not in meanings:
        raise InputError(f"{where}, field {field}: {said[:80]!r} is none of {', '.join(meanings)}")
    return None if said is None else meanings[said]


def _passage_fields(side: str) -> dict[str, str]:
    return {
        "article": f"paragraph{side}_article",
        "information": f"paragraph{side}_information",
        "standalone": f"paragraph{side}_information_standalone",
        "states": f"relevantInfo_comment_{side}",
        "span": f"relevantInfo_comment_{side}_Span",
    }


def _passage(result: Mapping[str, Any], side: str, where: str) -> ContradictingPassage:
    fields = _passage_fields(side)
    found = {name: _optional(result, field, where) for name, field in fields.items()}
    article, information = found.pop("article"), found.pop("information")
    if not article or not information:
        field = fields["information" if article else "article"]
        raise InputError(f"{where}, field {field}: a text is needed that is not empty")
    return ContradictingPassage(article=article, information=information, **found)


def _taxonomy(result: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], ...]:
    paths = result.get("taxonomy", [])
    good = isinstance(paths, list) and all(
        isinstance(path, list) and path and all(isinstance(step, str) for step in path)
        for path in paths
    )
    if not good:
        raise InputError(f"{where}, field taxonomy: a list of lists of texts is needed")
    return tuple(tuple(path) for path in paths)


def _asked(result: Mapping[str, Any], where: str) -> tuple[AskedQuestion, ...]:
    numbers = sorted(int(found[1]) for name in result if (found := _QUESTION.fullmatch(name)))
    asked = []
    for number in numbers:
        if (question := _optional(result, f"question{number}", where)) is not None:
            answers = []
            for side in (1, 2):
                field = f"question{number}_answer{side}"
                answer = _optional(result, field, where)
                if answer is None or _UNCHANGED.fullmatch(answer.strip()):
                    raise InputError(f"{where}, field {field}: the question has no such answer")
                answers.append(answer)
            asked.append(
                AskedQuestion(number=number, question=question, answers=(answers[0], answers[1]))
            )
    return tuple(asked)


def _confidence(result: Mapping[str, Any], where: str) -> int | None:
    value = result.get("confidence")
    if value in (None, ""):
        return None
    said = str(value).strip()
    if not re.fullmatch(r"[1-5]", said):
        raise InputError(f"{where}, field confidence: {said[:40]!r} is not a number from 1 to 5")
    return int(said)
