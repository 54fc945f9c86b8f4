"""Decompression that stops at a limit: a kilobyte on the wire may stand for a gigabyte."""

import zlib

from conflictscore.retrieval.pages.page import PageError

__all__ = ["ACCEPTED", "Body"]

ACCEPTED = "gzip, deflate"
"""What a request offers to take: what the standard library can take apart step by step."""

_EITHER_HEADER = zlib.MAX_WBITS | 32
"""A gzip or zlib header, whichever is there."""
_DAMAGED = "is compressed in a way that cannot be undone"


class Body:
    """What a server sends, as it arrives, decompressed and no longer than the limit.

    Args:
        encoding: The Content-Encoding header.
        limit: The most bytes that are kept, on the wire and decompressed; at least 1.

    Raises:
        PageError: The encoding is none of those that were offered.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise PageError("is compressed in a way that was not offered")
        self._inflate = None if name in ("", "identity") else zlib.decompressobj(_EITHER_HEADER)
        self._limit = limit
        self._wire = 0
        self._kept = bytearray()

    @property
    def full(self) -> bool:
        """Whether there is more than the limit."""
        return max(self._wire, len(self._kept)) > self._limit

    def add(self, data: bytes) -> None:
        """Takes the next bytes from the wire; call it until the body is full.

        Raises:
            PageError: They cannot be decompressed.
        """
        first, self._wire = not self._wire, self._wire + len(data)
        if self._inflate is None:
            self._kept += data
            return
        room = self._limit + 1 - len(self._kept)
        try:
            self._kept += self._inflate.decompress(data, room)
        except zlib.error:
            if not first:
                raise PageError(_DAMAGED) from None
            self._kept += self._headless(data, room)

    def _headless(self, data: bytes, room: int) -> bytes:
        """Many servers send ``deflate`` without the header that belongs to it."""
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            return self._inflate.decompress(data, room)
        except zlib.error:
            raise PageError(_DAMAGED) from None

    def content(self) -> bytes:
        """The bytes up to the limit.

        Raises:
            PageError: The compressed form breaks off.
        """
        if self._inflate is not None and self._wire and not (self.full or self._inflate.eof):
            raise PageError("breaks off")
        return bytes(self._kept[: self._limit])
