"""Puts the contents of a page into plain text; shared by the readers of all formats."""
