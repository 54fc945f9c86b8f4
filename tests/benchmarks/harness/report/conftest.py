"""Pages without charts: those have tests of their own, and take most of the time of a page."""

import pytest

from conflictscore.benchmarks.harness.report.page import render


@pytest.fixture
def no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages as an installation without Matplotlib does."""
    monkeypatch.setattr(render, "can_draw", lambda: False)
