"""Text that a revision in place preserves, and the fate of disputed claims.

Long answers are put together from claims that people labelled against documents (the groups of
``conflict-detection``): six to twelve sentences, one to three of them disputed or refuted, every
other one in Markdown. Each is revised by a scripted model that obeys, and by one that misbehaves;
and it is asked for again as a whole, as the paper does. All that a document contradicts is looked
at, except in the row "default".

With --model, a real model revises the passages, whose claims are known; the bundled NLI model
labels what it writes, and every change is printed to be read, since nobody labelled what is right
in it. With --out its replies are kept: a run that was stopped goes on, and more answers pay only
for what is new.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from conflictscore import create_self_correcting_rag
from conflictscore.errors import ConflictScoreError
from conflictscore.markdown import passages
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import (
    Claim,
    Document,
    EvidenceLabel,
    Label,
    Usage,
)
from conflictscore.settings import Settings
from measurements.long_answers import CITED, DENIED, HEDGED, LongAnswer, long_answers
from measurements.scripted_model import NotedPrompts, ScriptedModel

__all__ = [
    "Tally",
    "main",
    "misbehaviours",
    "obey",
    "revised",
]

_QUESTION = "What is known about these matters?"
_OUTCOMES = ("right", "hedged", "kept", "harmed")


Behaviour = Callable[[LongAnswer, str], str]
"""A scripted model's reply where a document is asked that contradicts a sentence."""


def obey(answer: LongAnswer, sentence: str) -> str:
    """Say what the document says: that the sentence is wrong."""
    return DENIED + sentence


def misbehaviours() -> Iterator[Behaviour]:
    """In turn: no answer, the whole answer, another sentence, bad Markdown, an image, a fancy."""
    return cycle(
        (
            lambda answer, sentence: "I would rather not.",
            lambda answer, sentence: answer.text,
            lambda answer, sentence: next(s for s in answer.labels if s != sentence),
            lambda answer, sentence: f"{DENIED}{sentence}** ```",
            lambda answer, sentence: f"{DENIED}{sentence[:-1]} ![x](https://a.test/q).",
            lambda answer, sentence: "The moon is made of green cheese.",
        )
    )


def _scripted(answer: LongAnswer, behave: Behaviour) -> ScriptedModel:
    """Takes the answer apart by its sentences, and revises its passages as it is told to."""

    def reply(name: str, fields: Mapping[str, Any]) -> str:
        match name:
            case "decompose" | "decompose_passage" | "decompose_with_places":
                told = [text for text in _told(fields["answer"]) if text]
                placed = (f"- {text} || {' '.join(text.split()[:5])}" for text in told)
                plain = (f"- {text}" for text in told)
                return "\n".join(["Claims:", *(placed if name.endswith("places") else plain)])
            case "claim_question":
                return "What of this?"
            case "ask_document":
                return next(
                    (
                        behave(answer, one)
                        for one in answer.disputed
                        if _denies(answer, one, fields)
                    ),
                    "The document does not say.",
                )
            case "weigh":
                first = DENIED in fields["statement_a"]
                said = fields["statement_b" if first else "statement_a"]
                side = (
                    ("A" if first else "B") if answer.refuted(_known(answer, said)) else "NEITHER"
                )
                return f"SIDE: {side}\nGROUND: PRIMARY\nREASON: The documents say so (Doc 1)."
            case "put_in":
                return str(fields["passage"])
            case "free_form_regenerate":
                sentence = next(one for one in answer.disputed if one in fields["claim"])
                return f"{DENIED if answer.refuted(sentence) else HEDGED}{sentence}"
            case _:
                return "The documents say so (Doc 1)."

    return ScriptedModel(prompts=NotedPrompts(PromptSet.load()), reply=reply)


def _denies(answer: LongAnswer, sentence: str, fields: Mapping[str, Any]) -> bool:
    """Whether the document that is asked contradicts a sentence."""
    shown = " ".join(fields["document"].split())
    labels = answer.labels[sentence].items()
    denying = [text for text, label in labels if label is Label.CONTRADICTS]
    return any(" ".join(text.split())[:200] in shown for text in denying)


def _known(answer: LongAnswer, statement: str) -> str:
    return next(sentence for sentence in answer.disputed if sentence in statement)


def _told(text: str) -> list[str]:
    """The sentences of an answer, without citations and marks."""
    said = (text[p.start : p.end] for p in passages(text) if p.kind == "text")
    return [re.sub(CITED + "$", "", one).strip("* ") for one in said]


class _Labels:
    """People's labels; what they did not see is irrelevant."""

    name, identity = "people", None

    def __init__(self, answer: LongAnswer) -> None:
        self._answer = answer

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        # what is shown of a document may be cut
        label = self._answer.label(claim.text, self._answer.documents[document.number - 1])
        given = label or Label.IRRELEVANT
        return EvidenceLabel(claim=claim.number, document=document.number, label=given)


