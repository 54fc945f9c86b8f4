"""Rehearses the paper's whole study with scripted models, and checks the report's figures.

The search results for TruthfulQA's questions are recorded from a search on this machine, whose
pages are made from the reference answers. Scripted models give correct answers as often as the
paper's models. If there is a conflict, they change their answers at the rates set by the options. A
further option sets how often the judge errs. Each seed is a run of `conflictscore bench`, and the
pooled figures are those of the report's study.

The report is compared with the planted effect, which is the expected value over questions, pages
and seeds. A rehearsal that is already in OUT/rehearsals.jsonl is not run again. With --model SPEC,
a real model replaces the scripted models, and no effect is planted.
"""

import asyncio
import csv
import json
import random
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from conflictscore.benchmarks.harness.definition import Form
from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.study import Study, study_of
from conflictscore.benchmarks.harness.setup import RunSettings, Setup, paper_loop
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.benchmarks.running import Limits, arun_benchmark
from conflictscore.benchmarks.truthfulqa.benchmark import truthfulqa
from conflictscore.prompts import PromptSet
from conflictscore.reporting.figure_text import p_value, percent, points, span
from conflictscore.retrieval.http_searches import SearxngRetriever
from conflictscore.retrieval.recording import RecordedRetriever, record_questions
from measurements.rehearsal_world import Script, ScriptedLabeler, World, pages_of, search_server
from measurements.scripted_model import NotedPrompts, ScriptedModel

FORMS: tuple[Form, ...] = ("multiple-choice", "free-form")
_METHODS = ("rag", "control-rag", "regenerated-rag")


@dataclass(frozen=True)
class Played:
    """The outcome of a rehearsal for one form of questions, with the planted effect."""

    number: int
    form: str
    planted: Mapping[str, float]
    found: Mapping[str, tuple[float | None, float | None, float | None]]
    """Reported values and intervals, by the same names as in ``planted``.

    The numbers of corrections and harms are from the run with the first seed.
    """
    p_value: float | None
    p_holm: float | None
    calls: int
    seconds: float
    bytes: int
    cpu_seconds: float = 0.0

    def holds(self, name: str) -> bool | None:
        """Whether the interval contains the planted value; None if there is no interval."""
        _, low, high = self.found[name]
        return None if low is None or high is None else low <= self.planted[name] <= high


def _sampled(data: Path, count: int, number: int, out: Path) -> Path:
    """Write a random sample of the file's questions to another file."""
    with data.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    random.Random(f"questions {number}").shuffle(rows)  # noqa: S311 - no secret
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows[:count])
    return out


async def _run(
    data: Path,
    form: Form,
    folder: Path,
    world: World,
    number: int,
    model: str | None,
    *,
    transcripts: bool,
) -> tuple[list[ReportRun], int]:
    """Run the seeds of a study; return the runs and the number of calls of the scripted models."""
    folders = [folder / f"seed-{seed}" for seed in range(world.seeds)]
    runs, calls = [], 0
    for seed, where in enumerate(folders):
        benchmark = truthfulqa(data, form, seed)
        script = Script(benchmark, world, number, seed)
        prompts = NotedPrompts(PromptSet.open(None, base="paper"))
        chat = ScriptedModel(prompts=prompts, reply=script)
        labeler = ScriptedLabeler(truthfulqa(data, form, 0).questions)
        planted: dict[str, Any] = {"labeler": labeler, "prompts": prompts}
        setup = Setup.open(
            RunSettings(methods=_METHODS, seed=seed, replicate=seed),
            paper_loop(**({"prompts": "paper"} if model else planted)),
            model=model or chat,
            retriever=RecordedRetriever.from_file(data.with_name("pages.jsonl"), k=world.pages),
            cache=model is not None,
        )
        run = await arun_benchmark(
            benchmark,
            where,
            setup,
            limits=Limits(concurrency=1 if model else 8),
            retrieval={"search": "recorded"},
            hashes={},
            selection={},
            study=[other for other in folders if other != where],
            transcripts=transcripts,
        )
        runs.append(ReportRun(where.name, run.manifest.to_json(), run.figures, run.results))
        calls += script.calls
    return runs, calls


