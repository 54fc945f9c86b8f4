"""What kind a measure is."""

from conflictscore.benchmarks.harness.figures import Figures, Interval

__all__ = ["is_graded"]


def is_graded(figures: Figures, measure: str) -> bool:
    """Whether a measure's values are numbers in [0, 1] rather than yes or no.

    Args:
        figures: The figures of a run.
        measure: One of its measures; of one that no method was judged by, nothing is known, and
            it counts as not graded.
    """
    return any(isinstance(m.measures.get(measure), Interval) for m in figures.methods)
