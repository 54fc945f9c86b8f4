"""Finds out cheaply whether a PDF may have layers, form fields or typed notes.

Their names are searched in the bytes of the file and in its compressed objects. Most files have
none of them, and their pages need not be examined for them.
"""

import re
import zlib
from collections.abc import Iterator

_LAYERS = b"/OCProperties"
_FIELD, _TYPED = b"/Widget", b"/FreeText"
_MOST_BYTES = 8_000_000
"""Maximum number of bytes in decompressed objects that are searched."""
_PACKED, _UNPACKED = 300_000, 1_000_000
"""Maximum number of bytes that are read from a compressed object list, before and after
decompression.
"""
# Quantifiers are bounded, so that matching a hostile text takes linear time.
_OBJECTS = re.compile(rb"/ObjStm\b.{0,300}?\bstream\r?\n", re.DOTALL)


class Names:
    """Tells which names may occur in a file, whose bytes are ``data``.

    Attributes:
        layers: Whether the file has layers, visible or not. In doubt, it has none.
        fields: Whether the file has form fields or typed notes. In doubt, it has some.
    """

    def __init__(self, data: bytes) -> None:
        self.layers = _LAYERS in data
        self.fields = _FIELD in data or _TYPED in data
        complete_lists = 0
        for objects, is_complete in _unpacked(data):
            complete_lists += is_complete
            self.layers = self.layers or _LAYERS in objects
            self.fields = self.fields or _FIELD in objects or _TYPED in objects
            if self.layers and self.fields:
                return
        # A list that cannot be decompressed may contain anything.
        is_unsure = complete_lists < data.count(b"/ObjStm") or b"/Encrypt" in data
        self.fields = self.fields or is_unsure


def _unpacked(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield the lists of objects that can be decompressed, and whether each is complete."""
    unpacked_bytes = 0
    for match in _OBJECTS.finditer(data):
        packed_objects = memoryview(data)[match.end() : match.end() + _PACKED]
        decompressor = zlib.decompressobj()
        try:
            objects = decompressor.decompress(packed_objects, _UNPACKED)
        except zlib.error:
            continue
        yield objects, decompressor.eof
        unpacked_bytes += len(objects)
        if unpacked_bytes > _MOST_BYTES:
            return
