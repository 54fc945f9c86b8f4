"""Mails are read as a mail program shows them."""

import pytest

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import NoteKind

HEAD = b"From: Poe <poe@b.example>\r\nSubject: The light\r\nMIME-Version: 1.0\r\n"


def mail(body: str, kind: str = "text/html", rest: bytes = b"") -> bytes:
    return b"".join((HEAD, typed(body, kind), rest))


def typed(body: str, kind: str, *headers: str) -> bytes:
    lines = (f"Content-Type: {kind}; charset=utf-8", "Content-Transfer-Encoding: 8bit", *headers)
    return "\r\n".join((*lines, "", body)).encode()


def group(kind: str, *parts: bytes, boundary: str = "x") -> bytes:
    start = f"\r\n--{boundary}\r\n".encode()
    head = f"Content-Type: multipart/{kind}; boundary={boundary}\r\n".encode()
    return start.join((head, *parts)) + f"\r\n--{boundary}--\r\n".encode()


def read(data: bytes) -> tuple[str, str, list[NoteKind]]:
    (document,), notes = read_file(data, ".eml", "log.eml")
    return document.text, document.title, [note.kind for note in notes]


def test_the_head_is_decoded_and_precedes_the_text() -> None:
    head = (
        b"Received: by b.example\nTO: Vik <v@b.example>,\n Ann\n"
        b"Subject: =?utf-8?b?QnI=?= =?iso-8859-1?q?=FCcke?= ok\nDate: Fri, 9 May 1932 10:00:00 +0200\n"
        b"From: =?utf-8?q?J=C3=B6rn?= <j@b.example>\n\n\xfc"
    )
    text, title, _ = read(head)
    assert title == "Brücke ok"
    assert text.split("\n") == [
        "Subject: Brücke ok",
        "From: Jörn <j@b.example>",
        "To: Vik <v@b.example>, Ann",
        "Date: Fri, 9 May 1932 10:00:00 +0200",
        "",
        "ü",
    ]
    assert read(b"Subject: \xfcber =?utf-8?b?Q?=\n\nlit")[1] == "über =?utf-8?b?Q?="


def test_of_two_forms_of_a_text_the_one_with_a_layout_is_shown() -> None:
    both = group("alternative", typed("plain", "text/plain"), typed("<p>Lit", "text/html"))
    assert read(HEAD + both)[0].endswith("The light\nFrom: Poe <poe@b.example>\n\nLit")
    plain = group("alternative", typed("Lit", "text/plain"), typed("BEGIN:X", "text/calendar"))
    assert read(HEAD + plain)[0].endswith("\n\nLit")


def test_attachments_are_named_but_not_read_and_pictures_are_marked_in_place() -> None:
    picture = typed(
        "x", "image/png; name=mast.png", "Content-ID: <a@b>", "Content-Disposition: inline"
    )
    body = group(
        "related", typed("<p>See <img src='cid:a@b' alt=mast>", "text/html"), picture, boundary="y"
    )
    files = [
        typed("1950", "text/plain", "Content-Disposition: attachment; filename*=utf-8''Pl%C3%A4ne.txt"),
        typed("x", "image/png", "Content-Disposition: inline; filename=tower.png"),
        typed("x", "application/pdf; name==?utf-8?q?Br=C3=BCcke=2Epdf?="),
        typed("x", "application/pgp-signature; name=signature.asc"),
    ]  # fmt: skip
    text, _, kinds = read(HEAD + group("mixed", body, *files, typed("After.", "text/plain")))
    assert text.split("\n\n", 1)[1] == (
        "See [image: mast]\n\n[image: tower.png]\n\nAfter.\n\n[attachment: Pläne.txt]\n[attachment: Brücke.pdf]"
    )
    assert kinds == [NoteKind.NOT_IN_WORDS, NoteKind.NOT_IN_WORDS]
    _, notes = read_file(HEAD + group("mixed", *files), ".eml", "log.eml")
    assert "log.eml: attachments are not read: Pläne.txt, Brücke.pdf" in notes


def test_a_forwarded_mail_appears_in_its_place_unless_it_is_attached() -> None:
    forwarded = b"Content-Type: message/rfc822\r\n\r\n" + mail("Lit", "text/plain")
    text = read(HEAD + group("mixed", typed("See:", "text/plain"), forwarded))[0]
    assert text.endswith("See:\n\nSubject: The light\nFrom: Poe <poe@b.example>\n\nLit")
    attached = b"Content-Disposition: attachment\r\n" + forwarded
    text = read(HEAD + group("mixed", typed("See:", "text/plain"), attached))[0]
    assert text.endswith("See:\n\n[attachment: The light]")


def test_lines_that_the_sender_s_program_broke_are_joined() -> None:
    flowed = "The lamp was \nlit in 1932.\n > kept\n> quoted \n> too\n>> deeper\n-- \nPoe"
    text = read(mail(flowed, "text/plain; format=flowed"))[0]
    assert text.endswith("\n\nThe lamp was lit in 1932.\n> kept\n> quoted too\n>> deeper\n-- \nPoe")
    text = read(mail("点 \n灯", "text/plain; format=flowed; delsp=yes"))[0]
    assert text.endswith("\n\n点灯")
    assert read(mail("a \nb", "text/plain"))[0].endswith("a \nb")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"lit in 1932", "is not an email"),
        (HEAD + group("encrypted", typed("x", "application/pgp-encrypted")), "is encrypted"),
        (HEAD + b"Content-Type: application/pkcs7-mime\r\n\r\nMII", "is encrypted"),
        (HEAD + b"".join(b"Content-Type: message/rfc822\n\nSubject: a\n" for _ in range(40)), "more than 20 deep"),
        (HEAD + b"".join(b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (n, n) for n in range(300)), "more than 20 deep"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_a_mail_or_cannot_be_opened_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read_file(data, ".eml", "log.eml")
