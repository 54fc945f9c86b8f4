"""Output for people and programs: terminal output, progress displays, tables, and a log of runs."""
