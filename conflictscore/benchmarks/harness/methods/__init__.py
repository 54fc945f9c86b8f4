"""Methods of benchmark runs: one object each, and one line in the registry."""
