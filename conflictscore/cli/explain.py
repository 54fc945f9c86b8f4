"""conflictscore explain."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import open_context, run_async
from conflictscore.cli.options import with_budget_options, with_model_choice
from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.records import QuestionResult
    from conflictscore.graph.explain import AskedAgain, Explanation

__all__ = ["explain"]

_SHOWN_FLIPS = 5

_EXAMPLES = """\b
Examples:
  conflictscore explain flips.jsonl 4f1c --dry-run
  conflictscore explain runs/truthfulqa-multiple-choice q17 --model openai:gpt-4.1-mini
"""


@click.command(
    epilog=_EXAMPLES,
    short_help="Test which documents a flip hangs on.",
)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("flip", metavar="FLIP")
@click.option("--dry-run", is_flag=True, help="Only say what it would cost.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before the first call.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@with_budget_options
@with_model_choice
def explain(run: Path, flip: str, dry_run: bool, yes: bool, as_json: bool, **settings: Any) -> None:
    """Test which documents a flip hangs on: ask again without each of them.

    RUN is the folder of a benchmark, a file of `--log`, or a `--runs-file` of `serve`; FLIP the
    question's or the run's id, or how it begins. Give the model that flipped, and its judge.
    """
    import sys

    from conflictscore.graph.explain import explain as explained

    asked, kept = _flip(run, flip)
    context = open_context(settings)
    calls, tokens = asked.cost(context)
    click.echo(
        f"{len(asked.trials())} questions to {context.generator.name}, about {tokens:,} tokens in;"
        f" at most {calls} calls, judging included. What is cached costs nothing.",
        err=True,
    )
    if dry_run:
        return
    if not yes and sys.stdin.isatty():
        click.confirm("Go on?", abort=True, err=True)
    found = run_async(explained(asked, context))
    if as_json:
        click.echo(json.dumps({**found.to_json(), "hangs_on": found.hangs_on, "run_id": kept}))
    else:
        _show(asked, found)


def _flip(path: Path, wanted: str) -> "tuple[AskedAgain, str]":
    """The flip of this id, and the id in full."""
    from conflictscore.benchmarks.harness.methods.registry import BASELINE
    from conflictscore.benchmarks.harness.report.flips import second_look
    from conflictscore.cli.report import read_report_runs
    from conflictscore.graph.explain import AskedAgain

    def flipped(result: "QuestionResult") -> bool:
        method = second_look(result)
        if method is None or method in result.predicted:  # asked by a prompt of its own
            return False
        return bool(result.flipped(method) and result.claims_about(method))

    (shown,) = read_report_runs((path,), None)
    flips = [result for result in shown.results if flipped(result)]
    exact = [result for result in flips if result.question.id == wanted]
    found = exact or [result for result in flips if result.question.id.startswith(wanted)]
    if len(found) != 1:
        known = ", ".join(result.question.id for result in (found or flips)[:_SHOWN_FLIPS])
        said = "more than one flip begins with" if found else "there is no flip"
        raise InputError(
            f"{path}: {said} {wanted!r}; {f'such as {known}' if known else 'it has none'}"
        )
    result, method = found[0], second_look(found[0])
    before = result.methods[BASELINE].answer
    claims = result.claims_about(method) if method else ()
    if before is None or not claims:
        raise InputError(f"{path}: {result.question.id} has no claim that was reconsidered")
    question = result.question
    return (
        AskedAgain(question.question, question.options, before, claims[0], result.documents),
        question.id,
    )


def _show(flip: "AskedAgain", found: "Explanation") -> None:
    from conflictscore.reporting.figure_text import one_line

    click.echo(f"The claim: {one_line(flip.claim.claim.text)}")
    for trial in found.trials:
        left_out = f"without {_documents(trial.without)}" if trial.without else "with all of them"
        outcome = {True: "it is back", False: "flips again", None: f"failed: {trial.error}"}
        click.echo(f"  {left_out}: {one_line(outcome[trial.returns])}")
        if trial.answer:
            click.echo(f"      {one_line(trial.answer)}")
    if found.steady is False:
        click.echo(
            "With all documents the answer makes the claim again: the model does not repeat this"
            " flip, or it changed no more than the wording. What swayed it cannot be told."
        )
    elif found.hangs_on:
        listed = "; or on ".join(map(_documents, found.hangs_on))
        click.echo(f"The flip hangs on {listed}: without that, the claim is back.")
    else:
        click.echo("The flip hangs on no single document and no single side.")


def _documents(numbers: tuple[int, ...]) -> str:
    noun = "document" if len(numbers) == 1 else "documents"
    return f"{noun} {', '.join(map(str, numbers))}"
