"""The report benchmark (paper, section 5): reports from conflicting documents, scored.

``topics.py`` says what a report is about and which documents it is written from, ``writing.py``
asks for it by one of three prompts, ``run.py`` writes and scores them resumably, and ``figures.py``
makes the table. ``conflictscore bench reports`` runs it.
"""
