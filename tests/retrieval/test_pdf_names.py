"""The names in a PDF are also found where programs write them in an unusual form."""

import zlib

import pytest

from conflictscore.retrieval.reading.pdf_names import Names

FIELD = b"5 0 << /Type /Annot /Subtype /Widget /FT /Tx >> "
LAYERS = b"5 0 << /Type /Catalog /OCProperties 6 0 R >> "
NOTHING = b"5 0 << /Type /Annot /Subtype /Link >> "


def listed(objects: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """A file with a compressed list of objects, and parameters before and after the list's type."""
    packed = zlib.compress(objects)
    about = b"<< %s /Type /ObjStm %s /Filter /FlateDecode >>" % (before, after)
    return b"%%PDF-1.5\n1 0 obj\n%s\nstream\n%s\nendstream" % (about, packed)


def differences(objects: bytes) -> bytes:
    """The rows of four bytes as a PNG predictor stores them: as differences to the row before."""
    rows = [objects[start : start + 4].ljust(4) for start in range(0, len(objects), 4)]
    pairs = zip(rows, [bytes(4), *rows], strict=False)
    return b"".join(
        b"\2" + bytes((new - old) & 255 for new, old in zip(row, above, strict=True))
        for row, above in pairs
    )


@pytest.mark.parametrize(
    ("data", "layers", "fields"),
    [
        (listed(NOTHING), False, False),
        (listed(FIELD), False, True),
        (listed(LAYERS), True, False),
        (b"%PDF << /Subtype /Link >>", False, False),
        (b"%PDF << /Subtype /W#69dget >>", False, True),
        (b"%PDF << /Subtype /#46ree#54ext >>", False, True),
        (b"%PDF << /#4FCPropertie#73 6 0 R >>", True, False),
        (b"%PDF << /#4fCProperties 6 0 R >>", True, False),
        (b"%PDF << /Subtype /wIDGET >>", False, False),
        (listed(LAYERS).replace(b"ObjStm", b"Obj#53tm"), True, False),
    ],
    ids=range(10),
)
def test_names_are_found_however_they_are_written(data: bytes, layers: bool, fields: bool) -> None:
    names = Names(data)
    assert (names.layers, names.fields) == (layers, fields)


@pytest.mark.parametrize("name", [b"DecodeParms", b"Decode#50arms"])
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_list_of_differences_may_contain_fields(place: str, name: bytes) -> None:
    predictor = b"/" + name + b" << /Predictor 12 /Columns 4 >>"
    assert Names(listed(differences(FIELD), **{place: predictor})).fields


def test_an_encrypted_file_may_contain_fields() -> None:
    for name in (b"/Encrypt", b"/#45ncrypt"):
        assert Names(listed(NOTHING) + b"trailer << " + name + b" 5 0 R >>").fields
    assert not Names(listed(NOTHING) + b"trailer << >>").fields


def test_parameters_of_another_object_leave_no_doubt() -> None:
    other = b"9 0 obj << /DecodeParms << /Predictor 12 >> >> endobj\n"
    assert not Names(other + listed(NOTHING)).fields
