"""Reads files and pages from others, in processes with limited time and memory."""
