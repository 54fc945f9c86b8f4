"""A full disk, as this process sees it: the system refuses every further byte."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_room(beyond: int = 0) -> Iterator[None]:
    """Limit every file of this process to this many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (beyond, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
