"""``python -m conflictscore`` is the command line."""

from conflictscore.cli import main

main()
