"""Writes contents such as tables and formulas as plain text; used by the readers of all formats."""
