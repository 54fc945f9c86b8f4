"""The commands ``report`` and ``export``."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conflictscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conflictscore.benchmarks.harness.figures import Figures
    from conflictscore.benchmarks.harness.records import QuestionResult
    from conflictscore.benchmarks.harness.report.page.report_run import ReportRun

_Pair = tuple[str, str]
_Command = TypeVar("_Command", bound="Callable[..., object]")
_REPORT_EXAMPLES = """\b
Examples:
  conflictscore report runs/truthfulqa-multiple-choice
  conflictscore report runs/mc-openai runs/mc-local --out compared.html
  conflictscore report runs/mc/seed-0 runs/mc/seed-1 runs/mc/seed-2 --json > study.json
  conflictscore report flips.jsonl served-runs.sqlite --out live.html
"""
_EXPORT_EXAMPLES = """\b
Examples:
  conflictscore export runs/mc --to answers.csv
  conflictscore export runs/mc runs/free --to answers.jsonl
  conflictscore export runs/mc --figures figures.tex
  conflictscore export runs/mc --pictures charts/
  conflictscore export runs/mc --calls calls.jsonl
  conflictscore export flips.jsonl --to flips.csv
"""


def _output(name: str, words: str, *, is_folder: bool = False) -> "Callable[[_Command], _Command]":
    """Return an option that names a file or folder to be written."""
    kind = click.Path(path_type=Path, file_okay=not is_folder, dir_okay=is_folder)
    return click.option(name, type=kind, metavar="FOLDER" if is_folder else "FILE", help=words)


_runs = click.argument(
    "runs",
    nargs=-1,
    required=True,
    metavar="RUN...",
    type=click.Path(path_type=Path),
)


def _pairs(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> list[_Pair]:
    pairs = []
    for text in texts:
        method, _, against = (part.strip() for part in text.partition(":"))
        if not method or not against or method == against:
            raise InputError(
                f"--compare {text}: name two different methods, such as regenerated-rag:control-rag"
            )
        pairs.append((method, against))
    return pairs


with_compare = click.option(
    "--compare",
    multiple=True,
    callback=_pairs,
    metavar="A:B",
    help="Also compare methods A and B with each other, for example guarded-rag:control-rag. "
    "Every method is always compared with rag. Repeatable. Default: "
    "regenerated-rag:control-rag, the paper's comparison.",
)


@click.command(
    epilog=_REPORT_EXAMPLES,
    short_help="Write one HTML page about runs, with every flip.",
)
@_runs
@_output(
    "--out",
    "The page to write or, with --json, the JSON file. Default: report.html in the folder of the "
    "first RUN or, if the first RUN is a file, next to it. With --json, the default is to print "
    "the JSON.",
)
@with_compare
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the studies of several runs as a JSON list, or write the list to --out, instead "
    "of writing a page.",
)
def report(
    runs: tuple[Path, ...],
    out: Path | None,
    compare: list[_Pair],
    as_json: bool,
) -> None:
    """Write one HTML page with the figures of RUNs, and every flip with its evidence.

    A RUN is the folder of a benchmark run, a file written by `--log`, or a `--runs-file` of
    `serve`. A flip is an answer that the loop changed. The page works without a network.

    Several runs of the same benchmark and form make a study. The runs may differ in seed, model,
    judge or recording. For a study, the page shows the figures of all runs pooled by question, and
    the figures of each run.
    """
    from conflictscore.benchmarks.harness.report.page.render import write_report
    from conflictscore.benchmarks.harness.report.study import questions_apart, study_groups
    from conflictscore.storage.private_files import write_whole

    report_runs = read_report_runs(runs, compare)
    if as_json and not study_groups(report_runs) and not questions_apart(report_runs):
        click.echo(
            "Note: there is no study, since no two of these runs have the same benchmark, form and"
            " questions; the figures of a single run are in its figures.json",
            err=True,
        )
    if as_json and out is not None:
        write_whole(out, f"{json.dumps(_studies_json(report_runs), indent=2)}\n".encode())
        click.echo(f"Wrote {out}")
        return
    print_study(report_runs, as_json=as_json)
    if as_json:
        return
    page = out or (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"
    write_report(report_runs, page)
    click.echo(f"Wrote {page}")


@click.command(epilog=_EXPORT_EXAMPLES, short_help="Export answers or figures as tables.")
@_runs
@_output("--to", "Write one row for each question and method to FILE (.csv or .jsonl).")
@_output(
    "--figures",
    "Write all tables of figures, as .csv with one row per cell of a table, or as .tex for LaTeX "
    "(with booktabs).",
)
@_output("--pictures", "Write the charts of the report, each as .svg and .png.", is_folder=True)
@_output(
    "--calls",
    "Write every model call of the RUNs as .jsonl, with prompt, reply and served model, from "
    "their transcripts.",
)
@with_compare
def export(
    runs: tuple[Path, ...],
    to: Path | None,
    figures: Path | None,
    pictures: Path | None,
    calls: Path | None,
    compare: list[_Pair],
) -> None:
    """Export the answers, figures, charts or model calls of RUNs.

    A RUN is the folder of a benchmark run, a file written by `--log`, or a `--runs-file` of
    `serve`.
    """
    from conflictscore.benchmarks.harness.report.call_export import export_calls
    from conflictscore.benchmarks.harness.report.exports import export_answers, export_figures
    from conflictscore.reporting.figure_text import counted

    if to is None and figures is None and pictures is None and calls is None:
        raise InputError(
            "nothing to export: give --to FILE, --figures FILE, --pictures FOLDER or --calls FILE"
        )
    report_runs = read_report_runs(runs, compare)
    if to is not None:
        export_answers(report_runs, to)
        click.echo(f"Wrote {to}")
    if figures is not None:
        count = export_figures(report_runs, figures)
        click.echo(f"Wrote {counted(count, 'table')} to {figures}")
    if pictures is not None:
        from conflictscore.benchmarks.harness.report.pictures.charts import export_pictures

        count = export_pictures(report_runs, pictures)
        click.echo(f"Wrote {counted(count, 'picture')} to {pictures}, each as SVG and PNG")
    if calls is not None:
        count = export_calls([part for run in runs for part in _parts(run)], calls)
        click.echo(f"Wrote {counted(count, 'call')} to {calls}")


def print_study(runs: "Sequence[ReportRun]", *, as_json: bool = False) -> None:
    """Print the studies among the runs, as tables or as a JSON list."""
    from rich.console import Console

    from conflictscore.benchmarks.harness.report.study_cards import all_study_cards
    from conflictscore.reporting.plain_table import print_card

    if as_json:
        click.echo(json.dumps(_studies_json(runs), indent=2))
        return
    console = Console(highlight=False, markup=False, emoji=False)
    for card in all_study_cards(runs):
        print_card(card, console)


def write_study(runs: "Sequence[ReportRun]", folder: Path) -> None:
    """Write the study of the runs to ``figures.json`` in the folder that contains the run folders.

    Several studies are written as a list.
    """
    from conflictscore.storage.private_files import write_whole

    if studies := _studies_json(runs):
        text = json.dumps(studies[0] if len(studies) == 1 else studies, indent=2)
        write_whole(folder / "figures.json", f"{text}\n".encode())


def _studies_json(runs: "Sequence[ReportRun]") -> list[dict[str, Any]]:
    """Return the studies among the runs, as plain JSON."""
    from conflictscore.benchmarks.harness.report.study import study_groups, study_of

    return [study_of(group).to_json() for group in study_groups(runs)]


def read_report_runs(runs: tuple[Path, ...], compare: "Sequence[_Pair]" = ()) -> "list[ReportRun]":
    """Read every run, and give it a unique name. A service's runs include their reviews.

    Runs over parts of one question file are merged into one run.
    """
    from conflictscore.benchmarks.harness.manifest import Manifest
    from conflictscore.benchmarks.harness.outcome import figures_by, read_run
    from conflictscore.benchmarks.harness.report.page.report_run import ReportRun, live_run
    from conflictscore.benchmarks.harness.report.reviews import read_reviews
    from conflictscore.benchmarks.harness.report.shards import with_shards_merged
    from conflictscore.benchmarks.harness.report.study import questions_apart
    from conflictscore.models.prices import PriceTable
    from conflictscore.reporting.run_log import read_runs

    prices = PriceTable.load()
    runs = tuple(part for run in runs for part in _parts(run))
    _refuse_repeated(runs)
    names = [run.name or run.resolve().name for run in runs]  # the name of "." is empty
    if len(set(names)) < len(names):
        names = [run.as_posix() for run in runs]
    report_runs = []
    for name, path in zip(names, runs, strict=True):
        if path.is_file():
            report_runs.append(live_run(name, read_runs(path), read_reviews(path)))
        else:
            run = read_run(path, prices, compare)
            for line in run.notes:
                click.echo(f"Note: {line}", err=True)
            report_runs.append(ReportRun(name, run.manifest.to_json(), run.figures, run.results))

    def figures_of(
        manifest: "Mapping[str, Any]", question_results: "Sequence[QuestionResult]"
    ) -> "Figures":
        whole = Manifest.model_validate(manifest)
        return figures_by(whole, question_results, prices, compare or whole.compare)

    merged_runs = with_shards_merged(report_runs, figures_of)
    for line in questions_apart(merged_runs):
        click.echo(f"Note: {line}", err=True)
    return merged_runs


def _refuse_repeated(runs: "Sequence[Path]") -> None:
    """Refuse a run that is given twice, since its questions would count twice."""
    places = [run.resolve() for run in runs]
    for run, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise InputError(f"{run}: given more than once; give each run once")


def _parts(run: Path) -> "Sequence[Path]":
    """Return the runs inside a study's folder; for any other folder or file, return it alone."""
    if (run / "manifest.json").exists():
        return [run]
    return sorted((path.parent for path in run.glob("seed-*/manifest.json")), key=_by_seed) or [run]


def _by_seed(folder: Path) -> tuple[int, str]:
    """Return a key that sorts a study's folders by seed. Renamed folders (seed-old) come last."""
    seed = folder.name.removeprefix("seed-")
    return (int(seed) if seed.isdecimal() else sys.maxsize, seed)
