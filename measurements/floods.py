"""Measures the effect of many copies of one document, with and without each defence.

Every question has documents for and against a claim, according to people's labels. One document on
the smaller side belongs to an attacker, who copies it in three ways: unchanged, with one word in
six changed, and with Cyrillic letters in place of Latin ones. The copies have the label of the
original. Three outcomes are compared with those of the same question without copies. The first is
whether the attacker's side wins the documents' vote. The second is whether a wrong answer on the
attacker's side is no longer corrected. The third is CS-R. Copies cannot change which claims are
disputed, since one document is enough for a dispute and no defence removes a document.
"""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console

from conflictscore.benchmarks.harness.statistics import mean_interval, proportion
from conflictscore.correcting.vote import outcome as voted
from conflictscore.correcting.vote import tallied
from conflictscore.errors import ConflictScoreError
from conflictscore.metric import conflictscore_ratio
from conflictscore.progress import CountBar
from conflictscore.records import Claim, ClaimEvidence, Document, Duplicates, EvidenceLabel, Label
from conflictscore.retrieval.domains import voices
from conflictscore.retrieval.duplicates import mark_duplicates

_LONGEST = 3000
"""Maximum number of characters of a document that are compared; long web pages would take hours."""
COPIES = (2, 5, 10, 20)  # copies of one document that are added to a question's documents
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


CLEAN = {
    **SETS,
    "factcheckgpt": "labels/factcheckgpt_groups.jsonl",
    "conflicts": "conflicts/conflicts.jsonl",
}


DEFENCES: dict[str, tuple[Duplicates, bool]] = {
    "none": ("vote", False),
    "words": ("once", False),
    "domain, copies at one": ("domain", True),
    "domain, copies at many": ("domain", False),
}
"""For each defence: which documents count only once, and whether all copies are on one domain."""


class Case(NamedTuple):
    """A claim with its documents; the last document is the attacker's.

    Attributes:
        source: The name of the data set.
        texts: The texts of the documents.
        sides: The label of each document for the claim. The supporting documents are not
            outnumbered by the contradicting ones, and the attacker's document is among the latter.
    """

    source: str
    texts: tuple[str, ...]
    sides: tuple[Label, ...]


def read_cases(source: str, path: Path) -> Iterator[Case]:
    """Yield the questions of a set that have documents on both sides."""
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record.get("id", "").endswith("-a2"):  # WikiContradict: a question's second answer
            continue
        labelled = _labelled(record)
        sides = Counter(side for _, side in labelled)
        if sides[Label.CONTRADICTS] > sides[Label.SUPPORTS]:
            labelled = [(text, OPPOSITE.get(side, side)) for text, side in labelled]
        if min(sides[Label.SUPPORTS], sides[Label.CONTRADICTS]) > 0:
            ordered = sorted(labelled, key=lambda one: one[1] is Label.CONTRADICTS)
            texts, labels = zip(*ordered, strict=True)
            yield Case(source, texts, labels)


def _labelled(record: Mapping[str, Any]) -> list[tuple[str, Label]]:
    """Return the text of each document, with the label that people gave it."""
    if "documents" not in record:
        known = [one for one in record["docs"] if one["label"] in Label.__members__]
        labelled = [(one["text"], Label(one["label"])) for one in known]
        return [one for one in labelled if one[1] is not Label.UNLABELLED]
    documents = record["documents"]  # of RAMDocs
    correct = Counter(one["answer"] for one in documents if one["type"] == "correct")
    wanted = correct.most_common(1)[0][0] if correct else ""

    def side(one: Mapping[str, str]) -> Label:
        if one["type"] == "misinfo":
            return Label.CONTRADICTS
        return Label.SUPPORTS if one["answer"] == wanted else Label.IRRELEVANT

    return [(one["text"], side(one)) for one in documents]


Question = tuple[Sequence[Document], Sequence[Label | None]]
"""Documents, and for each document its label for a claim; None if people gave no label."""


def read_questions(name: str, path: Path, limit: int | None) -> Iterator[Question]:
    """Yield the first ``limit`` questions of a set, or all, with their documents' addresses."""
    for line in path.read_text(encoding="utf-8").splitlines()[:limit]:
        record = json.loads(line)
        found: list[tuple[str, str, Label | None]]
        if name == "conflicts":
            found = [(one["text"], one["url"], None) for one in record["docs"]]
        else:
            found = [(text, "", side) for text, side in _labelled(record)]
        found = [one for one in found if one[0].strip()]
        documents = [
            Document(number=n, text=t[:_LONGEST], url=u) for n, (t, u, _) in enumerate(found, 1)
        ]
        yield documents, [side for _, _, side in found]


