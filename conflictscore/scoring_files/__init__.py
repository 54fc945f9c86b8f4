"""Scores files of answers and documents row by row.

A run streams its input and may be stopped at any moment. Each row that ends is appended to a
journal beside the output, so the same command resumes; once all rows ended, the output is written
with the rows of the input in their order, each with its scores.
"""
