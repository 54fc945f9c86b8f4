"""Fetches the pages behind search results safely.

The libraries for fetching (extra ``fetch``) are loaded on demand.
"""
