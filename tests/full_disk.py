"""A disk without room, as far as this process can tell: the system refuses every byte more."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_room(beyond: int = 0) -> Iterator[None]:
    """No file of this process can grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (beyond, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
