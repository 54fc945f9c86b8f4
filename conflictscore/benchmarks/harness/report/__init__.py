"""Reports of benchmark runs: terminal, HTML page, tables, tasks for reviewers."""
