"""Output for people and programs: at the terminal, as progress, as tables, and as a log of runs."""
