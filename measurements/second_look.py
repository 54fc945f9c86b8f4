"""Counts how many answers the second look corrects, and how many it harms.

With --first lot, the first answer is that of one randomly drawn document, so it is wrong as often
as the documents are. The words of this answer are those of a fixed sentence or, if a real model
reads the documents, the model's own. With --first natural, the model answers from all documents; a
scripted model gives the most frequent answer. The loop then runs as for a user. The table has these
columns. "right" counts first answers that give the correct answer and no wrong one. "corrected"
counts wrong first answers that became right. "harmed" counts right first answers whose final answer
no longer gives the correct answer. "hedged" counts answers that give both a correct and a wrong
answer. Of these, "of wrong" counts the answers whose first answer was not right, and "of right" the
others. "named" counts answers that give the correct answer, alone or with a wrong one. If people
found that both answers are correct but conflict (all of WikiContradict, and ties in NatConfQA),
only an answer that gives both is right, as for the benchmark's authors.

"apart" counts answers that were right at first, but now present two correct answers about different
things as a disagreement. "told" counts, over all disputed questions, the correct answers that the
final answer gives, and "of" counts the correct answers that any document gives.

There are six sets. ramdocs-whole has all documents of RAMDocs, and ramdocs has the documents about
a single entity. natconfqa and wikicontradict were labelled by people. minority has twenty
constructed cases in which a minority of the documents is right (``minority.toml``). conflicts has
the questions of CONFLICTS on outdated facts and misinformation, if their gold answer occurs in the
note on a document; a model wrote these notes.

With --readers scripted, the scripted model knows the answer in each document. When this model
compares two sides, it finds no reason for either in the sets that people labelled; in minority and
conflicts, the model knows which side is right. With --readers local, or any other model, that model
reads, splits answers and weighs. --labels takes people's labels, or those of a labeler such as nli.
--spoiled replaces some of people's labels with wrong labels, to show at which label accuracy
corrections outnumber harms. The option's value is the share to replace, or the name of a labeler's
confusion table. With --out, replies are stored, so a stopped run resumes.
"""

import asyncio
import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import click

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.harness.statistics import mcnemar
from conflictscore.benchmarks.ramdocs.benchmark import normalised
from conflictscore.correcting.readers import ask_documents
from conflictscore.correcting.things import things_in
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.by_claim import open_nli_by_claim
from conflictscore.loop.state import RagInput, Reader
from conflictscore.models import LanguageModel, UsageMeter, open_model
from conflictscore.prompts import PromptSet, material_line
from conflictscore.records import Usage
from conflictscore.retrieval.documents import as_documents
from conflictscore.storage.cache import ContentCache
from measurements.people_labels import (
    SETS,
    TABLES,
    LabelledQuestion,
    PeopleLabeler,
    Spoiler,
)
from measurements.scripted_model import NotedPrompts, ScriptedModel

_COLUMNS = (
    *("n", "right", "disputed", "corrected", "harmed", "p", "hedged", "of wrong", "of right"),
    *("named", "apart", "told", "of", "calls", "tokens", "seconds"),
)


class Looked(NamedTuple):
    """The outcome for one first answer.

    Attributes:
        before: Whether the first answer was right.
        after: Whether the final answer is right.
        named: Whether the final answer gives the correct answer, perhaps with a wrong one.
        told_wrong: Whether the final answer gives a wrong answer.
        disputed: Whether the loop found a dispute.
        decided: What decided the dispute, or else the decision: ``hedge``, ``explain`` or ``keep``.
            Empty if there was no second look.
        apart: Whether the answer hedges between answers that are correct about different things.
        backed: Number of correct answers that a document gives.
        told_right: Number of correct answers in a document that the final answer gives.
        usage: Calls and tokens.
        seconds: Duration of the run; short if the replies were stored.
        text: The question, the first and final answers, and the reasons.
    """

    before: bool
    after: bool
    named: bool
    told_wrong: bool
    disputed: bool
    decided: str
    apart: bool
    backed: int
    told_right: int
    usage: Usage
    seconds: float
    text: str


