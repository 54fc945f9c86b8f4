"""Reads an email (.eml) as an email program shows it: headers, body, and names of attachments.

The headers are decoded with the older of the standard library's two email policies. The newer
policy raises exceptions on damaged emails that email programs would still display.

Limits without a stated reason were chosen by hand.
"""

import re
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from typing import Any, TypeAlias

from conflictscore.retrieval.html.whole import whole_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.texts import (
    Note,
    NoteKind,
    RichText,
    damage_note,
    pictures_note,
)
from conflictscore.retrieval.shaping.decoding import decode

_SHOWN_HEADERS = ("Subject", "From", "To", "Cc", "Date")
# Text formats that are not meant for readers, or that repeat the message in a different format.
_NOT_AS_TEXT = frozenset(
    ("calendar", "directory", "enriched", "richtext", "rtf", "vcard", "x-vcard", "x-amp-html")
)
_SIGNATURES = frozenset(("pgp-signature", "pkcs7-signature", "x-pkcs7-signature"))
# Types of encrypted messages, and of signed messages whose text is enclosed in the signature.
_SEALED = frozenset(
    ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"),
)
# The address of a picture inside the email.
_CONTENT_ID = re.compile(r"""\bcid:([^\s"'<>()]{1,200})""", re.IGNORECASE)
# The marks of quoted lines: ">", ">>".
_QUOTES = re.compile(r">*")
_DEEPEST = 20
"""Maximum depth of nested messages and groups of parts. Emails in long threads are nested less
deeply.
"""
_NAMES_NOTED = 10  # Maximum number of attachments named in a note.
_LONGEST_NAME = 120  # Maximum number of characters of an attachment's name.
_LONGEST_HEADER = 10_000
"""Maximum number of characters in a header. The time that the standard library needs to decode a
header is quadratic in its length.
"""

_Part: TypeAlias = "Message[str, Any]"


def read_message(data: bytes) -> RichText:
    """Return the headers and body of an email, with its subject as title.

    If the body is included both as plain text and as formatted text, the formatted text is read. A
    forwarded message appears at its place with its own headers, and pictures are replaced with
    placeholders. Attachments are named at the end but not read.

    Raises:
        UnreadableError: The file is not an email, or the whole email is encrypted. A single
            encrypted part counts as an attachment.
    """
    message = message_from_bytes(data)
    if not any(message.get(name) is not None for name in (*_SHOWN_HEADERS, "MIME-Version")):
        raise UnreadableError(
            "is not an email: it has none of the headers From, To, Date and Subject"
        )
    walk = _Walk()
    walk.message(message, 0)
    return RichText("\n\n".join(walk.pieces()), _header(message, "Subject"), walk.notes())


class _Walk:
    """Reads one email and collects its pieces, with notes on its content."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._attached: list[tuple[str, str]] = []
        self._shown_ids: set[str] = set()
        self._pictures = self._damaged = 0

    def pieces(self) -> list[str]:
        """Return the texts in order, and a line for each attachment."""
        marks = [f"[attachment: {name}]" for name in self._attachments()]
        return [*filter(str.strip, self._pieces), *(["\n".join(marks)] if marks else [])]

    def notes(self) -> tuple[Note, ...]:
        """Return notes on pictures, attachments and damage."""
        notes = [pictures_note(self._pictures)] if self._pictures else []
        if names := self._attachments():
            more = f" and {len(names) - _NAMES_NOTED} more" * (len(names) > _NAMES_NOTED)
            sentence = f"attachments are not read: {', '.join(names[:_NAMES_NOTED])}{more}"
            notes.append(Note(NoteKind.NOT_IN_WORDS, sentence))
        if self._damaged:
            notes.append(damage_note(self._damaged))
        return tuple(notes)

    def message(self, message: _Part, depth: int) -> None:
        """Add a message's headers and body."""
        lines = ((name, _header(message, name)) for name in _SHOWN_HEADERS)
        self._pieces.append("\n".join(f"{name}: {value}" for name, value in lines if value))
        self._part(message, depth)

    def _attachments(self) -> list[str]:
        """Return the names of attachments, except for pictures that the text shows."""
        return [name for name, content_id in self._attached if content_id not in self._shown_ids]

    def _part(self, part: _Part, depth: int) -> None:
        """Add a part of a message, including all nested parts."""
        kind = part.get_content_type()
        if kind in _SEALED and not depth:
            raise UnreadableError("is encrypted, or enclosed in a signature")
        if depth > _DEEPEST:
            raise UnreadableError(f"contains messages or parts nested more than {_DEEPEST} deep")
        is_attached = part.get_content_disposition() == "attachment" or kind in _SEALED
        if kind == "message/rfc822" and part.is_multipart() and not is_attached:
            self.message(_parts(part)[0], depth + 1)
        elif part.is_multipart() and kind not in ("message/rfc822", *_SEALED):
            self._group(part, depth)
        elif part.get_content_subtype() not in _SIGNATURES and (
            is_attached or not self._shown(part)
        ):
            self._attached.append((_name(part), _header(part, "Content-ID").strip("<>")))

    def _group(self, group: _Part, depth: int) -> None:
        """Add the displayed parts of a group; of several versions, only the first with text."""
        are_versions = group.get_content_subtype() == "alternative"
        for each in _shown_parts(group):
            count = len(self._pieces)
            self._part(each, depth + 1)
            if are_versions and any(map(str.strip, self._pieces[count:])):
                return

    def _shown(self, part: _Part) -> bool:
        """Add a part if it is displayed in the message, and return whether it is."""
        kind, subtype = part.get_content_maintype(), part.get_content_subtype()
        if kind == "image" and part.get_content_disposition() == "inline":
            if part.get("Content-ID") is not None:
                # displayed where the text refers to it; otherwise, it counts as an attachment
                return False
            self._pieces.append(f"[image: {_name(part)}]")
            self._pictures += 1
            return True
        if kind != "text" or subtype in _NOT_AS_TEXT:
            return False
        payload = part.get_payload(decode=True)
        body = payload if isinstance(payload, bytes) else b""
        try:
            text = decode(body, part.get_content_charset(), html=subtype == "html").text
        except UnreadableError:
            return False
        # a replacement character that the sender wrote is not damage
        self._damaged += max(0, text.count("\ufffd") - body.count(b"\xef\xbf\xbd"))
        if subtype == "html":
            self._shown_ids.update(_CONTENT_ID.findall(text))
            whole = whole_text(text)
            self._pictures += whole.pictures
            self._pieces.append(whole.text)
        else:
            self._pieces.append(_plain(part, text))
        return True


