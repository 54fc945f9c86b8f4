"""What kind a measure is."""

from conflictscore.benchmarks.harness.figures import Figures, Interval

__all__ = ["change_titles", "change_words", "falls", "is_graded"]


def is_graded(figures: Figures, measure: str) -> bool:
    """Whether a measure's values are numbers in [0, 1] rather than yes or no.

    Args:
        figures: The figures of a run.
        measure: One of its measures; of one that no method was judged by, nothing is known, and
            it counts as not graded.
    """
    return any(isinstance(m.measures.get(measure), Interval) for m in figures.methods)


def falls(figures: Figures, measure: str) -> bool:
    """Whether less is better by this measure."""
    return measure in figures.falling


def change_words(figures: Figures, measure: str) -> tuple[str, str]:
    """What a change for the better and one for the worse are called, by this measure."""
    if falls(figures, measure):
        return "lower", "higher"
    return ("higher", "lower") if is_graded(figures, measure) else ("corrected", "harmed")


def change_titles(figures: Figures) -> tuple[str, str]:
    """The same for the two columns that all measures of a run share."""
    kinds = {change_words(figures, measure) for measure in figures.measures}
    if len(kinds) == 1:
        better, worse = kinds.pop()
        return better.capitalize(), worse.capitalize()
    if figures.falling:
        return "Better", "Worse"
    return "Corrected, or higher", "Harmed, or lower"
