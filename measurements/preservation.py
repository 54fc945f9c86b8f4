"""Measures how much text a revision in place preserves, and what happens to disputed claims.

Long answers are built from claims that people labelled against documents (the groups of
``conflict-detection``). An answer has six to twelve sentences. One to three of them are disputed or
refuted, and every other answer is in Markdown. Each answer is revised in place twice: by a scripted
model that obeys, and by a model that misbehaves. Each answer is also rewritten as a whole, as in
the paper. Every claim that a document contradicts gets a second look. In the row "default", only
the claims that are disputed under the default settings get one.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import click

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import ConflictScoreError
from conflictscore.loop.state import RagInput
from conflictscore.markdown import passages
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label, Usage
from conflictscore.settings import Settings
from measurements.scripted_model import NotedPrompts, ScriptedModel, rival_lines

_QUESTION = "What is known about these matters?"
_OUTCOMES = ("right", "hedged", "kept", "harmed")
DENIED, _HEDGED = "Contrary to what is often said, this is wrong: ", "Sources disagree on this: "
_MOST_DOCUMENTS = 3  # documents per claim; those that support or contradict the claim come first
_CLAIM_CHARS = range(40, 240)  # lengths of ordinary sentences
_MARKS = set("*_`[]|<>#\n\\~")  # sentences with Markdown would change how the answer is divided
_CITED = r"(?: \[\d+\])?"


class _Sentence(NamedTuple):
    text: str
    labels: tuple[Label, ...]
    documents: tuple[str, ...]

    @property
    def disputed(self) -> bool:
        return Label.CONTRADICTS in self.labels


@dataclass(frozen=True)
class LongAnswer:
    """An answer with its documents, and the labels that people gave them."""

    text: str
    documents: tuple[str, ...]
    labels: dict[str, dict[str, Label]]
    """People's labels by sentence and document; all other pairs are irrelevant."""
    disputed: tuple[str, ...]
    """The sentences that a document contradicts, in the order of the answer."""

    @property
    def undisputed(self) -> list[str]:
        """The undisputed text, divided at the disputed sentences and their citations."""
        disputed = "|".join(map(re.escape, self.disputed))
        return re.split(rf"(?:{disputed}){_CITED}", self.text)

    def refuted(self, sentence: str) -> bool:
        """Whether a disputed sentence has no supporting document."""
        return Label.SUPPORTS not in self.labels[sentence].values()

    def label(self, claim: str, document: str) -> Label | None:
        """Return the label of a sentence, denied, hedged or unchanged; None for any other text."""
        known = next((text for text in self.labels if text in claim), None)
        if known is None:
            return None
        label = self.labels[known].get(document, Label.IRRELEVANT)
        if label is Label.IRRELEVANT:
            return label
        if _HEDGED in claim:
            return Label.SUPPORTS
        if DENIED in claim:
            return Label.CONTRADICTS if label is Label.SUPPORTS else Label.SUPPORTS
        return label


def long_answers(files: Iterable[Path], count: int, seed: int) -> list[LongAnswer]:
    """Build answers from files of groups, according to a seed; every other answer is in Markdown.

    Raises:
        InputError: A file cannot be read; the message names file, row and field.
        ConflictScoreError: The files have no disputed sentences, or only disputed ones.
    """
    known = list({one.text: one for file in files for one in _sentences(file)}.values())
    draw = random.Random(seed)  # noqa: S311 - a draw, not a secret
    draw.shuffle(known)
    disputed, others = ([one for one in known if one.disputed is kind] for kind in (True, False))
    # an answer needs up to 3 disputed sentences and up to 11 others
    if len(disputed) < 3 or len(others) < 11:
        raise ConflictScoreError("the files have too few disputed claims, or too few others")
    return [_answer(disputed, others, draw, markdown=bool(n % 2)) for n in range(count)]


def _sentences(file: Path) -> Iterator[_Sentence]:
    for _, record in read_json_lines(file):
        text = " ".join(record["claim"].split())
        text = text if text.endswith(".") else f"{text}."
        told = [
            (document.get("label"), document.get("text"))
            for document in record["docs"]
            if document.get("label") in set(Label)
        ]
        sides = sorted(told, key=lambda one: one[0] == Label.IRRELEVANT)[:_MOST_DOCUMENTS]
        if len(text) not in _CLAIM_CHARS or _MARKS & set(text) or not text[0].isupper():
            continue
        if len(passages(text)) == 1 and sides and sides[0][0] != Label.IRRELEVANT:
            labels, texts = zip(*sides, strict=True)
            yield _Sentence(text, tuple(map(Label, labels)), texts)


def _answer(
    disputed: Sequence[_Sentence],
    others: Sequence[_Sentence],
    draw: random.Random,
    *,
    markdown: bool,
) -> LongAnswer:
    wrong = draw.sample(disputed, draw.randint(1, 3))
    chosen = draw.sample(others, draw.randint(6, 12) - len(wrong))
    for place in sorted(draw.sample(range(len(chosen) + 1), len(wrong)), reverse=True):
        chosen.insert(place, wrong.pop())  # no two disputed sentences are adjacent
    labels: dict[str, dict[str, Label]] = {
        one.text: dict(zip(one.documents, one.labels, strict=True)) for one in chosen
    }
    told = [one.text for one in chosen]
    return LongAnswer(
        text=_written(told, markdown=markdown),
        documents=tuple(dict.fromkeys(text for one in chosen for text in one.documents)),
        labels=labels,
        disputed=tuple(one.text for one in chosen if one.disputed),
    )