def stated(asked: LabelledQuestion, answer: str) -> str:
    """Return an answer as a full sentence."""
    if form := asked.question.documents[0]["metadata"].get("form"):
        return str(form).format(answer)
    if answer in ("true", "false"):
        return f"{answer.capitalize()}."
    return f"The answer to the question “{asked.question.question.rstrip('?')}” is {answer}."


def first_by_lot(asked: LabelledQuestion, seed: int, reader: LanguageModel | None = None) -> str:
    """Return the answer of one document, drawn from the documents that give one.

    Args:
        asked: The question.
        seed: Seed of the draw.
        reader: The model that words the answer. Without a reader, or if it gives no answer, a fixed
            sentence is used.
    """
    told = [d for d in as_documents(asked.question.documents) if d.metadata["gives"]]
    draw = random.Random(f"{seed} {asked.question.id}")  # noqa: S311 - a draw, not a secret
    one = draw.choice(told)
    gives = str(one.metadata["gives"])
    if reader is None or gives in ("true", "false"):
        return stated(asked, gives)
    reads = Reader(reader, PromptSet.load(), UsageMeter())
    rivals = asyncio.run(ask_documents(asked.question.question, [one], reads)).rivals
    return f"{rivals[0].statement.rstrip('.')}." if rivals else stated(asked, gives)


def scripted_readers(asking: Sequence[LabelledQuestion]) -> ScriptedModel:
    """Return a model that reads every document correctly and, in some sets, knows the right side.

    Args:
        asking: The questions so far; the last one is the current question.
    """
    prompts = NotedPrompts(PromptSet.load())

    def reply(name: str, fields: Mapping[str, Any]) -> str:
        asked = asking[-1]
        if name == "ask_document":
            shown = _folded(fields["document"])
            texts = ((material_line(d["text"])[:200], d) for d in asked.question.documents)
            gives = next(str(d["metadata"]["gives"]) for text, d in texts if text in shown)
            return stated(asked, gives) if gives else "The document does not say."
        if name.startswith("decompose"):
            answer, statement = str(fields["answer"]), asked.question.question.partition(": ")[2]
            told = answer.strip(".").casefold()
            if name == "decompose_short":
                return f"It is {told} that {statement}" if told in ("true", "false") else answer
            return f"Claims:\n- {answer}"
        if name == "relation":
            return _related(asked, fields)
        if name == "claim_question":
            return asked.question.question
        if name == "weigh":
            return _weighed(asked, fields)
        if name == "free_form_rag":
            given = [str(d["metadata"]["gives"]) for d in asked.question.documents]
            return stated(asked, max(filter(None, given), key=given.count))
        return "The documents say so."

    return ScriptedModel(prompts=prompts, reply=reply)


def _folded(text: object) -> str:
    return " ".join(str(text).split())


def _related(asked: LabelledQuestion, fields: Mapping[str, Any]) -> str:
    """Return the relation of each statement to the claim, from the answers that they contain.

    If a statement and the claim are correct about different things, each thing is named by the
    words that a document first uses for it.
    """
    own = set(map(normalised, asked.stated(str(fields["claim"]))))
    right = set(map(normalised, asked.right))
    lines = []
    for number, line in enumerate(str(fields["statements"]).splitlines(), start=1):
        statement = line.partition(" (Document ")[0]
        answers = set(map(normalised, asked.stated(statement)))
        if not answers or not own:
            lines.append(f"{number}: NOTHING")
        elif answers & own:
            lines.append(f"{number}: SAME")
        elif not asked.rivals and answers <= right and own <= right:
            thing = _thing(asked, re.findall(r"\(Document (\d+);", line)[-1:])
            own_thing = _thing(asked, re.findall(r"^- Document (\d+)", fields["evidence"], re.M))
            lines.append(f"{number}: OTHER | {thing} | {own_thing}")
        else:
            lines.append(f"{number}: RIVAL")
    return "\n".join(lines)


