"""The parts that all benchmarks share: methods, stored runs, budgets, grading, figures, reports."""
