"""What a benchmark runs, method by method: one object each, and one line in the registry."""
