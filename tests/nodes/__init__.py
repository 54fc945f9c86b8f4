"""The nodes room."""
