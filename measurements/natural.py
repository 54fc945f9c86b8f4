"""Runs natural disputes end to end: chatbots' answers are corrected with real web pages.

The cases are in ``disputes.jsonl``. The model is scripted and makes no errors. This model reads in
each document what people found there, and takes each document's relation to the claim from its
label. The model gives a reason for one side if people settled the dispute. The labels are those of
people, or those of an encoder with ``--labels``. With ``--model``, a real model replaces the
scripted one.

    python -m measurements.natural ../shared/data/natural/disputes.jsonl
"""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.labelers.denials import denied_in
from conflictscore.labelers.nli.by_claim import open_nli_by_claim
from conflictscore.markdown import passages
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.scripts import terms_in
from conflictscore.storage.cache import ContentCache
from measurements.scripted_model import NotedPrompts, ScriptedModel

_GROUNDS = {"supersedes": "SUPERSEDES", "newer": "SUPERSEDES", "explains": "EXPLAINS"}
_SIDES = {"SUPPORTS": "CONTRADICTS", "CONTRADICTS": "SUPPORTS"}


class Case:
    """A question with an answer, documents, and what people found out about the documents."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        """Read a row of the file."""
        self.row = row
        self.question, self.answer, self.claim = row["question"], row["answer"], row["claim"]
        self.resolution = str(row["resolution"])
        first = (re.findall(r"\w+", self.answer.casefold()) or [""])[0]
        right, wrong = (list(map(str.casefold, row[side])) for side in ("right", "wrong"))
        if first in ("yes", "no"):
            self.is_right = first in right
        else:
            self.is_right = any(one in self.answer.casefold() for one in right) and not any(
                one in self.answer.casefold() for one in wrong
            )
        self.right_label = "SUPPORTS" if self.is_right else "CONTRADICTS"

    def says(self, label: str) -> str:
        """Return the statement made by the documents with this label."""
        values = [d["says"] for d in self.row["documents"] if d["label"] == label and d["says"]]
        if label == "SUPPORTS":
            return str(self.claim)
        return f"To the question “{self.question.rstrip('?')}” the answer is: {values[0]}."

    def document_in(self, prompt: str) -> Mapping[str, Any]:
        """Return the document that a prompt shows."""
        shown = " ".join(prompt.split())
        documents: list[Mapping[str, Any]] = self.row["documents"]
        return next(d for d in documents if " ".join(d["text"].split())[:60] in shown)

    def place(self) -> str:
        """Return the first words of the answer's passage that makes the claim."""
        parts = [self.answer[p.start : p.end] for p in passages(self.answer)]
        claimed = set(terms_in(self.claim))
        best = max(parts, key=lambda part: len(claimed & set(terms_in(part))))
        return " ".join(best.split()[:6])


class PeopleLabels:
    """Gives people's labels for the claim, and the opposite labels for any other statement."""

    name, identity = "people", None

    def __init__(self, asking: Sequence[Case]) -> None:
        """Take the list of cases; labels are given for the last case in the list."""
        self._asking = asking

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """See :class:`~conflictscore.labelers.protocol.Labeler`."""
        case = self._asking[-1]
        label = case.row["documents"][document.number - 1]["label"]
        if claim.text.strip(". ") != case.claim.strip(". "):
            label = _SIDES.get(label, label)
        return EvidenceLabel(claim=claim.number, document=document.number, label=Label(label))


def scripted(asking: Sequence[Case]) -> ScriptedModel:
    """Return a scripted model that splits answers, reads, compares and weighs correctly."""
    prompts = NotedPrompts(PromptSet.load())

    def reply(name: str, fields: Mapping[str, Any]) -> str:
        case = asking[-1]
        if name == "decompose_short":
            return str(case.claim)
        if name.startswith("decompose"):
            answer = str(fields["answer"])
            if " ".join(answer.split()) != " ".join(case.answer.split()):
                return f"Claims:\n- {' '.join(answer.split())}"
            place = f" || {case.place()}" if name == "decompose_with_places" else ""
            return f"Claims:\n- {case.claim}{place}"
        if name == "claim_question":
            return str(case.question)
        if name == "ask_document":
            label = case.document_in(str(fields["document"]))["label"]
            return case.says(label) if label in _SIDES else "The document does not say."
        if name == "relation":
            return _relations(case, str(fields["statements"]))
        if name == "weigh":
            return _weighed(case, fields)
        if name == "put_in":
            return case.says(case.right_label)
        return "The documents say so (Doc 1)."

    return ScriptedModel(prompts=prompts, reply=reply)


