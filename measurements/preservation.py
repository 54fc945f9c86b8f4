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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from conflictscore import create_self_correcting_rag
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.protocol import Labeler
from conflictscore.markdown import passages
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import (
    Change,
    Claim,
    Document,
    EvidenceLabel,
    Label,
    RevisionAction,
    Usage,
)
from conflictscore.settings import Settings
from conflictscore.storage.cache import ContentCache
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
_ACTIONS = {
    RevisionAction.REPLACE: "replaced",
    RevisionAction.HEDGE: "hedged",
}
_OF_A_MODEL = ("replaced", "hedged", "kept")
_BULLET = re.compile(r"(?:^|(?<=\n))- $")


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
    """People's labels; of what they did not see, another labeler's, or irrelevant."""

    name, identity = "people", None

    def __init__(self, answer: LongAnswer, otherwise: Labeler | None) -> None:
        self._answer, self._otherwise = answer, otherwise

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        # what is shown of a document may be cut
        label = self._answer.label(claim.text, self._answer.documents[document.number - 1])
        new = label is None and claim.text not in self._answer.text
        if new and self._otherwise is not None:
            return await self._otherwise.label(claim, document, meter)
        given = label or Label.IRRELEVANT
        return EvidenceLabel(claim=claim.number, document=document.number, label=given)


@dataclass
class Tally:
    """Outcome of one way of revising.

    Attributes:
        kept: Of each answer, the share of its undisputed text that is there byte for byte, in its
            order, in [0, 1]; of a real model's, without the white space and bullets beside what is
            disputed, which go with a passage that is removed.
        outcomes: What became of the disputed sentences: ``right`` (refuted, and denied now),
            ``hedged``, ``kept``, or ``harmed``: anything else. Of a real model ``replaced``,
            ``hedged``, ``kept`` or ``removed``.
        lengths: Of each answer, its length after / before.
        refuted: The same of those that no document supports.
        usage: Calls and tokens of all.
        changes: What a real model wrote in place of something.
        refused: How many of its changes the guard refused, by why.
    """

    kept: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    refuted: Counter[str] = field(default_factory=Counter)
    lengths: list[float] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    changes: list[Change] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        answer: LongAnswer,
        after: str,
        usage: Usage,
        revisions: Sequence[Change] | None = None,
    ) -> None:
        """Count one answer.

        Args:
            answer: As it was.
            after: As it is now.
            usage: What that took.
            revisions: Those of a real model, which tell what it did; None of a scripted one, whose
                words do.
        """
        place, found = 0, list[tuple[int, int] | None]()
        stretches = answer.undisputed
        if revisions is not None:  # a passage that is removed takes what only set it apart along
            stretches = [_BULLET.sub("", stretch).strip() for stretch in stretches]
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
            outcome = (
                _outcome(answer, sentence, between)
                if revisions is None
                else _outcome_by(revisions, sentence)
            )
            self.outcomes[outcome] += 1
            self.refuted[outcome] += answer.refuted(sentence)
        made = [one for one in revisions or () if one.differs]
        self.changes += [one for one in made if one.accepted]
        self.refused.update(str(one.note).partition(" (")[0] for one in made if not one.accepted)
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


def _outcome_by(revisions: Iterable[Change], sentence: str) -> str:
    by = (r for r in revisions if r.applied and sentence in r.before)
    return next((_ACTIONS[one.action] for one in by), "kept")


def revised(
    answers: Sequence[LongAnswer],
    *,
    behaviours: Iterator[Behaviour],
    model: str | None = None,
    cache: ContentCache | None = None,
    **settings: Any,
) -> Tally:
    """Revise answers, and count what came of it.

    Args:
        answers: What is revised.
        behaviours: How a scripted model behaves, an answer each.
        model: A real one in its place.
        cache: Where its replies are kept.
        **settings: Of the loop.
    """
    tally, otherwise = Tally(), NliLabeler.open() if model else None
    for number, answer in enumerate(answers, start=1):
        scripted = _scripted(answer, next(behaviours))
        graph = create_self_correcting_rag(
            model or scripted,
            judge=scripted if model else None,
            labeler=_Labels(answer, otherwise),
            prompts=scripted.prompts,
            cache=cache or False,
            context_window=None if model else 128_000,
            **{"disputed": ("conflict", "refuted", "contradicted"), **settings},
        )
        state = graph.invoke(
            {
                "question": _QUESTION,
                "documents": list(answer.documents),
                "draft_answer": answer.text,
            }
        )
        revisions = None
        if model:
            revisions = [Change.model_validate(one) for one in state["changes"]]
            click.echo(f"{number} of {len(answers)} answers: {state['reason']}", err=True)
        tally.add(answer, state["answer"], Usage.model_validate(state["usage"]), revisions)
    return tally


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--answers", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--model", default=None, help="A real model, such as local, that revises in place.")
@click.option("--out", type=click.Path(path_type=Path), help="Where its replies are kept.")
def main(
    files: tuple[Path, ...],
    answers: int,
    seed: int,
    model: str | None,
    out: Path | None,
) -> None:
    """See the module."""
    in_place: dict[str, Any] = {"regeneration": "revise", "guard": True}
    if out is not None and model is None:
        raise click.UsageError("--out: give --model too; a scripted model's replies cost nothing")
    try:
        made = long_answers(files, answers, seed)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            in_place["cache"] = ContentCache(out / "replies.sqlite")
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    ways: dict[str, Callable[[], Tally]] = {
        "obeys": partial(revised, made, behaviours=cycle([obey]), **in_place),
        "default": partial(
            revised,
            made,
            behaviours=cycle([obey]),
            disputed=Settings().disputed,
            **in_place,
        ),
        "misbehaves": partial(revised, made, behaviours=misbehaviours(), **in_place),
        "unguarded": partial(
            revised, made, behaviours=misbehaviours(), **{**in_place, "guard": False}
        ),
        "whole": partial(revised, made, behaviours=cycle([obey]), regeneration="paper"),
    }
    if model is not None:
        real = partial(revised, made, behaviours=cycle([obey]), model=model)
        ways = {
            "in place": partial(real, **in_place),
            "unguarded": partial(real, **{**in_place, "guard": False}),
        }
    wrong = sum(len(answer.disputed) for answer in made)
    click.echo(f"{len(made)} answers with {wrong} disputed sentences")
    kinds = _OUTCOMES if model is None else _OF_A_MODEL
    click.echo(_row("", "kept", "all kept", *kinds, "length", "calls", "tokens"))
    for name, way in ways.items():
        tally = way()
        outcomes = [tally.outcomes[kind] for kind in kinds]
        spent, cost = tally.usage, ["-", "-"]  # what a kept reply had cost is not known
        if out is None:
            tokens = spent.input_tokens + spent.output_tokens
            cost = [f"{spent.calls / len(made):.1f}", f"{tokens / len(made):,.0f}"]
        click.echo(
            _row(
                name,
                f"{100 * fmean(tally.kept):.1f} %",
                f"{tally.kept.count(1.0)}",
                *outcomes,
                f"{fmean(tally.lengths):.2f}",
                *cost,
            )
        )
        if model is not None:
            of_them = (f"{kind} {tally.refuted[kind]}" for kind in kinds)
            click.echo(f"of them, supported by no document: {', '.join(of_them)}")
        for one in tally.changes:
            click.echo(f"\n{one.action}: {one.before!r}\n     -> {one.after!r}")
        for why, count in tally.refused.most_common():
            click.echo(f"\n{count} refused: {why}")


if __name__ == "__main__":
    main()
