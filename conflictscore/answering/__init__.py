"""Asks models for answers and claims, reads their replies, and formats evidence as text."""