def play(
    data: Path,
    form: Form,
    world: World,
    number: int,
    out: Path,
    model: str | None = None,
    *,
    transcripts: bool = True,
) -> tuple[Played, Study, list[ReportRun]]:
    """Record the search, run every seed, and compute the study's figures.

    Args:
        data: TruthfulQA's official file.
        form: The form of the questions.
        world: The settings that determine the planted effect.
        number: The rehearsal's number, which seeds all draws of questions, pages and answers.
        out: The rehearsal's folder. A rehearsal that was started there is resumed.
        model: The spec of a real model that replaces the scripted models.
        transcripts: Whether each model call is stored in the run's folder.
    """
    started = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    questions = _sampled(data, world.questions, number, out / "questions.csv")
    asked = truthfulqa(questions, "free-form", 0).questions
    found = pages_of(asked, world, number, signed=model is None)
    with search_server(found) as server:
        asyncio.run(
            record_questions(
                list(found),
                SearxngRetriever(endpoint=server.endpoint, k=world.pages),
                out / "pages.jsonl",
                search="searxng",
                parameters={"top_k": world.pages, "read_pages": False},
                concurrency=4,
            )
        )
    worked = time.process_time()
    runs, calls = asyncio.run(
        _run(questions, form, out / form, world, number, model, transcripts=transcripts)
    )
    cpu_seconds = time.process_time() - worked
    study = study_of(runs)
    pair = next(p for p in study.pairs if (p.method, p.against) == (_METHODS[2], "rag"))
    moved = next(t for t in runs[0].figures.transitions if t.method == _METHODS[2])
    values: dict[str, Interval | Proportion] = {
        "gain": pair.difference,
        "correction": moved.corrections,
        "harm": moved.harms_of_conflict,
    }
    played = Played(
        number=number,
        form=form,
        planted={} if model else world.planted(form),
        found={name: (value.value, value.low, value.high) for name, value in values.items()},
        p_value=pair.p_value,
        p_holm=pair.p_holm,
        calls=calls,
        seconds=time.perf_counter() - started,
        bytes=sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
        cpu_seconds=cpu_seconds,
    )
    return played, study, runs


def _options(command: Callable[..., None]) -> Callable[..., None]:
    told = dict(re.findall(r"^ {8}(\w+): (.*)$", World.__doc__ or "", re.MULTILINE))
    for name, value in reversed(asdict(World()).items()):
        option = click.option(
            f"--{name}", type=type(value), default=value, show_default=True, help=told[name]
        )
        command = option(command)
    return command


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--rehearsals", default=1, show_default=True, help="Number of rehearsals to run.")
@click.option("--form", type=click.Choice([*FORMS, "both"]), default="both", show_default=True)
@click.option("--model", help="A real model in place of the scripted models.")
@click.option("--keep", is_flag=True, help="Do not delete the folders of the runs.")
@click.option(
    "--transcripts/--no-transcripts",
    default=True,
    show_default=True,
    help="Whether to store the prompt and reply of each call in the runs' folders.",
)
@_options
def main(
    data: Path,
    out: Path,
    rehearsals: int,
    form: str,
    model: str | None,
    keep: bool,
    transcripts: bool,
    **planted: Any,
) -> None:
    """See the module."""
    world, out = World(**planted), out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "rehearsals.jsonl"
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    known = [Played(**json.loads(line)) for line in lines]
    for number in range(rehearsals):
        for one in FORMS if form == "both" else FORMS[FORMS.index(form) :][:1]:
            if any((p.number, p.form) == (number, one) for p in known):
                continue
            folder = out / f"{number}-{one}"
            played, _, _ = play(data, one, world, number, folder, model, transcripts=transcripts)
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(played)) + "\n")
            known.append(played)
            _tell(played)
            if model is None and not keep:
                shutil.rmtree(folder)
    _sum_up(known)


def _tell(played: Played) -> None:
    value, low, high = map(points, played.found["gain"])
    click.echo(
        f"{played.number} {played.form}: planted {points(played.planted.get('gain'))}, found"
        f" {value} ({span(low, high)}), p {p_value(played.p_value)}, Holm {p_value(played.p_holm)};"
        f" {played.calls:,} calls, {played.seconds:.0f} s, {played.bytes / 1e6:.1f} MB,"
        f" {played.cpu_seconds:.1f} s of processor time in the runs"
    )


def _sum_up(known: Sequence[Played]) -> None:
    """Print how often intervals contain the planted value, and how often a difference is found."""
    for form in dict.fromkeys(played.form for played in known):
        of = [played for played in known if played.form == form and played.planted]
        for name in of[0].found if of else ():
            held = [held for played in of if (held := played.holds(name)) is not None]
            values = [v for played in of if (v := played.found[name][0]) is not None]
            share = proportion(sum(held), len(held))
            bounds = span(percent(share.low), percent(share.high))
            click.echo(
                f"{form}, {name}: planted {percent(of[0].planted[name])} %, found on average"
                f" {percent(sum(values) / len(values) if values else None)} %; the interval"
                f" contains it in {share.count} of {share.n} ({bounds} %)"
            )
        if of:
            found = sum(p.p_holm is not None and p.p_holm < 0.05 for p in of)
            click.echo(f"{form}: a difference is found in {found} of {len(of)}")


if __name__ == "__main__":
    main()
