"""Correction of a disputed passage: a query to each document, a vote, and a rewritten passage."""
