"""Charts of runs, on the page and as SVG and PNG files."""
