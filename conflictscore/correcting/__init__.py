"""Corrects a disputed passage: asks each document, counts the votes, and rewrites the passage."""
