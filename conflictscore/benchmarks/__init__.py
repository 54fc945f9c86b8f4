"""Measurements that can be run again: each module is a command with ``--help``."""