def _relations(case: Case, statements: str) -> str:
    settled = case.resolution == "right_wins"
    lines = []
    for number, line in enumerate(statements.splitlines(), start=1):
        if case.says("SUPPORTS") in line.partition(" (Document ")[0]:
            lines.append(f"{number}: SAME")
        elif settled:
            lines.append(f"{number}: {'CORRECTED' if case.is_right else 'CORRECTS'}")
        else:
            lines.append(f"{number}: RIVAL")
    return "\n".join(lines)


def _weighed(case: Case, fields: Mapping[str, Any]) -> str:
    if case.resolution != "right_wins":
        return "SIDE: NEITHER\nGROUND: NUMBER\nREASON: Nothing tells."
    statement = str(fields["statement_a"])
    own_is_a = case.claim.strip(". ") in statement and denied_in(statement) is None
    side = "A" if own_is_a is case.is_right else "B"
    ground = _GROUNDS.get(str(case.row["ground"]), "PRIMARY")
    return f"SIDE: {side}\nGROUND: {ground}\nREASON: It knows better."


def outcome_of(case: Case, state: Mapping[str, Any]) -> str:
    """Return ``unchanged``, ``replaced``, or ``told`` if the answer now gives both sides."""
    if state["answer"] == state["first_answer"]:
        return "unchanged"
    applied = [one for one in state["changes"] if one["accepted"] and one["action"] != "keep"]
    told = any(one["action"] in ("hedge", "explain") for one in applied)
    return "told" if told else "replaced"


@click.command(help=__doc__)
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--labels", type=click.Choice(["people", "small", "mean"]), default="people")
@click.option("--model", help="A real model in place of the scripted one.")
@click.option("--cases", default=1000, help="Maximum number of cases, drawn with a fixed seed.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="A folder in which to cache replies and labels."
)
@click.option("--show", is_flag=True)
def main(
    file: Path, labels: str, model: str | None, cases: int, out: Path | None, show: bool
) -> None:
    """See the module."""
    chosen = [Case(row) for _, row in read_json_lines(file)]
    random.Random(1).shuffle(chosen)  # noqa: S311 - a draw, not a secret
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    cache = None if out is None else ContentCache(out / "replies.sqlite")
    asking = list[Case]()
    script = scripted(asking)
    labeler: Any = PeopleLabels(asking)
    if labels != "people":
        labeler = open_nli_by_claim(None if labels == "small" else "nli-mpnet")
    graph = create_self_correcting_rag(
        model or script,
        labeler=labeler,
        prompts=None if model else script.prompts,
        cache=cache or False,
        context_window=None if model else 128_000,
    )
    counts, calls = Counter[tuple[str, str]](), 0
    for case in chosen[:cases]:
        asking.append(case)
        documents = [
            {"title": d["title"], "text": d["text"], "metadata": {"date": d["date"]}}
            for d in case.row["documents"]
        ]
        state: Any = graph.invoke(
            {"question": case.question, "documents": documents, "draft_answer": case.answer}
        )
        became = outcome_of(case, state)
        verdict = f"{'right' if case.is_right else 'wrong'} {became}"
        counts[case.resolution, verdict] += 1
        calls += state["usage"]["calls"]
        if show:
            looks = [look for change in state["changes"] for look in change["looks"]]
            why = [(look["outcome"], look["why"][:300]) for look in looks]
            click.echo(f"{case.row['id']} {case.resolution} {verdict}: {case.question}")
            click.echo(f"  {case.answer}\n  {state['answer']}\n  {why} {state['notes']}")
    for (resolution, verdict), count in sorted(counts.items()):
        click.echo(f"{resolution}: {verdict} {count}")
    click.echo(f"{min(cases, len(chosen))} cases, {calls} calls")


if __name__ == "__main__":
    main()
