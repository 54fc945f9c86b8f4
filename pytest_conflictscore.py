"""A pytest plugin: the fixture ``conflict_score`` fails a test whose answer is contradicted.

It is a module of its own so that pytest runs without it import nothing of the package.
"""

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conflictscore import Run

_OPTIONS = {
    "conflict_threshold": "The highest CS-R that passes, 0 to 1: the mean over an answer's claims"
    " of the share of documents that contradict it. Default: 0.",
    "conflict_judge": "The model that decomposes and labels, such as openai:gpt-4.1-mini. Default:"
    " OpenAI's where OPENAI_API_KEY is set, otherwise local.",
}


def _threshold(given: str) -> float:
    try:
        value = float(given)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"{given!r} is not a number from 0 to 1")
    return value


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--conflict-threshold`` and ``--conflict-judge``, which the ini file may set too."""
    group = parser.getgroup("conflictscore", "answers checked against their documents")
    for name, about in _OPTIONS.items():
        kind: Any = _threshold if name == "conflict_threshold" else str
        metavar = "X" if name == "conflict_threshold" else "SPEC"
        group.addoption(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=about)
        parser.addini(name, about)


@pytest.fixture(scope="session")
def conflict_settings() -> dict[str, Any]:
    """Keyword arguments for ``conflictscore.score``; override it in ``conftest.py``."""
    return {}


@pytest.fixture
def conflict_score(
    request: pytest.FixtureRequest, conflict_settings: dict[str, Any]
) -> "Callable[..., Run]":
    """A function that fails the test if the CS-R of an answer is above the threshold.

    ``conflict_score(answer, documents)`` returns the scored run. It also takes ``threshold=`` and
    every keyword of ``conflictscore.score``. The test fails too if the answer could not be scored.
    The scores become properties of the test, which a JUnit report shows.
    """

    def check(
        answer: str, documents: Iterable[Any], *, threshold: float | None = None, **settings: Any
    ) -> "Run":
        __tracebackhide__ = True
        from conflictscore import score
        from conflictscore.reporting.failing_claims import failing_run

        limit = _set(request.config, "conflict_threshold") if threshold is None else threshold
        try:
            limit = _threshold(str(limit or 0))
        except ArgumentTypeError as error:
            raise pytest.UsageError(f"conflict_threshold: {error}") from None
        given = {"judge": _set(request.config, "conflict_judge") or None, "progress": False}
        run = score(answer, documents, **{**given, **conflict_settings, **settings})[0]
        if run.report is not None:
            request.node.user_properties += [("cs_r", run.report.cs_r), ("cs_c", run.report.cs_c)]
        if failing := failing_run(run, limit):
            pytest.fail("\n".join(failing.lines()), pytrace=False)
        if told := _missing(run):
            request.node.warn(pytest.PytestWarning(told))
        return run

    return check


def _missing(run: "Run") -> str | None:
    """What of an answer was not checked. One document alone is no flaw: the test has chosen it."""
    if run.checked != "partly" or run.report is None:
        return None
    if run.report.coverage == 1:
        return run.attempts[-1].unclaimed
    return f"only {run.report.coverage:.0%} of the pairs of claim and document have a label"


def _set(config: pytest.Config, name: str) -> Any:
    given = config.getoption(name)
    return config.getini(name) if given is None else given
