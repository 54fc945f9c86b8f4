"""The retrieval room."""
