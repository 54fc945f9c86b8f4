"""The state of a run and what bounds it."""
