"""The parts shared by all benchmarks: methods, run store, resume, budget, grading, figures."""
