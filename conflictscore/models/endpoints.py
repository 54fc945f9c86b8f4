"""What models answer at, where it is no address."""

__all__ = ["LOCAL_ENDPOINT"]

LOCAL_ENDPOINT = "local"
"""The endpoint of every model on this machine: the address of its server changes each time."""
