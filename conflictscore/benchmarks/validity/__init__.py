"""Compares ConflictScore with annotators' judgements of the same answers."""
