"""Stores cached replies and verdicts, run records, and model files."""

STORE = "CONFLICTSCORE_STORE"
"""The environment variable with the URL of the PostgreSQL database for the cache."""