def _parts(part: _Part) -> list[_Part]:
    payload = part.get_payload()
    return [each for each in payload if isinstance(each, Message)] if payload else []


def _shown_parts(group: _Part) -> list[_Part]:
    """Return the parts of a group that are displayed.

    If the parts are versions of the same text, the best comes first. Versions other than the best
    are used only if the best is empty.
    """
    parts = _parts(group)
    if group.get_content_subtype() != "alternative":
        return parts
    # a group of parts, such as a page with its pictures, is a formatted version too
    laid_out = [
        each
        for each in parts
        if each.get_content_type() == "text/html" or each.get_content_maintype() == "multipart"
    ]
    plain = [each for each in parts if each.get_content_type() == "text/plain"]
    # programs write the versions from plain to rich, so the last one of a kind is the best
    return [*reversed(laid_out), *reversed(plain)] or parts[-1:]


def _header(message: _Part, name: str) -> str:
    """Return a header as it is displayed, on one line; empty if it is missing."""
    lines = [value for key, value in message.raw_items() if key.lower() == name.lower()]
    return _decoded(str(lines[0])) if lines else ""


def _decoded(value: str) -> str:
    """Return the text of a header or name, whose parts may be in different encodings."""
    if len(value) > _LONGEST_HEADER:
        value = f"{value[:_LONGEST_HEADER]} …"
    try:
        parts = decode_header(value)
    except (HeaderParseError, ValueError):  # a damaged header stays as it is
        parts = [(value, None)]
    text = "".join(_decoded_part(*part) for part in parts)
    return " ".join(text.split())


def _decoded_part(part: bytes | str, charset: str | None) -> str:
    if isinstance(part, str):
        part = part.encode("utf-8", "surrogateescape")
    try:
        # an undeclared encoding is taken for windows-1252 unless the bytes are valid UTF-8
        return decode(part, charset or "windows-1252").text
    except UnreadableError:
        return part.decode("utf-8", "replace")


def _name(part: _Part) -> str:
    """Return an attachment's name, or its type if it has no name."""
    name = _decoded(part.get_filename() or "")[:_LONGEST_NAME]
    if not name and part.get_content_type() == "message/rfc822" and part.is_multipart():
        name = _header(_parts(part)[0], "Subject")[:_LONGEST_NAME]
    return name or part.get_content_type()


def _plain(part: _Part, text: str) -> str:
    """Return plain text, rejoining the lines that the sender's program broke (RFC 3676)."""
    lines = text.replace("\r\n", "\n").split("\n")
    if str(part.get_param("format") or "").lower() != "flowed":
        return "\n".join(lines)
    joined_by_space = str(part.get_param("delsp") or "").lower() != "yes"
    shown: list[list[str]] = []
    goes_on_at = -1
    for line in lines:
        quotes = _QUOTES.match(line)
        depth = quotes.end() if quotes else 0
        words = line[depth:].removeprefix(" ")
        # the line above a signature ends with a space, but is not joined to the signature
        is_signature = words == "-- "
        if depth == goes_on_at and not is_signature:
            shown[-1].append(words)
        else:
            shown.append([f"{'>' * depth} {words}" if depth else words])
        flows = words.endswith(" ") and not is_signature
        goes_on_at = depth if flows else -1
        if flows and not joined_by_space:
            shown[-1][-1] = shown[-1][-1][:-1]
    return "\n".join("".join(pieces) for pieces in shown)
