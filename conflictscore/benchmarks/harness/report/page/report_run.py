"""The input of a report: a benchmark run, or logged runs that are judged only by reviewers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

from conflictscore.benchmarks.harness.definition import ACCURACY
from conflictscore.benchmarks.harness.figures import Cost, Figures
from conflictscore.benchmarks.harness.methods.registry import BASELINE, LOOP
from conflictscore.benchmarks.harness.records import MethodResult, Question, QuestionResult
from conflictscore.benchmarks.harness.report.reviews import Reviews
from conflictscore.benchmarks.harness.statistics import mean_interval
from conflictscore.benchmarks.paper_figures import PaperFigures, paper_figures
from conflictscore.records import Answer, Method, Run, RunStatus, Usage
from conflictscore.reporting.run_log import LoggedRun

LIVE = "live runs"
"""The benchmark's name in the report of logged runs, which belong to no benchmark."""


@dataclass(frozen=True)
class ReportRun:
    """A run, as a report shows it.

    Attributes:
        name: The run's name on the page, such as the name of its folder.
        manifest: The content of ``manifest.json``: ``benchmark``, ``created``, ``configuration``,
            ``hashes``, ``versions``.
        figures: The figures of the run.
        results: The results of the run's questions.
        reviews: The reviewers' verdicts, if a service's runs were reviewed.
    """

    name: str
    manifest: Mapping[str, Any]
    figures: Figures
    results: Sequence[QuestionResult]
    reviews: Reviews = field(default_factory=dict)

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return str(self.manifest.get("benchmark", ""))

    @property
    def begun(self) -> str:
        """When the run was started, to the minute; empty if the manifest does not say."""
        return str(self.manifest.get("created", ""))[:16].replace("T", " ")

    @property
    def first_measure(self) -> str:
        """The measure by which changed answers are judged; empty for logged runs."""
        return self.figures.measures[0] if self.figures.measures else ""

    @property
    def falls(self) -> bool:
        """Whether lower values of the first measure are better."""
        return self.figures.falls(self.first_measure)

    @property
    def categorised(self) -> bool:
        """Whether the questions belong to several categories."""
        return len(self.figures.categories) > 1

    @property
    def form(self) -> str:
        """The form of the questions (see ``Form``); logged runs are free-form."""
        usual = "multiple-choice" if self.first_measure == ACCURACY else "free-form"
        return str((self.manifest.get("configuration") or {}).get("form", usual))

    @property
    def paper(self) -> PaperFigures | None:
        """The figures that a paper reports for the same benchmark and form, or None."""
        model = ((self.manifest.get("configuration") or {}).get("model") or {}).get("name")
        return paper_figures(self.benchmark, self.form, str(model or ""))


def live_run(name: str, logged_runs: Sequence[LoggedRun], reviews: Reviews) -> ReportRun:
    """Combine logged runs into one run of a report.

    The runs were logged by ``ask --log`` or by a service. First answers count as ``rag``, and final
    answers as ``regenerated-rag``. The category of a question is the status of its run.
    """
    question_results = [
        _result(number, logged_run.run) for number, logged_run in enumerate(logged_runs, start=1)
    ]
    return ReportRun(
        name, _live_manifest(logged_runs), _live_figures(logged_runs), question_results, reviews
    )


def _live_manifest(logged_runs: Sequence[LoggedRun]) -> dict[str, Any]:
    """Build a manifest for logged runs, with the settings of the last one."""
    last = logged_runs[-1].about if logged_runs else {}
    about = ("models", "model", "mode", "prompts", "max_rounds", "versions")
    return {
        "benchmark": LIVE,
        "created": str(logged_runs[0].about.get("time", "")) if logged_runs else "",
        "runs": dict(Counter(logged_run.run.status.value for logged_run in logged_runs)),
        "last run": {key: last[key] for key in about if key in last},
    }


def _live_figures(logged_runs: Sequence[LoggedRun]) -> Figures:
    """Compute the counts, coverage and cost of logged runs.

    There are no measures, since the answers are not judged.

    A logged run records only its total usage, not usage by model. So the usage is attributed to the
    last run's generator. The log contains no prices, so there is no cost in money.
    """
    runs = [logged_run.run for logged_run in logged_runs]
    last = logged_runs[-1].about if logged_runs else {}
    names = last.get("models") or {}
    model = str(names.get("generator") or last.get("model") or "all models")
    coverages = [run.report.coverage for run in runs if run.report]
    return Figures(
        questions=len(runs),
        ended=len(runs),
        failed=sum(run.status is RunStatus.FAILED for run in runs),
        measures=(),
        methods=(),
        paired=(),
        transitions=(),
        categories=(),
        coverage=mean_interval([coverage for coverage in coverages if coverage is not None]),
        cost=Cost(
            usage={model: reduce(add, (run.usage for run in runs), Usage())},
            by_step={},
            money=None,
            unknown_prices=(model,),
            seconds=sum(float(logged_run.about.get("seconds") or 0) for logged_run in logged_runs),
        ),
    )


def _result(number: int, run: Run) -> QuestionResult:
    """Convert a logged run into a question's result, which the page of a benchmark run can show.

    A run without a question only scored an existing answer, so only the baseline has a result.
    """
    report, disputed_claim = run.report, None
    if report is not None and report.reconsider is not None:
        disputed_claim = report.evidence(report.reconsider)
    first = _answer(run, run.first_answer or run.answer)
    methods = {BASELINE: MethodResult(answer=first, error=_why_not(run, first), report=report)}
    if run.question is not None:
        standing = _answer(run, run.answer)
        if standing is not None:
            standing = standing.model_copy(update={"justification": run.justification})
        methods[Method.REGENERATED_RAG.value] = MethodResult(
            answer=standing, error=_why_not(run, standing), report=run.answer_report
        )
    return QuestionResult(
        question=Question(
            id=run.run_id or str(number),
            question=run.question or "(an answer was scored; no question was given)",
            options=run.options,
            category=run.status.value,
        ),
        documents=run.documents,
        methods=methods,
        conflict=bool(report.conflicting) if report else None,
        reconsidered=disputed_claim,
        changes={LOOP: run.changes},
        justification=run.justification,
    )


def _answer(run: Run, text: str | None) -> Answer | None:
    option = run.options.index(text) if text in run.options else None
    return None if text is None else Answer(text=text, option=option)


def _why_not(run: Run, answer: Answer | None) -> str | None:
    return None if answer else run.reason or "there is no answer"
