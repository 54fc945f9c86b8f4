"""Builds pages without charts, which have their own tests and take most of a page's time."""

import pytest

from conflictscore.benchmarks.harness.report.page import render


@pytest.fixture
def no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build pages like an installation without Matplotlib."""
    monkeypatch.setattr(render, "can_draw", lambda: False)