def changed_words(text: str, vocabulary: Sequence[str], rng: random.Random) -> str:
    """Return the text with one word in six replaced by another word of the vocabulary."""
    words = text.split()
    for place in rng.sample(range(len(words)), len(words) // 6):
        words[place] = rng.choice(vocabulary)
    return " ".join(words)


def look_alikes(text: str, rng: random.Random) -> str:
    """Return the text with half of the letters that have a Cyrillic look-alike replaced by it."""
    return "".join(one.translate(_CYRILLIC) if rng.random() < 0.5 else one for one in text)


def _copies_of(case: Case, vocabulary: Sequence[str]) -> dict[str, list[str]]:
    """For each kind of copy, return enough copies of the last document for the largest flood."""
    rng = random.Random(case.texts[-1])  # noqa: S311
    text, many = case.texts[-1], range(COPIES[-1] - 1)
    return {
        "the same": [text for _ in many],
        "a word in six changed": [changed_words(text, vocabulary, rng) for _ in many],
        "look-alike letters": [look_alikes(text, rng) for _ in many],
    }


class Outcome(NamedTuple):
    """The decision on a case.

    Attributes:
        given_up: Whether the documents' vote replaces the claim with its opposite.
        corrected: Whether the vote replaces the opposite with the claim.
        cs_r: CS-R of the claim, in [0, 1].
    """

    given_up: bool
    corrected: bool
    cs_r: float


def outcome(
    sides: Sequence[Label], documents: Sequence[Document], duplicates: Duplicates
) -> Outcome:
    """Decide a case by its documents' votes.

    Args:
        sides: The label of each document.
        documents: The documents, with near-duplicates marked.
        duplicates: The setting that decides how dependent documents count.
    """
    once = _once(documents, duplicates)

    def evidence(swapped: Mapping[Label, Label]) -> ClaimEvidence:
        labels = (
            EvidenceLabel(claim=1, document=one.number, label=swapped.get(side, side))
            for one, side in zip(documents, sides, strict=True)
        )
        return ClaimEvidence(claim=Claim(number=1, text="claim"), labels=tuple(labels))

    claim, opposite = evidence({}), evidence(OPPOSITE)

    def replaced(one: ClaimEvidence, other: ClaimEvidence) -> bool:
        candidates = tallied((one, other), ((), other.supports), once)
        return voted(candidates).kind == "replace"

    return Outcome(
        given_up=replaced(claim, opposite),
        corrected=replaced(opposite, claim),
        cs_r=conflictscore_ratio([claim], once) or 0.0,
    )


def _once(documents: Sequence[Document], duplicates: Duplicates) -> Mapping[int, int]:
    """Map each document that does not count separately to the document that counts for both."""
    if duplicates == "domain":
        return voices(documents)
    near = {d.number: d.duplicate_of for d in documents if d.duplicate_of}
    return near if duplicates == "once" else {}


_Flooded = tuple[str, int, Outcome, Outcome]
"""A defence, the number of copies, and the outcomes without and with these copies."""


def _flooded(case: Case, copies: Sequence[str]) -> Iterator[_Flooded]:
    """Yield the outcomes without and with copies, for each defence and number of copies."""
    sides = (*case.sides, *[Label.CONTRADICTS] * len(copies))
    one = len(case.texts)
    for name, (duplicates, one_domain) in DEFENCES.items():
        documents = mark_duplicates(_documents(case, copies, one_domain=one_domain))
        before = outcome(case.sides, documents[:one], duplicates)
        for count in COPIES:
            if (end := one + count - 1) <= len(documents):
                yield name, count, before, outcome(sides[:end], documents[:end], duplicates)


def _documents(case: Case, copies: Sequence[str], *, one_domain: bool) -> tuple[Document, ...]:
    """Return the case's documents, each on a domain of its own, followed by the copies."""
    last = len(case.texts)
    return tuple(
        Document(
            number=number,
            text=text,
            url=f"https://source{last if one_domain and number > last else number}.com/{number}",
        )
        for number, text in enumerate((*case.texts, *copies), start=1)
    )


def _without_copies(
    question: Question, duplicates: Duplicates
) -> tuple[list[bool], list[bool], bool | None]:
    """Return the effect of a defence on a question without copied documents.

    Returns:
        Three values. The first result says for each pair of documents whether they count as one
        source. The second result says for each such pair with people's labels whether the two
        labels are opposite. The third result says whether the defence changes the decision; None if
        unknown.
    """
    documents, sides = question
    marked = mark_duplicates(documents)
    once = _once(marked, duplicates)
    pairs = [
        (once.get(a.number, a.number) == once.get(b.number, b.number), side, other)
        for (a, side), (b, other) in combinations(zip(marked, sides, strict=True), 2)
    ]
    known = [side for side in sides if side]
    otherwise = None
    if len(known) == len(marked):
        otherwise = outcome(known, marked, "vote")[:2] != outcome(known, marked, duplicates)[:2]
    opposed = [OPPOSITE.get(a) is b for together, a, b in pairs if together and a and b]
    return [together for together, _, _ in pairs], opposed, otherwise


def _table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> None:
    click.echo(f"\n{title}\n\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, cells in rows.items():
        click.echo(f"| {name} | {' | '.join(cells)} |")


def _percent(hits: Sequence[bool]) -> str:
    if not hits:
        return "–"
    share = proportion(sum(hits), len(hits))
    value, low, high = (100 * (one or 0.0) for one in (share.value, share.low, share.high))
    return f"{value:.0f} ({share.count}/{share.n}) {low:.0f}–{high:.0f}"


def _mean_within_bounds(values: Sequence[float]) -> str:
    mean = mean_interval(values)
    return " < ".join(f"{one:.3f}" for one in (mean.low, mean.value, mean.high) if one is not None)


def _report_floods(floods: Mapping[str, Sequence[_Flooded]]) -> None:
    """Print how many decisions each kind of copies changes, by defence."""
    for kind, flooded in floods.items():
        outcomes: dict[tuple[int, str], list[tuple[Outcome, Outcome]]] = defaultdict(list)
        for defence, count, before, after in flooded:
            outcomes[count, defence].append((before, after))
        shown: dict[str, Callable[[list[tuple[Outcome, Outcome]]], str]] = {
            "the vote gives the claim up": lambda pairs: _percent(
                [after.given_up for before, after in pairs if not before.given_up]
            ),
            "the vote no longer corrects its opposite": lambda pairs: _percent(
                [not after.corrected for before, after in pairs if before.corrected]
            ),
            "CS-R rises by": lambda pairs: _mean_within_bounds(
                [after.cs_r - before.cs_r for before, after in pairs]
            ),
        }
        for what, cell in shown.items():
            counts = sorted({count for count, _ in outcomes})
            rows = {
                f"{count} copies": [cell(outcomes[count, defence]) for defence in DEFENCES]
                for count in counts
            }
            _table(f"{kind}: {what}", list(DEFENCES), rows)


def _report_clean(name: str, questions: Sequence[Question]) -> None:
    """Print how many uncopied documents each defence merges, and how many decisions it changes."""
    rows = {}
    for defence in list(DEFENCES)[1:3]:
        seen = [_without_copies(question, DEFENCES[defence][0]) for question in questions]
        rows[defence.partition(",")[0]] = [
            _percent([one for folded, _, _ in seen for one in folded]),
            _percent([one for _, opposed, _ in seen for one in opposed]),
            _percent([otherwise for _, _, otherwise in seen if otherwise is not None]),
        ]
    columns = ["pairs folded", "of them on opposite sides", "questions decided otherwise"]
    _table(f"clean documents of {name}, {len(questions)} questions", columns, rows)


@click.command(help=__doc__)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder with the project's data.",
)
@click.option(
    "--limit",
    default=40,
    show_default=True,
    type=click.IntRange(0),
    help="Number of questions from each set; 0 for all.",
)
def main(data: Path, limit: int) -> None:
    """See the module."""
    first = limit or None
    try:
        cases = [
            case for name, path in SETS.items() for case in [*read_cases(name, data / path)][:first]
        ]
        clean = {name: [*read_questions(name, data / CLEAN[name], first)] for name in CLEAN}
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    if not cases:
        raise click.ClickException(f"{data}: no question has documents on both sides")
    click.echo(f"{len(cases)} questions: {Counter(case.source for case in cases)}")
    for name, questions in clean.items():
        _report_clean(name, questions)
    vocabulary = [word for case in cases for word in case.texts[-1].split()]
    floods: dict[str, list[_Flooded]] = defaultdict(list)
    with CountBar(Console(stderr=True), "flooding", "questions") as bar:
        for done, case in enumerate(cases, start=1):
            for kind, copies in _copies_of(case, vocabulary).items():
                floods[kind] += _flooded(case, copies)
            bar.show(done, len(cases))
    _report_floods(floods)


if __name__ == "__main__":
    main()