def _thing(asked: LabelledQuestion, numbers: Sequence[str]) -> str:
    """Return the words that the first of these documents uses for the thing it is about."""
    for number in numbers:
        text = str(asked.question.documents[int(number) - 1]["text"])
        things = things_in(text, asked.question.question)
        return things[0].words if things else " ".join(text.split()[:6])
    return ""


def _weighed(asked: LabelledQuestion, fields: Mapping[str, Any]) -> str:
    sides = [asked.right[0] in fields[f"statement_{side}"] for side in "ab"]
    knows = {"form", "date"} & {*asked.question.documents[0]["metadata"]}
    if not knows or not any(sides):
        return "SIDE: NEITHER\nGROUND: NUMBER\nREASON: Nothing tells them apart."
    ground = "NEWER" if "newer" in fields["grounds"].casefold() else "PRIMARY"
    return f"SIDE: {'AB'[not sides[0]]}\nGROUND: {ground}\nREASON: It knows better."


def second_looks(
    labelled: Sequence[LabelledQuestion],
    *,
    model: str | None,
    labeler: Any,
    seed: int | None,
    cache: ContentCache | None = None,
    **settings: Any,
) -> Iterator[Looked]:
    """Run the loop on the first answer to each question, and yield the outcomes.

    Args:
        labelled: The questions.
        model: The model that reads, splits answers and weighs; None for the scripted model.
        labeler: The labeler of the pairs of claim and document.
        seed: The seed for drawing first answers; None if the model gives them.
        cache: The cache for replies and labels.
        **settings: Settings of the loop.
    """
    asking: list[LabelledQuestion] = []
    reader = open_model(model, cache=cache) if model else None
    scripted = scripted_readers(asking)
    graph = create_self_correcting_rag(
        model or scripted,
        labeler=labeler,
        prompts=None if model else scripted.prompts,
        cache=cache or False,
        context_window=None if model else 128_000,
        **settings,
    )
    for asked in labelled:
        asking.append(asked)
        question = asked.question
        ask: RagInput = {
            "question": question.question,
            "documents": list(question.documents),
        }
        if seed is not None:
            ask["draft_answer"] = first_by_lot(asked, seed, reader)
        began = monotonic()
        state = graph.invoke(ask)
        first = state["first_answer"]
        before, after = map(asked.judged, (first, state["answer"]))
        named_before, named = (
            not one.missing if asked.rivals else bool(one.given) for one in (before, after)
        )
        looks = [look for change in state.get("changes", []) for look in change.get("looks", [])]
        decided = looks[-1]["decided_by"] or looks[-1]["decision"] if looks else ""
        given = {normalised(str(d["metadata"]["gives"])) for d in question.documents}
        hedges = [look for look in looks if look["decision"] == "hedge"]
        both_right = state["answer"] != first and len(after.given) > 1 and not after.wrong
        yield Looked(
            before=named_before and not before.wrong,
            after=named and not after.wrong,
            named=named,
            told_wrong=bool(after.wrong),
            disputed=bool(state["attempts"][0]["report"]["disputed"]),
            decided=decided,
            apart=bool(hedges) and both_right and not asked.rivals,
            backed=len({normalised(one) for one in asked.right} & given),
            told_right=len({normalised(one) for one in after.given} & given),
            usage=Usage.model_validate(state["usage"]),
            seconds=monotonic() - began,
            text=f"{question.question}\n  right: {asked.right}\n  first: {first}\n  stands:"
            f" {state['answer']}\n  why: {[look['why'] for look in looks]}",
        )


