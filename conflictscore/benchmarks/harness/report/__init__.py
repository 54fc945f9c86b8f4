"""Reports on benchmark runs: terminal output, an HTML page, exported tables, and reviews."""
