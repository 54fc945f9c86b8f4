"""What people look at of benchmark runs: a terminal, an HTML page, tables, tasks of reviewers."""
