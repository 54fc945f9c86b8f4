"""What people and programs look at: the JSON of a run, its log line, the terminal."""
