"""Tests of the package ``nodes``."""