def _written(sentences: Sequence[str], *, markdown: bool) -> str:
    first, second = sentences[: len(sentences) // 2], sentences[len(sentences) // 2 :]
    if not markdown:
        return f"{' '.join(first)}\n\n{' '.join(second)}"
    listed = "\r\n".join(f"- {sentence} [{n}]" for n, sentence in enumerate(second, start=1))
    return (
        f"## What is known\r\n\r\n**In short**\r\n\r\n{' '.join(first)}\r\n\r\n{listed}\r\n\r\n"
        "| what | how |\r\n|---|---|\r\n| asked | once |\r\n\r\n"
        "```sh\r\ncurl -s https://a.test/x  # see [1]\r\n```\r\n\r\nSee [more](https://a.test/b(c))."
    )


Behaviour = Callable[[LongAnswer, str], str]
"""Returns a scripted model's reply to a document that contradicts a sentence of the answer."""


def obey(answer: LongAnswer, sentence: str) -> str:
    """Reply that the sentence is wrong, as the document says."""
    return DENIED + sentence


def misbehaviours() -> Iterator[Behaviour]:
    """Reply in turn with a refusal, the whole answer, and other kinds of unusable text."""
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
    """Return a model that splits the answer into sentences, and follows a behaviour."""

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
                denied = (one for one in answer.disputed if _denies(answer, one, fields))
                sentence = next(denied, "")
                return behave(answer, sentence) if sentence else "The document does not say."
            case "relation":
                return rival_lines(fields)
            case "weigh":
                first = DENIED in fields["statement_a"]
                said = fields["statement_b" if first else "statement_a"]
                known = next(one for one in answer.disputed if one in said)
                side = "BA"[first] if answer.refuted(known) else "NEITHER"
                return f"SIDE: {side}\nGROUND: PRIMARY\nREASON: The documents say so (Doc 1)."
            case "put_in":
                return str(fields["passage"])
            case "free_form_regenerate":
                sentence = next(one for one in answer.disputed if one in fields["claim"])
                return f"{DENIED if answer.refuted(sentence) else _HEDGED}{sentence}"
            case _:
                return "The documents say so (Doc 1)."

    return ScriptedModel(prompts=NotedPrompts(PromptSet.load()), reply=reply)


def _denies(answer: LongAnswer, sentence: str, fields: Mapping[str, Any]) -> bool:
    """Whether the document in a prompt contradicts a sentence."""
    shown = " ".join(fields["document"].split())
    labels = answer.labels[sentence].items()
    denying = [text for text, label in labels if label is Label.CONTRADICTS]
    # comparing the beginnings suffices, since a prompt may show a long document only in part
    return any(" ".join(text.split())[:200] in shown for text in denying)


def _told(text: str) -> list[str]:
    """Return the sentences of an answer, without citations and markup."""
    said = (text[p.start : p.end] for p in passages(text) if p.kind == "text")
    return [re.sub(_CITED + "$", "", one).strip("* ") for one in said]


class _Labels:
    """Gives people's labels; pairs that people did not label are irrelevant."""

    name, identity = "people", None

    def __init__(self, answer: LongAnswer) -> None:
        self._answer = answer

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        # ``document`` may be cut to a part, so its number is used instead of its text
        label = self._answer.label(claim.text, self._answer.documents[document.number - 1])
        given = label or Label.IRRELEVANT
        return EvidenceLabel(claim=claim.number, document=document.number, label=given)


@dataclass
class Tally:
    """The outcomes of one way of revising answers.

    Attributes:
        kept: For each answer, the share (in [0, 1]) of its undisputed text that was preserved
            exactly and in the same order.
        outcomes: The number of disputed sentences by outcome: ``right`` (refuted, and now denied),
            ``hedged``, ``kept``, or ``harmed`` (anything else).
        lengths: For each answer, the length after the revision, divided by the length before it.
        usage: Calls and tokens of all answers.
    """

    kept: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    lengths: list[float] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def add(self, answer: LongAnswer, after: str, usage: Usage) -> None:
        """Count an answer with its revised text and its cost."""
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
    if re.fullmatch(re.escape(sentence) + _CITED, now.strip()):
        return "kept"
    if "ources disagree" in now and sentence.rstrip(".") in now:
        return "hedged"
    labels = [*answer.labels[sentence].values()]
    outvoted = labels.count(Label.CONTRADICTS) > labels.count(Label.SUPPORTS)
    return "right" if DENIED + sentence.rstrip(".") in now and outvoted else "harmed"


def revised(
    answers: Sequence[LongAnswer], *, behaviours: Iterator[Behaviour], **settings: Any
) -> Tally:
    """Revise each answer with a scripted model, and count the outcomes.

    Each answer takes the next of the behaviours.
    """
    tally = Tally()
    for answer in answers:
        scripted = _scripted(answer, next(behaviours))
        graph = create_self_correcting_rag(
            scripted,
            labeler=_Labels(answer),
            prompts=scripted.prompts,
            cache=False,
            context_window=128_000,  # a scripted model does not state a context window
            **{"disputed": ("conflict", "refuted", "contradicted"), **settings},
        )
        asked: RagInput = {"question": _QUESTION, "documents": [*answer.documents]}
        state = graph.invoke({**asked, "draft_answer": answer.text})
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
