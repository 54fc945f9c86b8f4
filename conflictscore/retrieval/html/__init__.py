"""Reads the text of web pages as a person sees it; its libraries are loaded when needed."""
