"""Requests to models for answers and claims, readers for the replies, and evidence as text."""
