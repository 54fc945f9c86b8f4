"""Ranking by meaning: a small embedding model, run with numpy alone."""
