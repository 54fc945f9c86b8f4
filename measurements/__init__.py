"""Measurements for developers of conflictscore: speed, cost and accuracy.

The measurements are not part of the installed package. Run them in a clone of the repository:
``python -m measurements.NAME --help``. The figures are in ``docs/findings/``.
"""
