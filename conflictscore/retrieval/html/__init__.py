"""Reads the visible text of web pages; its libraries are loaded only when needed."""
