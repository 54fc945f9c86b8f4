"""Correct a disputed passage: the documents are asked, they vote, and the passage is rewritten."""
