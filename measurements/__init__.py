"""Measurements that only a developer of conflictscore runs: speed, cost and accuracy.

None of this is part of the installed package: each is a command of a clone, ``python -m
measurements.NAME --help``, and the figures stand in ``docs/findings/``.
"""
