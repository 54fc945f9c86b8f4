"""Finds out cheaply whether a PDF may have layers, form fields, typed notes or unknown glyphs.

The names of these features are searched in the bytes of the file and in its compressed objects.
Most files have none of these features, and their pages need not be examined.

Limits without a stated reason were chosen by hand.
"""

import re
import zlib
from collections.abc import Iterator

from conflictscore.retrieval.reading.pdf_glyph_names import GlyphNames


def _written(name: bytes) -> bytes:
    """Return a regular expression for a PDF name; any of its letters may be escaped (#57)."""
    escaped = (b"(?:%c|#(?i:%02x))" % (letter, letter) for letter in name)
    return b"/" + b"".join(escaped)


_LAYERS = re.compile(_written(b"OCProperties"))
_LAYER_OF_GROUP = re.compile(_written(b"OC") + rb"\s*+(?:\d|<<)")
"""Matches the entry that puts a group of objects into a layer; the group's dictionary is never
compressed."""
_FIELDS = re.compile(_written(b"Widget") + b"|" + _written(b"FreeText"))
_LIST = re.compile(_written(b"ObjStm"))
_ENCRYPTED = re.compile(_written(b"Encrypt"))
_PARAMETERS = re.compile(_written(b"DecodeParms"))
_MOST_BYTES = 8_000_000
"""Maximum number of bytes in decompressed objects that are searched."""
_PACKED, _UNPACKED = 300_000, 1_000_000
"""Maximum number of bytes that are read from a compressed object list, before and after
decompression.
"""
# Quantifiers are bounded, so that matching a hostile text takes linear time.
_OBJECTS = re.compile(_LIST.pattern + rb"\b.{0,300}?\bstream\r?\n", re.DOTALL)
_BEFORE = 300
"""Maximum number of bytes before a list's type that are searched for the list's parameters."""


class Names:
    """The features whose names may occur in a file, given its bytes.

    Attributes:
        layers: Whether the file has layers, visible or not. In doubt, the file is assumed to have
            none, since comparing text with images of its pages may take ten seconds (see
            :class:`Sight`). A hidden layer that is overlooked is read as visible.
        layered_groups: Whether the dictionary of a group of objects may put the group in a layer.
        fields: Whether the file has form fields or typed notes. In doubt, the file is assumed to
            have some, since pdfium then lists the annotations of each page, which takes little
            time.
        glyphs: The meanings of codes by the names of glyphs.
    """

    def __init__(self, data: bytes) -> None:
        self.layers = _LAYERS.search(data) is not None
        self.layered_groups = _LAYER_OF_GROUP.search(data) is not None
        self.fields = _FIELDS.search(data) is not None
        self.glyphs = GlyphNames()
        self.glyphs.add(data)
        complete_lists = 0
        for objects, is_complete in _unpacked(data):
            complete_lists += is_complete
            self.layers = self.layers or _LAYERS.search(objects) is not None
            self.fields = self.fields or _FIELDS.search(objects) is not None
            self.glyphs.add(objects)
        self.glyphs.settle()
        # a list that cannot be read completely may contain anything
        lists = sum(1 for _ in _LIST.finditer(data))
        is_unsure = complete_lists < lists or _ENCRYPTED.search(data) is not None
        self.fields = self.fields or is_unsure


def _unpacked(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield the lists of objects that can be decompressed, and whether each is completely readable.

    With parameters, such as a predictor, the decompressed bytes may be differences between bytes.
    """
    unpacked_bytes = 0
    for match in _OBJECTS.finditer(data):
        packed_objects = memoryview(data)[match.end() : match.end() + _PACKED]
        decompressor = zlib.decompressobj()
        try:
            objects = decompressor.decompress(packed_objects, _UNPACKED)
        except zlib.error:
            continue
        before = data[max(0, match.start() - _BEFORE) : match.start()].rpartition(b"obj")[2]
        yield objects, decompressor.eof and not _PARAMETERS.search(before + match[0])
        unpacked_bytes += len(objects)
        if unpacked_bytes > _MOST_BYTES:
            return
