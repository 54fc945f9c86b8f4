"""The error of an output that takes no more."""

from pathlib import Path

from conflictscore.errors import ConfigurationError

__all__ = ["SCORED", "unwritable"]

SCORED = "the rows that were scored so far"
"""What the same command resumes from."""


def unwritable(path: Path, reason: object) -> ConfigurationError:
    """The error of a file that takes no more."""
    return ConfigurationError(
        f"{path}: cannot be written ({reason}); make room there, and run the same command to"
        f" resume from {SCORED}"
    )
