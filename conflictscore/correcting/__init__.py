"""Corrects a disputed passage: asks the documents, lets them vote, and rewrites the passage."""
