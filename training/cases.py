"""Reads and checks the project's own corpus: natural cases written by hand.

``training/natural/README.md`` describes them. ``python -m training.cases`` reports every fault of
the corpus, and prints statistics of its contents. The exit code is 1 if there is a fault.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click
from pydantic import Field, ValidationError, model_validator

from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import InputError
from conflictscore.records import Record
from training.pairs import LABELS, Label, Pair

CORPUS = Path(__file__).parent / "natural"
"""The folder of the cases, which are in several files."""
KINDS = frozenset(
    """
    correction newer status majority_error equal_records yes_no opinions pseudo_same_name
    pseudo_version pseudo_units refuted agreement lists_who_cause negation pseudo_predicate
    pseudo_time pseudo_place pseudo_population exception rounding pseudo_event plan
    report_of_dispute study_results restated changed_rule denial quoted_wrong minority_record
    """.split()  # noqa: SIM905 - a list of strings would fill a page
)
"""The kinds of cases. Each kind is a real dispute, or something that only looks like a dispute."""
RUN_WORDS = 5  # shorter sequences of words are shared by chance
MOST_SHARED = 0.2
"""Maximum share of a document's five-word sequences that any other document may contain."""
_FEWEST_WORDS = 15  # a shorter text is a statement without the context that real documents have
_WORD = re.compile(r"\w+")

Resolution = Literal["right_wins", "name_both", "no_dispute", "refuted"]


class CaseDocument(Record):
    """A document of a case, labelled independently of the others.

    ``says`` is the value with which the document answers the case's question, or None. ``why``
    gives the reason for the document's label in a few words.
    """

    title: str
    date: str | None
    text: str
    label: Label
    says: str | None
    why: str

    @model_validator(mode="after")
    def _is_long_enough(self) -> "CaseDocument":
        if len(self.text.split()) < _FEWEST_WORDS:
            raise ValueError(f"the text has fewer than {_FEWEST_WORDS} words")
        return self


class NaturalCase(Record):
    """A question, a chatbot's answer, its claim and documents with labels."""

    id: str
    domain: str
    kind: str
    question: str
    answer: str
    claim: str
    documents: tuple[CaseDocument, ...] = Field(min_length=2)
    conflict: bool
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    resolution: Resolution
    ground: str | None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> "NaturalCase":
        if self.kind not in KINDS:
            raise ValueError(f"there is no kind {self.kind}")
        labels = {document.label for document in self.documents}
        supported, contradicted = "SUPPORTS" in labels, "CONTRADICTS" in labels
        if self.conflict != (supported and contradicted):
            raise ValueError("conflict and the labels of the documents disagree")
        if self.resolution == "no_dispute" and contradicted:
            raise ValueError("the resolution is no_dispute, but a document contradicts the claim")
        if self.resolution == "refuted" and (supported or not contradicted):
            raise ValueError("refuted means that documents contradict and none supports")
        return self


class FurtherClaim(Record):
    """A further claim about a case, with a label for each of the case's documents, in order.

    ``kind`` is ``other_side`` (the value of a contradicting document, or a wrong value),
    ``neighbour`` (a fact that a document mentions in passing) or ``near_miss`` (a different time,
    place, version, population or unit, or a negated or converted form).
    """

    case: str
    kind: Literal["other_side", "neighbour", "near_miss"]
    claim: str
    labels: tuple[Label, ...]


class SharedRuns(NamedTuple):
    """Two documents, and the share of the first's five-word sequences that the second contains."""

    share: float
    document: str
    other: str


def read_cases(folder: Path = CORPUS) -> list[NaturalCase]:
    """Return the cases of all files in a folder, in order.

    Raises:
        InputError: A file is not JSON lines, or a case breaks a rule; the message names both.
    """
    return [case for path in sorted(folder.glob("cases_*.jsonl")) for case in read_case_file(path)]


def read_case_file(path: Path) -> list[NaturalCase]:
    """Return the cases of a file, in order.

    Raises:
        InputError: The file is not JSON lines, or a case breaks a rule; the message names both.
    """
    return [_case(record, where) for where, record in read_json_lines(path)]


def _case(record: dict[str, Any], where: str) -> NaturalCase:
    try:
        return NaturalCase.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the case"
        raise InputError(f"{where}, {record.get('id')}: {field}: {first['msg']}") from error


def further_claims(cases: Iterable[NaturalCase], folder: Path = CORPUS) -> list[FurtherClaim]:
    """Return the further claims about these cases, in the order of the files.

    Raises:
        InputError: A file is not JSON lines, or a claim does not have one label for each document.
    """
    documents = {case.id: len(case.documents) for case in cases}
    claims = []
    for path in sorted(folder.glob("claims_*.jsonl")):
        for where, record in read_json_lines(path):
            try:
                claim = FurtherClaim.model_validate(record)
            except ValidationError as error:
                raise InputError(f"{where}: {error.errors()[0]['msg']}") from error
            if len(claim.labels) != documents.get(claim.case, len(claim.labels)):
                raise InputError(
                    f"{where}: {len(claim.labels)} labels for the {documents[claim.case]} documents"
                    f" of {claim.case}"
                )
            if claim.case in documents:
                claims.append(claim)
    return claims


