"""What is kept on this machine: replies and verdicts by content, and model files, verified."""
