"""Draws charts of runs: differences, the flow of answers, scores, and gain against cost.

Sizes are in inches. The sizes were chosen by hand, so that all labels fit.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from conflictscore.benchmarks.harness.figures import Proportion
from conflictscore.benchmarks.harness.methods.registry import BASELINE, METHODS
from conflictscore.benchmarks.harness.records import scored_methods
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.pictures.flows import end_of, flows
from conflictscore.benchmarks.harness.report.pictures.forest import (
    color_of,
    differences,
    in_points,
    levels,
)
from conflictscore.benchmarks.harness.report.pictures.picture import (
    NEUTRAL,
    Margins,
    Picture,
    label,
    lay_out,
    plot_share,
)
from conflictscore.benchmarks.harness.report.study import Study, study_groups, study_of
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.errors import InputError
from conflictscore.reporting.figure_text import counted, in_brackets, percent
from conflictscore.storage.private_files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS: Final = 10
"""The number of bins of CS-C and CS-R, which have equal widths."""


def pictures(runs: Sequence[ReportRun], studies: Sequence[Study] | None = None) -> list[Picture]:
    """Return every chart for which the runs have figures.

    Logged runs have no figures, since they are not judged. ``studies`` are the studies of these
    runs, if the caller has already computed them; computing them takes seconds.
    """
    judged_runs = [run for run in runs if run.figures.measures]
    studies = (
        [study_of(group) for group in study_groups(judged_runs)] if studies is None else studies
    )
    charts = [differences(judged_runs, studies)]
    charts += [levels(study, f"study-{number}") for number, study in enumerate(studies, 1)]
    for number, run in enumerate(judged_runs, 1):
        stem = f"{number}-{_file_name(run.name)}"
        charts += [*flows(run, stem), _scores(run, stem), _by_score(run, stem), _gain(run, stem)]
    return [chart for chart in charts if chart is not None]


def _scores(run: ReportRun, stem: str) -> Picture | None:
    """Plot the CS-C and CS-R of every method whose answers were all scored."""
    scores_by_method = {
        name: scores
        for name in scored_methods(
            run.results,
            dict.fromkeys(name for result in run.results for name in result.methods),
        )
        if (scores := _scored(run, name))
    }
    if not scores_by_method:
        return None

    def draw(figure: "Figure") -> None:
        lay_out(figure, 7.5, 2.6)
        panels = figure.subplots(1, 2, sharey=True)
        for place, (axes, title) in enumerate(zip(panels, ("CS-C", "CS-R"), strict=True)):
            for number, (method, scores) in enumerate(scores_by_method.items()):
                shares = _shares([pair[place] for pair in scores])
                edges = [bin_ / _BINS for bin_ in range(_BINS + 1)]
                axes.stairs(
                    [100 * share for share in shares],
                    edges,
                    label=f"{method} ({len(scores):,})",
                    color=f"C{number}",
                    # lines differ in black and white too
                    linestyle=("-", "--", ":", "-.")[number % 4],
                    linewidth=1.6,
                )
            axes.set_xlabel(title)
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.5, 1])
            axes.set_ylim(0, 105)  # room above a bar of 100 %
        panels[0].set_ylabel("% of answers")
        panels[1].legend(frameon=False, fontsize=8)

    means = "; ".join(
        f"{method}: mean CS-C {fmean(pair[0] for pair in scores):.2f}, mean CS-R"
        f" {fmean(pair[1] for pair in scores):.2f}, CS-C of 0 in"
        f" {percent(sum(pair[0] == 0 for pair in scores) / len(scores))} % of"
        f" {counted(len(scores), 'answer')}"
        for method, scores in scores_by_method.items()
    )
    return Picture(f"{stem}-scores", f"CS-C and CS-R: {label(run.name)}", means, draw)


def _scored(run: ReportRun, method: str) -> list[tuple[float, float]]:
    """Return the CS-C and CS-R of each answer of the method that has both."""
    reports = [
        answer.report
        for question_result in run.results
        if (answer := question_result.methods.get(method)) is not None and answer.report is not None
    ]
    return [
        (report.cs_c, report.cs_r)
        for report in reports
        if report.cs_c is not None and report.cs_r is not None
    ]


def _shares(scores: Sequence[float]) -> list[float]:
    """Return the shares of values in bins of equal width over [0, 1]; 1 falls into the last bin."""
    counts = Counter(min(int(score * _BINS), _BINS - 1) for score in scores)
    return [counts[bin_] / len(scores) for bin_ in range(_BINS)]


_BANDS: Final = ("0", "to .25", "to .5", "to .75", "to 1")
"""The names of the bands of CS-R; see :func:`_band`."""


def _by_score(run: ReportRun, stem: str) -> Picture | None:
    """Plot how often first answers are right, by CS-R; hedged answers count as right.

    The plot shows whether the score predicts which answers are right.
    """
    if run.figures.is_graded(run.first_measure):
        return None
    verdicts: dict[int, list[bool]] = {}
    for question_result in run.results:
        answer = question_result.methods.get(BASELINE)
        end = end_of(answer, run)
        if answer is None or answer.report is None or answer.report.cs_r is None or end is None:
            continue
        verdicts.setdefault(_band(answer.report.cs_r), []).append(end != "wrong")
    if not verdicts:
        return None
    shares = {band: proportion(sum(v), len(v)) for band, v in sorted(verdicts.items())}

    def draw(figure: "Figure") -> None:
        lay_out(figure, 5, 2.6, Margins(bottom=0.65))
        axes = figure.add_subplot()
        for band, share in shares.items():
            plot_share(axes, band, share)
        axes.set_xticks(
            list(shares), [f"{_BANDS[band]}\n(n = {share.n:,})" for band, share in shares.items()]
        )
        axes.set_ylim(0, 105)  # the room above 100 keeps a point at 100 from being cut off
        axes.set_xlabel("CS-R of the first answer")
        axes.set_ylabel("% right, 95 % interval")

    words = "; ".join(
        f"CS-R {_BANDS[band]}: {percent(share.value)} % of {share.n:,}{_bounds(share)}"
        for band, share in shares.items()
    )
    title = f"Share of right first answers, by CS-R: {label(run.name)}"
    return Picture(f"{stem}-right-by-score", title, words, draw)


def _band(cs_r: float) -> int:
    """Return the band of a CS-R: 0 for exactly 0, then quarters that include their upper bounds."""
    return sum(cs_r > bound for bound in (0, 0.25, 0.5, 0.75))


def _bounds(share: Proportion) -> str:
    return in_brackets(percent(share.low), percent(share.high))


def _gain(run: ReportRun, stem: str) -> Picture | None:
    """Plot the gain over ``rag`` in points against the number of tokens per question.

    Tokens are counted as if no reply had come from a cache, like the cost per net correction.
    Otherwise, a repeated run would look cheaper than it is.
    """
    lines = [
        (pair.method, tokens, pair.difference)
        for pair in run.figures.paired
        if pair.measure == run.first_measure and pair.against == BASELINE
        if pair.difference.value is not None
        if (tokens := _tokens(run, pair.method)) is not None
    ]
    if not lines:
        return None

    def draw(figure: "Figure") -> None:
        lay_out(figure, 6, 3)
        axes = figure.add_subplot()
        axes.axhline(0, color=NEUTRAL, linewidth=1)
        names: dict[tuple[float, float], list[str]] = {}
        for method, tokens, difference in lines:
            color = color_of(difference, falls=run.falls)
            gain_points = 100 * (difference.value or 0.0)
            if difference.low is not None and difference.high is not None:
                axes.plot([tokens] * 2, [100 * difference.low, 100 * difference.high], color=color)
            axes.plot([tokens], [gain_points], "o", color=color, markersize=6)
            names.setdefault((tokens, gain_points), []).append(method)
        # methods with the same step and the same gain share a point
        for point, methods in names.items():
            text = ", ".join(methods)
            axes.annotate(text, point, (6, 4), textcoords="offset points", fontsize=8)
        # the names need room to the right of the points
        axes.set_xlim(0, 1.6 * max(tokens for _, tokens, _ in lines))
        axes.set_xlabel("input and output tokens per question, in the method's own step")
        axes.set_ylabel("points over rag")

    words = "; ".join(
        f"{method}: {in_points(difference)} for {tokens:,.0f} tokens"
        for method, tokens, difference in lines
    )
    return Picture(f"{stem}-gain-by-cost", f"Gain and cost: {label(run.name)}", words, draw)


def _tokens(run: ReportRun, method: str) -> float | None:
    """Return the mean tokens per question in the method's step; None if they were not counted.

    The step of ``regenerated-rag`` and ``guarded-rag`` includes the first answer and its score. A
    method that starts from this first answer, such as ``resample`` or ``revised-rag``, has a step
    of its own, which includes only what it adds. In the chart, such a method therefore looks
    cheaper than if it ran alone. All methods in the results of a run are registered (see
    ``results.results``), so the lookup cannot fail.
    """
    step = METHODS[method].step or method
    usages = [
        [usage.cold for usage in question_result.usage[step].values()]
        for question_result in run.results
        if step in question_result.usage
    ]
    if any(usage is None for of_question in usages for usage in of_question):
        return None
    totals = [
        sum(usage.input_tokens + usage.output_tokens for usage in of_question if usage)
        for of_question in usages
    ]
    return fmean(totals) if any(totals) else None


def _file_name(name: str) -> str:
    """Return a run's name as a part of a file name, short enough for any file system."""
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60] or "run"


def export_pictures(runs: Sequence[ReportRun], folder: Path) -> int:
    """Write every chart into a folder, as NAME.svg and NAME.png.

    Returns:
        The number of charts written.

    Raises:
        InputError: The runs have no figures to draw, the folder is a file, or the folder or a file
            in it cannot be written.
        ConfigurationError: Matplotlib is not installed.
    """
    charts = pictures(runs)
    if not charts:
        raise InputError("there is nothing to draw, since no answer in these runs was judged")
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; give a folder for the pictures")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be created ({error.strerror}); choose another folder"
        ) from None
    for chart in charts:
        write_whole(folder / f"{chart.name}.svg", chart.image("svg"))
        write_whole(folder / f"{chart.name}.png", chart.image("png"))
    return len(charts)
