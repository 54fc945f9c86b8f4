"""Runs natural disputes end to end: chatbots' answers are corrected with real web pages.

The cases are in ``disputes.jsonl``. The model is scripted and makes no errors. This model reads in
each document what people found there, and takes each document's relation to the claim from its
label. The model gives a reason for one side if people settled the dispute. The labels are those of
people, or those of an encoder with ``--labels``. With ``--model``, a real model replaces the
scripted one.

The outcomes are counted in all cases and in each half, so that rules chosen on the first half can
be reported on the second. For answers that should have been corrected but were not, the step of the
loop that lost the correction is counted too (see ``natural_steps.py``).

    python -m measurements.natural disputes.jsonl
"""

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import click

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.labelers.denials import denied_in
from conflictscore.labelers.nli.by_claim import open_nli_by_claim
from conflictscore.markdown import passages
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.scripts import terms_in
from conflictscore.storage.cache import ContentCache
from measurements.natural_steps import Step, step_lost
from measurements.scripted_model import NotedPrompts, ScriptedModel
from measurements.small_reader import (
    SILENT,
    ScriptedSmallModel,
    meaning_read,
    misread,
    statement_with,
)

_GROUNDS = {"supersedes": "SUPERSEDES", "newer": "SUPERSEDES", "explains": "EXPLAINS"}
_PERCENT = re.compile(r"\s{0,3}(?:%|per ?cent\b)")
_SIDES = {"SUPPORTS": "CONTRADICTS", "CONTRADICTS": "SUPPORTS"}


class Case:
    """A question with an answer, documents, and what people found out about the documents."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        """Read a row of the file."""
        self.row = row
        self.question, self.answer, self.claim = row["question"], row["answer"], row["claim"]
        self.resolution = str(row["resolution"])
        self.half = lot("halves", 0, row["id"])[0] % 2
        # a claim says one thing, while an answer may also deny a wrong one
        self.is_right = self.is_right_in(self.claim) or self.is_right_in(self.answer)
        self.right_label = "SUPPORTS" if self.is_right else "CONTRADICTS"

    def is_right_in(self, answer: str) -> bool:
        """Return whether an answer has a right string and no wrong one, or says yes or no right."""
        text = _PERCENT.sub("%", answer.casefold())
        first = (re.findall(r"\w+", text) or [""])[0]
        right, wrong = (
            [_PERCENT.sub("%", each.casefold()) for each in self.row[side]]
            for side in ("right", "wrong")
        )
        if first in right or first in wrong:
            return first in right
        return any(one in text for one in right) and not any(one in text for one in wrong)

    def missing(self) -> list[str]:
        """Return the right strings that the chatbot's answer lacks."""
        text = self.answer.casefold()
        return [each for each in self.row["right"] if each.casefold() not in text]

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


def scripted(asking: Sequence[Case], *, embedded: bool = False) -> ScriptedModel:
    """Return a scripted model that splits answers, reads, compares and weighs correctly.

    A small model is not asked to compare or weigh, and misreads documents that do not answer.
    """
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
            document = case.document_in(str(fields["document"]))
            if embedded:
                return _small_reading(case, document, str(fields["question"]))
            return case.says(document["label"]) if document["label"] in _SIDES else SILENT
        if name == "relation":
            return _relations(case, str(fields["statements"]))
        if name == "weigh":
            return _weighed(case, fields)
        if name == "put_in":
            right = case.says(case.right_label)
            return (embedded and _small_correction(case, str(fields["passage"]))) or right
        return "The documents say so (Doc 1)."

    kind = ScriptedSmallModel if embedded else ScriptedModel
    return kind(prompts=prompts, reply=reply)


def _small_reading(case: Case, document: Mapping[str, Any], question: str) -> str:
    if (meaning := meaning_read(question, document["text"])) is not None:
        return meaning
    if document["label"] == "SUPPORTS":
        return str(case.claim)
    if document["label"] == "CONTRADICTS" and document["says"]:
        reading = statement_with(case.claim, document["says"], case.question)
        return reading or case.says(document["label"])
    return misread(case.claim, case.question, document["text"])


