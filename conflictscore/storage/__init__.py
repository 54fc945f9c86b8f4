"""Data kept on this machine: cached replies and verdicts, run records, and model files."""
