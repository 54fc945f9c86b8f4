"""Scores files of answers and documents row by row.

A run streams its input and may be stopped at any moment. Each finished row is appended to a journal
in the output's folder, so the same command resumes the run. Once all rows have finished, the output
is written: the rows of the input in their order, each with its scores.
"""
