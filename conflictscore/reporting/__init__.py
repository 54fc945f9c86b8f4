"""Output for people and programs: the terminal, progress, tables, the log of runs."""
