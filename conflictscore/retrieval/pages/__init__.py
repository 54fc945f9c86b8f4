"""Fetches the pages behind search results safely.

Its libraries (extra ``fetch``) are loaded on demand.
"""
