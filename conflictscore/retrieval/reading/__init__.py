"""Reading files and pages of others, in processes with limits of time and memory."""