def further_pairs(cases: Sequence[NaturalCase], claims: Iterable[FurtherClaim]) -> Iterator[Pair]:
    """Yield a pair for each further claim and each document of its case."""
    documents = {case.id: case.documents for case in cases}
    for claim in claims:
        for document, label in zip(documents[claim.case], claim.labels, strict=True):
            yield Pair(
                claim.claim,
                document.text,
                label,
                "natural",
                claim.kind,
                document.title,
                document.date or "",
            )


def pairs_of(cases: Iterable[NaturalCase]) -> Iterator[Pair]:
    """Yield a pair for the claim of each case and each document of the case."""
    for case in cases:
        for document in case.documents:
            yield Pair(
                case.claim,
                document.text,
                document.label,
                "natural",
                case.kind,
                document.title,
                document.date or "",
            )


def short_pairs(folder: Path = CORPUS) -> Iterator[Pair]:
    """Yield claims with sentences that state the fact, a different value, or a different fact.

    Raises:
        InputError: The file is not JSON lines.
    """
    for _, record in read_json_lines(folder / "short_pairs.jsonl"):
        for sentence in record["documents"]:
            yield Pair(record["claim"], sentence["text"], sentence["label"], "short", "predicate")


def shared_runs(cases: Sequence[NaturalCase]) -> list[SharedRuns]:
    """Return documents that share over a fifth of their five-word sequences with another one."""
    runs: dict[str, set[tuple[str, ...]]] = {}
    holders: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for case in cases:
        for number, document in enumerate(case.documents, start=1):
            words = _WORD.findall(document.text.lower())
            name = f"{case.id}, document {number}"
            shifted = [words[start:] for start in range(RUN_WORDS)]
            runs[name] = set(zip(*shifted, strict=False))
            for run in runs[name]:
                holders[run].append(name)
    found = []
    for name, own in runs.items():
        common = Counter(other for run in own for other in holders[run] if other != name)
        found += [
            SharedRuns(count / len(own), name, other)
            for other, count in common.items()
            if count > MOST_SHARED * len(own)
        ]
    return found


def faults(cases: Sequence[NaturalCase]) -> list[str]:
    """Return the faults of the corpus that concern more than one case, one per line."""
    numbers = Counter(case.id for case in cases)
    twice = [f"{name} occurs {count} times" for name, count in numbers.items() if count > 1]
    shared = [
        f"{one.document} shares {one.share:.2f} of its runs of {RUN_WORDS} words with {one.other}"
        for one in shared_runs(cases)
    ]
    return [*twice, *shared]


@click.command(help=__doc__)
@click.argument(
    "folder", default=CORPUS, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
def main(folder: Path) -> None:
    """Print the contents of the corpus."""
    try:
        cases = read_cases(folder)
    except InputError as error:
        raise click.ClickException(str(error)) from error
    pairs = list(pairs_of(cases))
    words = [len(pair.document.split()) for pair in pairs]
    labels = Counter(pair.label for pair in pairs)
    click.echo(
        f"{len(cases)} cases, {len(pairs)} documents of {min(words)} to {max(words)} words"
        f" (mean {sum(words) / len(words):.0f}), {sum(bool(p.date) for p in pairs)} dated"
    )
    shares = ", ".join(f"{label} {labels[label] / len(pairs):.2f}" for label in LABELS)
    click.echo(f"labels: {shares}; claims in conflict: {sum(case.conflict for case in cases)}")
    resolutions = Counter(case.resolution for case in cases)
    click.echo(", ".join(f"{name} {count}" for name, count in resolutions.most_common()))
    click.echo("\n| kind | cases | supports | contradicts | irrelevant |\n|---|---|---|---|---|")
    for kind, count in Counter(case.kind for case in cases).most_common():
        of_kind = Counter(pair.label for pair in pairs if pair.kind == kind)
        cells = " | ".join(str(of_kind[label]) for label in LABELS)
        click.echo(f"| {kind} | {count} | {cells} |")
    _print_further(cases, folder)
    problems = faults(cases)
    click.echo("\n".join(problems))
    sys.exit(bool(problems))


def _print_further(cases: Sequence[NaturalCase], folder: Path) -> None:
    claims = further_claims(cases, folder)
    pairs = list(further_pairs(cases, claims))
    click.echo(f"\n{len(claims)} further claims, {len(pairs)} pairs")
    click.echo("\n| kind | claims | supports | contradicts | irrelevant |\n|---|---|---|---|---|")
    for kind, count in Counter(claim.kind for claim in claims).most_common():
        of_kind = Counter(pair.label for pair in pairs if pair.kind == kind)
        cells = " | ".join(str(of_kind[label]) for label in LABELS)
        click.echo(f"| {kind} | {count} | {cells} |")


if __name__ == "__main__":
    main()
