"""The questions of a flood, and the copies that it is made of."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from conflictscore.benchmarks.conflict_detection.groups import statement
from conflictscore.records import Document, Label

__all__ = [
    "CLEAN",
    "COPIES",
    "OPPOSITE",
    "SETS",
    "Case",
    "Question",
    "changed_words",
    "copies_of",
    "look_alikes",
    "read_cases",
    "read_questions",
]

_LONGEST = 3000
"""Characters of a document that are compared, so that pages of the web do not take hours."""
COPIES = (2, 5, 10, 20)
SETS = {
    "ramdocs": "ramdocs/ramdocs.jsonl",
    "natconfqa": "labels/natconfqa_groups.jsonl",
    "wikicontradict": "labels/wikicontradict_groups.jsonl",
}
_CYRILLIC = str.maketrans(
    "aceopxyijsABCEHKMOPTX",
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455"
    "\u0410\u0412\u0421\u0415\u041d\u041a\u041c\u041e\u0420\u0422\u0425",
)
OPPOSITE = {Label.SUPPORTS: Label.CONTRADICTS, Label.CONTRADICTS: Label.SUPPORTS}


class Case(NamedTuple):
    """A claim with what people say of each document; the last document is the attacker's.

    Attributes:
        source: The set that it is of.
        claim: What the other documents support at least as often.
        texts: Of the documents.
        sides: What each says of the claim; the attacker's contradicts it.
    """

    source: str
    claim: str
    texts: tuple[str, ...]
    sides: tuple[Label, ...]


def read_cases(source: str, path: Path) -> Iterator[Case]:
    """The questions of a set in which the attacker's side is not the larger one."""
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record.get("id", "").endswith("-a2"):  # WikiContradict's other answer to a question
            continue
        claim, labelled = _of_ramdocs(record) if "documents" in record else _of_group(record)
        sides = Counter(side for _, side in labelled)
        if sides[Label.CONTRADICTS] > sides[Label.SUPPORTS]:
            labelled = [(text, OPPOSITE.get(side, side)) for text, side in labelled]
            claim = f"It is not true that: {claim}"
        if min(sides[Label.SUPPORTS], sides[Label.CONTRADICTS]) > 0:
            ordered = sorted(labelled, key=lambda one: one[1] is Label.CONTRADICTS)
            texts, labels = zip(*ordered, strict=True)
            yield Case(source, claim, texts, labels)


def _of_ramdocs(record: Mapping[str, object]) -> tuple[str, list[tuple[str, Label]]]:
    documents: list[dict[str, str]] = record["documents"]  # type: ignore[assignment]
    correct = Counter(one["answer"] for one in documents if one["type"] == "correct")
    (wanted, _), *_ = correct.most_common(1) or [("", 0)]

    def side(one: Mapping[str, str]) -> Label:
        if one["type"] == "misinfo":
            return Label.CONTRADICTS
        return Label.SUPPORTS if one["answer"] == wanted else Label.IRRELEVANT

    claim = statement(str(record["question"]), wanted)
    return claim, [(one["text"], side(one)) for one in documents]


def _of_group(record: Mapping[str, object]) -> tuple[str, list[tuple[str, Label]]]:
    documents: list[dict[str, str]] = record["docs"]  # type: ignore[assignment]
    known = [one for one in documents if one["label"] in Label.__members__]
    labelled = [(one["text"], Label(one["label"])) for one in known]
    return str(record["claim"]), [one for one in labelled if one[1] is not Label.UNLABELLED]


Question = tuple[Sequence[Document], Sequence[Label | None]]
"""Documents, and what each says of a claim where people said it."""

CLEAN = {
    **SETS,
    "factcheckgpt": "labels/factcheckgpt_groups.jsonl",
    "conflicts": "conflicts/conflicts.jsonl",
}


def read_questions(name: str, path: Path, limit: int | None) -> Iterator[Question]:
    """The first questions of a set as they are, or all, with the addresses that they have."""
    for line in path.read_text(encoding="utf-8").splitlines()[:limit]:
        record = json.loads(line)
        found: list[tuple[str, str, Label | None]]
        if name == "conflicts":
            found = [(one["text"], one["url"], None) for one in record["docs"]]
        else:
            _, labelled = _of_ramdocs(record) if "documents" in record else _of_group(record)
            found = [(text, "", side) for text, side in labelled]
        yield (
            [
                Document(number=n, text=t[:_LONGEST], url=u)
                for n, (t, u, _) in enumerate(found, 1)
                if t.strip()
            ],
            [side for text, _, side in found if text.strip()],
        )


def changed_words(text: str, vocabulary: Sequence[str], rng: random.Random) -> str:
    """A text in which one word in six is another one.

    Args:
        text: The text.
        vocabulary: What the other words are drawn from.
        rng: What draws them.
    """
    words = text.split()
    for place in rng.sample(range(len(words)), len(words) // 6):
        words[place] = rng.choice(vocabulary)
    return " ".join(words)


def look_alikes(text: str, rng: random.Random) -> str:
    """A text in which half of the letters that have a Cyrillic look-alike are that one."""
    return "".join(one.translate(_CYRILLIC) if rng.random() < 0.5 else one for one in text)


def copies_of(case: Case, vocabulary: Sequence[str]) -> dict[str, list[str]]:
    """As many copies of the case's last document as the largest flood needs, by kind.

    Args:
        case: The case.
        vocabulary: What words are changed to.
    """
    rng = random.Random(case.texts[-1])  # noqa: S311
    text, many = case.texts[-1], range(COPIES[-1] - 1)
    return {
        "the same": [text for _ in many],
        "a word in six changed": [changed_words(text, vocabulary, rng) for _ in many],
        "look-alike letters": [look_alikes(text, rng) for _ in many],
    }
