"""Counts the claims of CONFLICTS that are found disputed on real search results, by question type.

Each question has one claim, which we wrote and stored next to this file. If people see no conflict,
the claim is true. If documents are outdated or misinform, the claim is the row's answer. If
opinions or research differ, the claim is a statement that some documents support and others
contradict. The labels come from the embedded models. The loop then runs with a scripted model that
makes no errors: each document gives the claim as its answer, or no answer if its note says so. For
questions without a conflict, the table also counts changed answers.

    python -m measurements.conflicts conflicts.jsonl
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.labelers.nli.by_claim import open_nli_by_claim
from conflictscore.prompts import PromptSet, material_line
from conflictscore.storage.cache import ContentCache
from measurements.scripted_model import NotedPrompts, ScriptedModel

LABELERS = {"small": None, "mean": "nli-mpnet"}
_KINDS = {"No": "no conflict", "Conflict": "outdated, misinformed", "Conflicting": "opinions"}


class Asked(NamedTuple):
    """A question with its claim and documents.

    Attributes:
        question: The question.
        kind: The type of conflict, as labelled by people.
        claim: The claim.
        documents: The documents of the question.
        silent: For each document, whether its note says that the document gives no answer.
    """

    question: str
    kind: str
    claim: str
    documents: tuple[Mapping[str, Any], ...]
    silent: tuple[bool, ...]


def read_asked(path: Path) -> list[Asked]:
    """Return the questions for which there is a claim."""
    claims: dict[str, str] = {}
    for name in ("no_conflict_claims.json", "disputed_claims.json"):
        claims |= json.loads(Path(__file__).with_name(name).read_text("utf-8"))
    asked = []
    for _, row in read_json_lines(path):
        kind = _KINDS.get(row["conflict_type"].split()[0])
        if kind is not None and row["query"] in claims:
            silent = tuple(note["verdict"] != "supports" for note in row["llm_per_doc_notes"])
            documents = tuple(row["docs"])
            asked.append(Asked(row["query"], kind, claims[row["query"]], documents, silent))
    return asked


def scripted(asking: Sequence[Asked]) -> ScriptedModel:
    """Return a model that reads every document correctly; it answers for the last question."""
    prompts = NotedPrompts(PromptSet.load())

    def reply(name: str, fields: Mapping[str, Any]) -> str:
        case = asking[-1]
        if name == "decompose_short":
            return str(fields["answer"])
        if name.startswith("decompose"):
            place = f" || {' '.join(case.claim.split()[:5])}"
            end = place if name == "decompose_with_places" else ""
            return f"Claims:\n- {' '.join(str(fields['answer']).split())}{end}"
        if name == "claim_question":
            return case.question
        if name == "ask_document":
            shown = " ".join(str(fields["document"]).split())
            texts = [material_line(document["text"])[:60] for document in case.documents]
            place_of = next((n for n, text in enumerate(texts) if text in shown), None)
            is_silent = place_of is None or case.silent[place_of]
            return "The document does not say." if is_silent else case.claim
        if name == "relation":
            count = len(str(fields["statements"]).splitlines())
            return "\n".join(f"{number}: SAME" for number in range(1, count + 1))
        if name == "weigh":
            return "SIDE: NEITHER\nGROUND: NUMBER\nREASON: Nothing."
        return str(fields.get("passage", "The documents say so (Doc 1)."))

    return ScriptedModel(prompts=prompts, reply=reply)


@click.command(help=__doc__)
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--labels", type=click.Choice([*LABELERS]), default="mean", show_default=True)
@click.option(
    "--out", type=click.Path(path_type=Path), help="A folder in which to cache replies and labels."
)
@click.option("--show", is_flag=True, help="Print every disputed claim.")
def main(file: Path, labels: str, out: Path | None, show: bool) -> None:
    """See the module."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    cache = None if out is None else ContentCache(out / "replies.sqlite")
    asking, chosen = list[Asked](), read_asked(file)
    script = scripted(asking)
    graph = create_self_correcting_rag(
        script,
        labeler=open_nli_by_claim(LABELERS[labels]),
        prompts=script.prompts,
        cache=cache or False,
        context_window=128_000,
    )
    for kind in _KINDS.values():
        some = [case for case in chosen if case.kind == kind]
        disputed = changed = 0
        for case in some:
            asking.append(case)
            documents = [
                {"title": f"Page {number}", "text": document["text"]}
                for number, document in enumerate(case.documents, start=1)
            ]
            state = graph.invoke(
                {"question": case.question, "documents": documents, "draft_answer": case.claim}
            )
            is_disputed = bool(state["attempts"][0]["report"]["disputed"])
            disputed += is_disputed
            changed += state["answer"] != state["first_answer"]
            if show and is_disputed:
                click.echo(f"  {kind}: {case.claim} -> {state['answer']}")
        more = f", {changed} changed" if kind == "no conflict" else ""
        click.echo(f"{kind}: {len(some)} claims, {disputed} disputed{more}")


if __name__ == "__main__":
    main()
