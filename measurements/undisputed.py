"""Counts how many correct answers are made worse although their documents do not conflict.

The cases are in ``undisputed.toml``. In some cases, documents state two facts about the same thing.
In others, a document is about a different event, version, place or namesake. In the rest, the
answer states the first of two facts, and two of three documents state the second. An encoder labels
the pairs. The model is scripted and makes no errors, which is the best case for the loop. With
``--embedded``, it counts as embedded, and attributes the value of one fact to the other, as small
models do. With ``--model``, a real model replaces the scripted one.

    python -m measurements.undisputed small
    python -m measurements.undisputed small --model local --cases 6
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from conflictscore import create_self_correcting_rag
from conflictscore.answering.statements import telling_terms
from conflictscore.labelers.nli.by_claim import open_nli_by_claim
from conflictscore.prompts import PromptSet
from conflictscore.storage.cache import ContentCache
from measurements.scripted_model import NotedPrompts, ScriptedModel
from measurements.small_reader import SILENT, ScriptedSmallModel, meaning_read, statement_with

LABELERS = {"small": None, "mean": "nli-mpnet"}
_OWN_QUESTION = "OWN"
_TWO = "two facts"


class Case(NamedTuple):
    """A correct answer and its documents.

    Attributes:
        question: The question.
        facts: Two facts.
        documents: The texts of the documents.
        stated: For each document, the index of the fact that it states.
        kind: The kind of case. In a case with two facts, the answer states both.
    """

    question: str
    facts: tuple[str, str]
    documents: tuple[str, str, str]
    stated: tuple[int, int, int]
    kind: str

    @property
    def answer(self) -> str:
        """The correct answer."""
        return " ".join(self.facts if self.kind == _TWO else self.facts[:1])

    def told_by(self, prompt: str, asked: str) -> str:
        """Return a document's answer to a question, as an error-free reader gives it."""
        fact = self.stated[self._place_in(prompt)]
        wanted = 1 if f"{_OWN_QUESTION} 1" in asked else 0
        return self.facts[fact] if fact == wanted else SILENT

    def small_reading(self, prompt: str, asked: str) -> str:
        """Return a document's answer to a question, as a small reader gives it."""
        place = self._place_in(prompt)
        if (meaning := meaning_read(asked, self.documents[place])) is not None:
            return meaning
        first, second = (len(telling_terms(asked) & telling_terms(fact)) for fact in self.facts)
        wanted, fact = self.facts[second > first], self.facts[self.stated[place]]
        return fact if fact == wanted else statement_with(wanted, fact, asked) or fact

    def _place_in(self, prompt: str) -> int:
        shown = " ".join(prompt.split())
        return next(n for n, text in enumerate(self.documents) if text in shown)


def read_cases() -> list[Case]:
    """Return the constructed cases."""
    text = Path(__file__).with_name("undisputed.toml").read_text("utf-8")
    rows = tomllib.loads(text)
    cases = [
        Case(question, (first, second), (a, b, c), (0, 0, 1), kind)
        for kind, key in ((_TWO, "two"), ("other event", "other"))
        for question, first, second, a, b, c in rows[key]
    ]
    outnumbered = [
        Case(question, (first, second), (a, second, c), (0, 1, 1), "outnumbered fact")
        for question, first, second, a, _, c in rows["two"]
    ]
    return [*cases, *outnumbered]


def scripted(asking: Sequence[Case], *, embedded: bool = False) -> ScriptedModel:
    """Return a scripted model that replies about the last of the cases.

    It makes no errors, unless it is to read like a small model.
    """
    prompts = NotedPrompts(PromptSet.load())

    def reply(name: str, fields: Mapping[str, Any]) -> str:
        case = asking[-1]
        if name == "decompose_short":
            return str(fields["answer"])
        if name.startswith("decompose"):
            answer = str(fields["answer"])
            claims = [fact for fact in case.facts if fact in answer] or [" ".join(answer.split())]
            places = name == "decompose_with_places"
            ends = [f" || {' '.join(claim.split()[:5])}" if places else "" for claim in claims]
            lines = (f"- {claim}{end}" for claim, end in zip(claims, ends, strict=True))
            return "\n".join(["Claims:", *lines])
        if name == "claim_question":
            return f"{_OWN_QUESTION} {int(case.facts[1] in str(fields['claim']))}?"
        if name == "ask_document" and embedded:
            return case.small_reading(str(fields["document"]), str(fields["question"]))
        if name == "ask_document":
            return case.told_by(str(fields["document"]), str(fields["question"]))
        if name == "relation":
            statements = str(fields["statements"]).splitlines()
            same = [
                any(fact in line for fact in case.facts if fact in case.answer)
                for line in statements
            ]
            return "\n".join(
                f"{n}: {'SAME' if is_same else 'OTHER'}" for n, is_same in enumerate(same, 1)
            )
        if name == "weigh":
            return "SIDE: NEITHER\nGROUND: NUMBER\nREASON: Nothing."
        return str(fields.get("passage", "The documents say so (Doc 1)."))

    kind = ScriptedSmallModel if embedded else ScriptedModel
    return kind(prompts=prompts, reply=reply)


@click.command(help=__doc__)
@click.argument("labels", type=click.Choice([*LABELERS]))
@click.option("--model", help="A real model in place of the scripted one.")
@click.option("--embedded", is_flag=True, help="Let the scripted model read like the embedded one.")
@click.option("--cases", default=1000, help="Maximum number of cases of each kind.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="A folder in which to cache replies and labels."
)
@click.option("--show", is_flag=True, help="Print every second look.")
def main(
    labels: str, model: str | None, embedded: bool, cases: int, out: Path | None, show: bool
) -> None:
    """See the module."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    cache = None if out is None else ContentCache(out / "replies.sqlite")
    asking, chosen = list[Case](), read_cases()
    script = scripted(asking, embedded=embedded)
    graph = create_self_correcting_rag(
        model or script,
        labeler=open_nli_by_claim(LABELERS[labels]),
        prompts=None if model else script.prompts,
        cache=cache or False,
        context_window=None if model else 128_000,
    )
    for kind in dict.fromkeys(case.kind for case in chosen):
        some = [case for case in chosen if case.kind == kind][:cases]
        disputed = claims = worse = calls = 0
        for case in some:
            asking.append(case)
            documents = [
                {"title": f"Page {n}", "text": text} for n, text in enumerate(case.documents, 1)
            ]
            state = graph.invoke(
                {"question": case.question, "documents": documents, "draft_answer": case.answer}
            )
            report = state["attempts"][0]["report"]
            disputed += len(report["disputed"])
            claims += len(report["claims"])
            changed = state["answer"] != state["first_answer"]
            worse += changed
            calls += state["usage"]["calls"]
            if changed or show:
                click.echo(f"{case.question}\n  {state['first_answer']}\n  {state['answer']}")
                for change in state["changes"]:
                    for look in change["looks"]:
                        click.echo(f"    {look['outcome']}: {look['why']}")
        click.echo(
            f"{kind}: {len(some)} answers, {disputed} of {claims} claims labelled as disputed,"
            f" {worse} answers made worse, {calls} calls"
        )


if __name__ == "__main__":
    main()