def _small_correction(case: Case, passage: str) -> str | None:
    """Return the passage with the right value; None if the passage has no value to replace."""
    values = [d["says"] for d in case.row["documents"] if d["label"] == case.right_label]
    return statement_with(passage, values[0] or "", case.question)


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
    """Return ``unchanged``, ``told`` if the answer now gives both sides, or ``replaced``.

    A replaced answer that is not right by its strings is ``replaced by another answer``.
    """
    if state["answer"] == state["first_answer"]:
        return "unchanged"
    applied = [one for one in state["changes"] if one["accepted"] and one["action"] != "keep"]
    if any(one["action"] in ("hedge", "explain") for one in applied):
        return "told"
    return "replaced" if case.is_right_in(state["answer"]) else "replaced by another answer"


def step_of(case: Case, became: str, state: Mapping[str, Any]) -> Step | None:
    """Return the step at which the correction of a case was lost; None if none was lost."""
    if became in ("told", "replaced") or case.resolution == "no_dispute":
        return None
    if case.resolution != "name_both" and case.is_right:
        return None
    return step_lost(case.claim, case.missing(), state)


def _print_counts(title: str, verdicts: Sequence[tuple[Case, str, Step | None]]) -> None:
    counts = Counter(
        (case.resolution, f"{'right' if case.is_right else 'wrong'} {became}")
        for case, became, _ in verdicts
    )
    click.echo(f"\n{title}: {len(verdicts)} cases")
    for (resolution, verdict), count in sorted(counts.items()):
        click.echo(f"{resolution}: {verdict} {count}")
    lost = Counter((case.resolution, step) for case, _, step in verdicts if step is not None)
    for (resolution, step), count in sorted(lost.items()):
        click.echo(f"{resolution}: lost by {step} {count}")


@click.command(help=__doc__)
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--labels", type=click.Choice(["people", "small", "mean"]), default="people")
@click.option("--model", help="A real model in place of the scripted one.")
@click.option("--embedded", is_flag=True, help="Let the scripted model read like the embedded one.")
@click.option("--cases", default=1000, help="Maximum number of cases, drawn with a fixed seed.")
@click.option("--half", type=click.Choice(["first", "second", "both"]), default="both")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A folder in which to cache replies and labels, and to write the final states.",
)
@click.option("--show", is_flag=True)
def main(
    file: Path,
    labels: str,
    model: str | None,
    embedded: bool,
    cases: int,
    half: str,
    out: Path | None,
    show: bool,
) -> None:
    """See the module."""
    halves = {"first": (0,), "second": (1,), "both": (0, 1)}[half]
    chosen = [case for _, row in read_json_lines(file) if (case := Case(row)).half in halves]
    random.Random(1).shuffle(chosen)  # noqa: S311 - a draw, not a secret
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    cache = None if out is None else ContentCache(out / "replies.sqlite")
    asking = list[Case]()
    script = scripted(asking, embedded=embedded)
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
    verdicts, calls, began = list[tuple[Case, str, Step | None]](), 0, monotonic()
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
        step = step_of(case, became, state)
        verdicts.append((case, became, step))
        calls += state["usage"]["calls"]
        if out is not None:
            text = json.dumps(state, ensure_ascii=False, default=str)
            (out / f"{case.row['id']}.json").write_text(text, "utf-8")
        if show:
            looks = [look for change in state["changes"] for look in change["looks"]]
            why = [(look["outcome"], look["why"][:300]) for look in looks]
            lost = f", lost by {step}" if step else ""
            click.echo(f"{case.row['id']} {case.resolution} {became}{lost}: {case.question}")
            click.echo(f"  {case.answer}\n  {state['answer']}\n  {why} {state['notes']}")
    for place in halves if len(halves) > 1 else ():
        of_half = [each for each in verdicts if each[0].half == place]
        _print_counts(f"{('first', 'second')[place]} half", of_half)
    _print_counts("all", verdicts)
    click.echo(f"{calls} calls, {monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
