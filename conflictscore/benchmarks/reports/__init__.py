"""The report benchmark (paper, section 5): reports from conflicting documents, scored.

``topics.py`` says what a report is about and which documents it is written from, and
``benchmark.py`` makes questions of it that the harness asks, by one of three prompts.
"""
