"""Fetches the pages behind search results safely.

Loads its libraries (extra ``fetch``) on demand.
"""
