"""Runs the command line with ``python -m conflictscore``."""

from conflictscore.cli import main

main()