@click.command(help=__doc__)
@click.option("--data", multiple=True, help="A set as NAME=FILE, or minority.")
@click.option("--readers", default="scripted", show_default=True)
@click.option("--labels", default="people", show_default=True, help="people, nli or nli-mpnet.")
@click.option(
    "--spoiled",
    multiple=True,
    default=["0"],
    show_default=True,
    help=f"Share of people's labels to spoil, or {' or '.join(TABLES)}; repeat it for several.",
)
@click.option("--first", type=click.Choice(["lot", "natural"]), default="lot", show_default=True)
@click.option("--half", type=click.Choice(["first", "second"]), help="[default: all]")
@click.option("--questions", default=300, show_default=True, help="Maximum number of questions.")
@click.option("--seed", default=1, show_default=True)
@click.option("--passage-tokens", default=192, show_default=True)
@click.option("--unsettled", type=click.Choice(["hedge", "keep"]), default="hedge")
@click.option("--show", is_flag=True, help="Print every change and refusal.")
@click.option("--out", type=click.Path(path_type=Path))
def main(
    data: tuple[str, ...],
    readers: str,
    labels: str,
    spoiled: tuple[str, ...],
    first: str,
    half: str | None,
    questions: int,
    seed: int,
    passage_tokens: int,
    unsettled: str,
    show: bool,
    out: Path | None,
) -> None:
    """See the module."""
    cache = None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        cache = ContentCache(out / "replies.sqlite")
    click.echo(_row("set", *_COLUMNS))
    for one, share in itertools.product(data, spoiled if labels == "people" else [labels]):
        name, _, file = one.partition("=")
        if name not in SETS:
            raise click.UsageError(f"--data {one}: give NAME=FILE, NAME of {', '.join(SETS)}")
        done = []
        try:
            chosen = SETS[name](Path(file))
            random.Random(seed).shuffle(chosen)  # noqa: S311 - a draw, not a secret
            if half is not None:
                middle = len(chosen) // 2
                chosen = chosen[:middle] if half == "first" else chosen[middle:]
            chosen = chosen[:questions]
            labelled = [one.shortened(passage_tokens) for one in chosen]
            labeler: Any
            if labels == "people":
                labeler = PeopleLabeler(labelled, Spoiler.named(share, seed))
            else:
                labeler = open_nli_by_claim(None if labels == "nli" else labels)
            model = None if readers == "scripted" else readers
            for looked in second_looks(
                labelled,
                model=model,
                labeler=labeler,
                seed=seed if first == "lot" else None,
                cache=cache,
                unsettled=unsettled,
            ):
                done.append(looked)
                if show and (looked.decided or looked.before != looked.after):
                    click.echo(f"{looked.decided}: {looked.text}\n")
        except ConflictScoreError as error:
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt:
            click.echo("stopped; with --out, the same command resumes", err=True)
        click.echo(_counted(name if share == "0" else f"{name}, {share}", done))


def _counted(name: str, done: Sequence[Looked]) -> str:
    """Return a row of the table.

    A hedge that gives both answers counts as neither corrected nor harmed.
    """
    both = [one for one in done if one.named and one.told_wrong]
    disputed = [one for one in done if one.disputed]
    corrected = sum(not one.before and one.after for one in done)
    harmed = sum(one.before and not one.named for one in done)
    n, usage = max(1, len(done)), sum((one.usage for one in done), Usage())
    return _row(
        name,
        len(done),
        sum(one.before for one in done),
        len(disputed),
        corrected,
        harmed,
        f"{mcnemar(corrected, harmed):.2g}",
        len(both),
        sum(not one.before for one in both),
        sum(one.before for one in both),
        sum(one.named for one in done),
        sum(one.apart and one.before for one in done),
        sum(one.told_right for one in disputed),
        sum(one.backed for one in disputed),
        f"{(usage.calls + usage.cached_calls) / n:.1f}",
        f"{(usage.input_tokens + usage.output_tokens) / n:.0f}",
        f"{sum(one.seconds for one in done) / n:.1f}",
    )


def _row(name: str, *cells: object) -> str:
    return f"{name:<20}{''.join(f'{cell:>10}' for cell in cells)}"


if __name__ == "__main__":
    main()
