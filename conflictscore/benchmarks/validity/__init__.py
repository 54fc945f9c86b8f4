"""Compares ConflictScore with people's judgements of the same answers."""