@dataclass
class Tally:
    """Outcome of one way of revising.

    Attributes:
        kept: Of each answer, the share of its undisputed text that is there byte for byte, in its
            order, in [0, 1].
        outcomes: What became of the disputed sentences: ``right`` (refuted, and denied now),
            ``hedged``, ``kept``, or ``harmed``: anything else.
        lengths: Of each answer, its length after / before.
        usage: Calls and tokens of all.
    """

    kept: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    lengths: list[float] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def add(self, answer: LongAnswer, after: str, usage: Usage) -> None:
        """Count one answer.

        Args:
            answer: As it was.
            after: As it is now.
            usage: What that took.
        """
        place, found = 0, list[tuple[int, int] | None]()
        stretches = answer.undisputed
        for number, stretch in enumerate(stretches, start=1):
            last = number == len(stretches) and after.endswith(stretch)
            at = len(after) - len(stretch) if last else after.find(stretch, place)
            found.append(None if at < place else (at, at + len(stretch)))
            place = max(place, at + len(stretch))
        whole = sum(map(len, stretches))
        there = sum(len(s) for s, at in zip(stretches, found, strict=True) if at is not None)
        self.kept.append(there / whole if whole else 1.0)
        for sentence, (one, other) in zip(answer.disputed, pairwise(found), strict=True):
            between = after[one[1] : other[0]] if one and other else after
            self.outcomes[_outcome(answer, sentence, between)] += 1
        self.lengths.append(len(after) / len(answer.text))
        self.usage += usage


def _row(name: str, *cells: object) -> str:
    return f"{name:<14}{''.join(f'{cell:>10}' for cell in cells)}"


def _outcome(answer: LongAnswer, sentence: str, now: str) -> str:
    if re.fullmatch(re.escape(sentence) + CITED, now.strip()):
        return "kept"
    if "ources disagree" in now and sentence.rstrip(".") in now:
        return "hedged"
    labels = [*answer.labels[sentence].values()]
    outvoted = labels.count(Label.CONTRADICTS) > labels.count(Label.SUPPORTS)
    return "right" if DENIED + sentence.rstrip(".") in now and outvoted else "harmed"


def revised(
    answers: Sequence[LongAnswer], *, behaviours: Iterator[Behaviour], **settings: Any
) -> Tally:
    """Revise answers, and count what came of it.

    Args:
        answers: What is revised.
        behaviours: How a scripted model behaves, an answer each.
        **settings: Of the loop.
    """
    tally = Tally()
    for answer in answers:
        scripted = _scripted(answer, next(behaviours))
        graph = create_self_correcting_rag(
            scripted,
            labeler=_Labels(answer),
            prompts=scripted.prompts,
            cache=False,
            context_window=128_000,
            **{"disputed": ("conflict", "refuted", "contradicted"), **settings},
        )
        state = graph.invoke(
            {
                "question": _QUESTION,
                "documents": list(answer.documents),
                "draft_answer": answer.text,
            }
        )
        tally.add(answer, state["answer"], Usage.model_validate(state["usage"]))
    return tally


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--answers", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(files: tuple[Path, ...], answers: int, seed: int) -> None:
    """See the module."""
    in_place: dict[str, Any] = {"regeneration": "revise", "guard": True}
    try:
        made = long_answers(files, answers, seed)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    default = {**in_place, "disputed": Settings().disputed}
    unguarded = {**in_place, "guard": False}
    ways: dict[str, Callable[[], Tally]] = {
        "obeys": partial(revised, made, behaviours=cycle([obey]), **in_place),
        "default": partial(revised, made, behaviours=cycle([obey]), **default),
        "misbehaves": partial(revised, made, behaviours=misbehaviours(), **in_place),
        "unguarded": partial(revised, made, behaviours=misbehaviours(), **unguarded),
        "whole": partial(revised, made, behaviours=cycle([obey]), regeneration="paper"),
    }
    wrong = sum(len(answer.disputed) for answer in made)
    click.echo(f"{len(made)} answers with {wrong} disputed sentences")
    click.echo(_row("", "kept", "all kept", *_OUTCOMES, "length", "calls", "tokens"))
    for name, way in ways.items():
        tally = way()
        spent = tally.usage
        click.echo(
            _row(
                name,
                f"{100 * fmean(tally.kept):.1f} %",
                f"{tally.kept.count(1.0)}",
                *(tally.outcomes[kind] for kind in _OUTCOMES),
                f"{fmean(tally.lengths):.2f}",
                f"{spent.calls / len(made):.1f}",
                f"{(spent.input_tokens + spent.output_tokens) / len(made):,.0f}",
            )
        )


if __name__ == "__main__":
    main()
