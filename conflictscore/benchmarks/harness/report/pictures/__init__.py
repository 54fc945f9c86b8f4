"""Draws charts of runs, for the page and as SVG and PNG files."""
