"""Counts how many answers that already give both sides of a dispute are rewritten.

WikiContradict's authors rated the answers of five models. Some answers were written with both
passages in view (``answer3`` and ``answer4``). If the authors called such an answer correct, it
gives both passages' answers. There are 48 such answers. An encoder labels these answers. The model
is scripted. The model takes the answer's sentences as claims, and reads in each passage the answer
that people found there. When the model acts as the judge, it knows that the text gives both
answers. With ``--judge words``, the model notices this only if the passage's answer occurs in the
text, and calls every other answer a rival. With ``--model``, a real model replaces the scripted
one.

    python -m measurements.told_answers human_eval.jsonl
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.benchmarks.ramdocs.benchmark import normalised
from conflictscore.labelers.nli.by_claim import open_nli_by_claim
from conflictscore.prompts import PromptSet
from conflictscore.sentences import sentence_ends
from conflictscore.storage.cache import ContentCache
from measurements.scripted_model import NotedPrompts, ScriptedModel

LABELERS = {"small": None, "mean": "nli-mpnet"}
_BOTH_IN_VIEW = ("3", "4")


class Told(NamedTuple):
    """An answer that was written from both passages, and that people called correct.

    Attributes:
        question: The question.
        answer: The answer.
        passages: The two passages.
        answers: The answer that people found in each passage.
    """

    question: str
    answer: str
    passages: tuple[str, str]
    answers: tuple[str, str]

    @property
    def sentences(self) -> list[str]:
        """The answer's sentences, one per line."""
        parts, start = list[str](), 0
        for end in [*sentence_ends(self.answer), len(self.answer)]:
            parts.append(" ".join(self.answer[start:end].split()))
            start = end
        return [part for part in parts if part]

    def statement(self, place: int) -> str:
        """Return the answer of a passage as a full sentence."""
        answer = self.answers[place].strip(" .")
        return f"The answer to the question “{self.question.rstrip(' ?')}” is {answer}."


def read_told(path: Path) -> list[Told]:
    """Read the answers that people called correct and that were written from both passages."""
    return [
        Told(
            row["question"],
            row[f"answer{number}"],
            (row["context1_self_contained"], row["context2_self_contained"]),
            (row["gt_answer_1"], row["gt_answer_2"]),
        )
        for _, row in read_json_lines(path)
        for number in _BOTH_IN_VIEW
        if row[f"label{number}"] == "Correct"
    ]


def scripted(asking: Sequence[Told], judge: str) -> ScriptedModel:
    """Return a scripted model that reads correctly; it replies about the last of the answers."""
    prompts = NotedPrompts(PromptSet.load())

    def reply(name: str, fields: Mapping[str, Any]) -> str:
        case = asking[-1]
        if name == "decompose_short":
            return str(fields["answer"])
        if name.startswith("decompose"):
            answer = " ".join(str(fields["answer"]).split())
            lines = [each for each in case.sentences if each in answer] or [answer]
            places = name == "decompose_with_places"
            ends = [f" || {' '.join(line.split()[:5])}" if places else "" for line in lines]
            return "\n".join(
                ["Claims:", *(f"- {line}{end}" for line, end in zip(lines, ends, strict=True))]
            )
        if name == "claim_question":
            return case.question
        if name == "ask_document":
            shown = " ".join(str(fields["document"]).split())
            folded = [" ".join(text.split())[:60] for text in case.passages]
            return case.statement(next(n for n, text in enumerate(folded) if text in shown))
        if name == "relation":
            return _relations(case, str(fields["statements"]), judge)
        if name == "weigh":
            return "SIDE: NEITHER\nGROUND: NUMBER\nREASON: Nothing."
        return str(fields.get("passage", "The documents say so (Doc 1)."))

    return ScriptedModel(prompts=prompts, reply=reply)


def _relations(case: Told, statements: str, judge: str) -> str:
    told = normalised(case.answer)
    lines = []
    for number, line in enumerate(statements.splitlines(), start=1):
        place = next(n for n in (0, 1) if case.statement(n) in line)
        is_told = judge == "knows" or normalised(case.answers[place]) in told
        lines.append(f"{number}: {'SAME' if is_told else 'RIVAL'}")
    return "\n".join(lines)


@click.command(help=__doc__)
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--labels", type=click.Choice([*LABELERS]), default="small", show_default=True)
@click.option("--judge", type=click.Choice(["knows", "words"]), default="knows", show_default=True)
@click.option("--model", help="A real model in place of the scripted one.")
@click.option("--answers", default=1000, help="Maximum number of answers.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="A folder in which to cache replies and labels."
)
def main(
    file: Path, labels: str, judge: str, model: str | None, answers: int, out: Path | None
) -> None:
    """See the module."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    cache = None if out is None else ContentCache(out / "replies.sqlite")
    asking, chosen = list[Told](), read_told(file)[:answers]
    script = scripted(asking, judge)
    graph = create_self_correcting_rag(
        model or script,
        labeler=open_nli_by_claim(LABELERS[labels]),
        prompts=None if model else script.prompts,
        cache=cache or False,
        context_window=None if model else 128_000,
    )
    disputed = rewritten = calls = 0
    outcomes = Counter[str]()
    for case in chosen:
        asking.append(case)
        documents = [
            {"title": f"Passage {number}", "text": text}
            for number, text in enumerate(case.passages, start=1)
        ]
        state = graph.invoke(
            {"question": case.question, "documents": documents, "draft_answer": case.answer}
        )
        disputed += bool(state["attempts"][0]["report"]["disputed"])
        calls += state["usage"]["calls"]
        looks = [look for change in state["changes"] for look in change["looks"]]
        outcomes.update(str(look["outcome"]) for look in looks)
        if state["answer"] != state["first_answer"]:
            rewritten += 1
            click.echo(f"{case.question}\n  {state['first_answer']}\n  {state['answer']}")
            for look in looks:
                click.echo(f"    {look['outcome']}: {look['why']}")
    click.echo(
        f"{len(chosen)} answers that give both sides, {disputed} disputed, {rewritten} rewritten,"
        f" {calls} calls; looks: {dict(outcomes)}"
    )


if __name__ == "__main__":
    main()
