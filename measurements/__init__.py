"""Measurements for developers of conflictscore: speed, cost and accuracy.

None of this is part of the installed package: each is a command to run in a clone, ``python -m
measurements.NAME --help``, and its figures are in ``docs/findings/``.
"""
