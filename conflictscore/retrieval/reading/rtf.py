"""Reads the text of a Rich Text file (.rtf) as it is shown.

This module interprets the control words itself. The library striprtf keeps hidden and struck-out
text, drops footnotes, and reads "5 μg" as "5 mg".
"""

import codecs
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from xml.etree.ElementTree import SubElement

from conflictscore.retrieval.reading.rtf_words import (
    CHARSETS,
    DESTINATIONS,
    ESCAPED,
    MOST_GROUPS,
    PARTS,
    SIGNS,
    SKIPPED,
    STARRED,
    SWITCHES,
    TOKEN,
    RtfColors,
    RtfField,
    RtfPart,
    RtfRows,
    RtfState,
)
from conflictscore.retrieval.reading.texts import RichText, left_out_notes, mark
from conflictscore.retrieval.reading.word_fields import drawn_text
from conflictscore.retrieval.reading.word_formulas import formula
from conflictscore.retrieval.shaping.formulas import raised
from conflictscore.retrieval.shaping.symbol_fonts import with_signs


def read_rtf(data: bytes) -> RichText:
    """Return the text of an .rtf file.

    Hidden, struck-out and deleted text is left out; superscripts and subscripts are marked (10^6,
    H_2O), and footnotes follow the body. Headers and footers appear once.

    Raises:
        ValueError: The file is not an .rtf file, or its groups are nested too deeply.
    """
    if not data.lstrip()[:6].startswith(b"{\\rtf"):
        raise ValueError("it does not begin with {\\rtf")
    return _Walk(data).read()


class _Walk:
    """Reads one document and collects the notes on it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._state = RtfState()
        self._stack: list[RtfState] = []
        self._parts = {name: RtfPart() for name in ("body", "notes", "margins", "title")}
        self._not_in_words: Counter[str] = Counter()
        self._fonts: dict[int, tuple[str, str]] = {}
        self._font_codec = ""
        self._codec = "cp1252"
        self._bytes = bytearray()
        self._to_skip = self._notes = 0
        self._font_name = ""
        self._rows = {name: RtfRows(part) for name, part in self._parts.items()}
        self._colors = RtfColors()
        self._has_page_ground = self._shows_page_ground = False

    @property
    def rows(self) -> RtfRows:
        """The table rows of the current part; the rows of a part that is not read are dropped."""
        return self._rows.get(self._state.part) or RtfRows(RtfPart())

    def read(self) -> RichText:
        """Return the document's text, its title, and notes on content without words."""
        place = 0
        while match := TOKEN.match(self._data, place):
            place = match.end()
            if match["code"] or match["text"]:
                # a multi-byte character may consist of a code and a plain letter
                self._add_bytes(match["text"] or bytes([int(match["code"], 16)]))
                continue
            if match["break"]:
                continue
            self._flush()
            if match["word"]:
                number = int(match["number"]) if match["number"] else None
                word = match["word"].decode()
                place += max(0, number or 0) if word == "bin" else 0
                self._control(word, number)
            elif match["brace"]:
                self._brace(match["brace"] == b"{")
            elif match["sign"]:
                self._sign(match["sign"].decode("latin-1"))
        self._flush()
        for part in self._parts.values():
            part.close_line()
            part.close_table()
        notes = (" ".join(line.split()) for line in self._parts["notes"].lines)
        text = "\n".join([*self._margin_lines(), *self._parts["body"].lines, *notes])
        title = " ".join(self._parts["title"].lines)
        return RichText(text, title, left_out_notes(self._not_in_words))

    def _margin_lines(self) -> list[str]:
        """Return the lines of headers and footers, without repetitions or bare page numbers."""
        lines = dict.fromkeys(self._parts["margins"].lines)
        return [line for line in lines if any(map(str.isalpha, line))]

    def _brace(self, opens: bool) -> None:
        self._to_skip = 0  # a brace ends the replacement of a Unicode character
        if opens:
            if len(self._stack) >= MOST_GROUPS:
                raise ValueError(f"its groups are nested more than {MOST_GROUPS:,} deep")
            self._stack.append(self._state)
            self._state = replace(self._state, is_new=True, is_optional=False)
        elif self._stack:
            ended, self._state = self._state, self._stack.pop()
            outer = (self._state.part, self._state.part_of_both)  # these go on after the group
            if ended.part not in outer and ended.part in self._parts:
                self._parts[ended.part].close_line()
                self._parts[ended.part].close_table()
            if ended.formula is not None and self._state.formula is None:
                self._add(formula(ended.formula))
            if ended.field is not None and ended.field is not self._state.field:
                self._end_field(ended.field)

    def _sign(self, sign: str) -> None:
        if sign == "*":
            self._state.is_optional = True
        elif sign in "\r\n":  # a backslash at the end of a line means "\par"
            self._control("par", None)
        else:
            self._add_sign(ESCAPED.get(sign, sign))

    def _control(self, word: str, number: int | None) -> None:
        state = self._state
        if state.is_new or state.is_optional:
            state.is_new = False
            self._destination(word)
        if word in SWITCHES:
            setattr(state, SWITCHES[word], number != 0)
        elif word in SIGNS:
            self._add_sign(SIGNS[word])
        elif word in _COMMANDS:
            _COMMANDS[word](self, number)

    def _add_sign(self, sign: str) -> None:
        """Add a symbol, unless it replaces a Unicode character for programs without Unicode."""
        if self._to_skip and sign.strip():  # white space is not a replacement
            self._to_skip -= 1
        else:
            self._add(sign)

    def _destination(self, word: str) -> None:
        """Begin the part of the document that is named by the first word of a group."""
        state = self._state
        if state.part in ("skipped", "instruction"):  # groups within it, too
            return
        if state.part == "formula" and state.formula is not None and word.startswith("m"):
            state.formula = SubElement(state.formula, word[1:])
        elif word in SKIPPED or (state.is_optional and word not in STARRED):
            state.part = "skipped"
        elif word == "pict":
            self._mark("picture")
        elif word == "annotation":
            self._not_in_words["comment"] += 1
            state.part = "skipped"
        elif word == "footnote":
            self._notes += 1
            self._parts["notes"].close_line()
            state.part, state.position, state.in_table = "notes", "", False
            self._add(f"[{self._notes}] ")
        elif word in DESTINATIONS:
            DESTINATIONS[word](state)
        elif word == "background":
            self._has_page_ground, state.part = True, "skipped"
        else:
            state.part = PARTS.get(word, state.part)
        state.is_optional = False

    def _mark(self, kind: str) -> None:
        if self._is_seen():
            self._not_in_words[kind] += 1
            self._add(mark(kind))
        self._state.part = "skipped"

    def _is_seen(self) -> bool:
        state = self._state
        is_gone = state.is_hidden or state.is_struck or state.is_deleted
        return not (is_gone or self._is_white() or self._is_blacked_out())

    def _is_white(self) -> bool:
        """Return whether the text is white on white; headers, shapes and the page may be dark."""
        state = self._state
        may_be_dark = state.ground or state.in_shape or state.part == "margins"
        may_be_dark = may_be_dark or (self._has_page_ground and self._shows_page_ground)
        if not state.color or may_be_dark or state.is_filled:
            return False
        return not self.rows.is_filled and min(self._colors.of(state.color)) >= _WHITE

    def _is_blacked_out(self) -> bool:
        """Return whether the text has the colour of its own background."""
        state = self._state
        if not (state.color and state.ground and state.is_painted):
            return False
        return self._colors.of(state.color) == self._colors.of(state.ground)

    def _end_field(self, ended: RtfField) -> None:
        """Add the text that a field shows, if the file does not store it."""
        text = drawn_text("".join(ended.instruction)) if not ended.shows else ""
        if ended.is_check_box:
            text = "☒" if ended.is_checked() else "☐"
        if text:
            self._add(text)
        elif ended.shows and ended.outer is not None:
            ended.outer.shows = True

    def _add_bytes(self, text: bytes) -> None:
        """Collect the bytes of a text, except bytes that replace a Unicode character."""
        skipped = min(self._to_skip, len(text))
        self._to_skip -= skipped
        self._bytes += text[skipped:]

    def _flush(self) -> None:
        """Decode the collected bytes in the encoding of their font, and add the text."""
        if self._bytes:
            codec = self._fonts.get(self._state.font, ("", ""))[1] or self._codec
            text = self._bytes.decode(codec, "replace")
            self._bytes.clear()
            self._add(text)

    def _add(self, text: str) -> None:
        """Add text to the part of the document to which it belongs."""
        state = self._state
        state.is_new = False
        if state.part == "font":
            self._define_font(text)
        elif state.part == "colors":
            self._colors.define(text.count(";"))
        elif state.part == "instruction" and state.field is not None:
            state.field.instruction.append(text)
        elif state.part == "formula" and state.formula is not None and self._is_seen():
            state.formula.set("val", text.strip())  # the value, if the element is a setting
            SubElement(state.formula, "t").text = text
        part = self._parts.get(state.part)
        if part is None or not self._is_seen():
            return
        font = self._fonts.get(state.font, ("", ""))[0]
        text = with_signs(text, font, self._not_in_words)
        part.pieces.append(raised(text, state.position))
        if state.field is not None and text.strip():
            state.field.shows = True

    def unicode(self, number: int | None) -> None:
        """Add the character with this number, and skip the replacement that follows it."""
        # RTF writes codes above 32767 as negative 16-bit numbers
        self._add(chr((number or 0) & 0xFFFF))
        self._to_skip = self._state.skips

    def end_paragraph(self, _: int | None) -> None:
        """End a line of text, or add a space in a cell."""
        part = self._parts.get(self._state.part)
        if part is None:
            return
        if self._state.in_table:
            part.pieces.append(" ")
        else:
            part.close_line()

    def reset_paragraph(self, _: int | None) -> None:
        """Reset the settings of the paragraph."""
        self._state.is_filled = self._state.in_table = False

    def enter_table(self, _: int | None) -> None:
        """Make the paragraph a part of a cell."""
        self._state.in_table = True

    def reset_text(self, _: int | None) -> None:
        """Reset the settings of characters."""
        state = self._state
        state.is_hidden = state.is_struck = state.is_deleted = False
        state.position, state.font = "", -1
        state.color, state.ground, state.is_painted = 0, 0, False

    def shift_text(self, mark: str, number: int | None) -> None:
        """Begin a superscript (^) or subscript (_), or end it if the number is 0."""
        self._state.position = "" if number == 0 else mark

    def show_page_ground(self, number: int | None) -> None:
        """Record whether the background of pages is shown."""
        self._shows_page_ground = number == 1

    def choose_font(self, number: int | None) -> None:
        """Use a font, or begin its definition."""
        self._state.font = number if number is not None else -1
        self._font_codec = ""

    def set_charset(self, number: int | None) -> None:
        """Set the encoding of the font that is being defined."""
        # 2 stands for a symbol font, whose codes are looked up unchanged
        self._font_codec = "latin-1" if number == 2 else CHARSETS.get(number or 0, "")

    def set_codec(self, number: int | None) -> None:
        """Set the encoding of the document; an unknown code page changes nothing."""
        with suppress(LookupError):
            self._codec = codecs.lookup(f"cp{number}").name

    def set_skips(self, number: int | None) -> None:
        """Set how many replacement characters follow a Unicode character; below 0 means none."""
        self._state.skips = 1 if number is None else max(0, number)

    def number_note(self, _: int | None) -> None:
        """Add the number of the footnote that follows."""
        if self._state.part == "body":  # the note itself begins with its number already
            self._add(f"[{self._notes + 1}]")

    def set_color(self, number: int | None) -> None:
        """Set the colour of the text."""
        self._state.color = number or 0

    def set_ground(self, number: int | None) -> None:
        """Set the colour behind the text, which some programs ignore."""
        self._state.ground, self._state.is_painted = number or 0, False

    def paint_ground(self, number: int | None) -> None:
        """Set the colour behind the text, which all programs paint."""
        self._state.ground, self._state.is_painted = number or 0, True

    def fill_paragraph(self, _: int | None) -> None:
        """Record that the paragraph has a background."""
        self._state.is_filled = True

    def fill_row(self, _: int | None) -> None:
        """Record that a cell in the row has a background."""
        self.rows.is_filled = True

    def mix(self, place: int, number: int | None) -> None:
        """Set the red, green or blue of the colour that is being defined."""
        if self._state.part == "colors":
            self._colors.mix(place, number)

    def set_box(self, name: str, number: int | None) -> None:
        """Set the state of a check box."""
        if self._state.field is not None:
            self._state.field.box[name] = number or 0

    def set_box_kind(self, number: int | None) -> None:
        """Record whether a form field is a check box, which has the number 1."""
        if self._state.field is not None:
            self._state.field.is_check_box = number == 1

    def _define_font(self, text: str) -> None:
        name, ended, _ = (self._font_name + text).partition(";")
        self._font_name = "" if ended else name[:200]  # a longer name is hostile
        if ended:
            self._fonts[self._state.font] = name.strip(), self._font_codec


_WHITE = 0xFC  # minimum of red, green and blue in colours that look white; chosen by hand
_COMMANDS: dict[str, Callable[[_Walk, int | None], None]] = {
    "u": _Walk.unicode,
    "uc": _Walk.set_skips,
    "par": _Walk.end_paragraph,
    "sect": _Walk.end_paragraph,
    "page": _Walk.end_paragraph,
    "column": _Walk.end_paragraph,
    "pard": _Walk.reset_paragraph,
    "plain": _Walk.reset_text,
    "intbl": _Walk.enter_table,
    "trowd": lambda walk, _: walk.rows.begin_row(),
    "clmrg": lambda walk, _: walk.rows.merge_across(),
    "clvmrg": lambda walk, _: walk.rows.merge_down(),
    "cellx": lambda walk, number: walk.rows.define_cell(number),
    "trhdr": lambda walk, _: walk.rows.head(),
    "cell": lambda walk, _: walk.rows.end_cell(),
    "row": lambda walk, _: walk.rows.end_row(),
    "super": lambda walk, number: walk.shift_text("^", number),
    "sub": lambda walk, number: walk.shift_text("_", number),
    "nosupersub": lambda walk, _: walk.shift_text("", None),
    "viewbksp": _Walk.show_page_ground,
    "f": _Walk.choose_font,
    "fcharset": _Walk.set_charset,
    "ansicpg": _Walk.set_codec,
    "pc": lambda walk, _: walk.set_codec(437),  # the code page of the IBM PC
    "chftn": _Walk.number_note,
    "cf": _Walk.set_color,
    "highlight": _Walk.paint_ground,
    "cb": _Walk.set_ground,
    "chcbpat": _Walk.paint_ground,
    "cbpat": _Walk.fill_paragraph,
    "clcbpat": _Walk.fill_row,
    "red": lambda walk, number: walk.mix(0, number),
    "green": lambda walk, number: walk.mix(1, number),
    "blue": lambda walk, number: walk.mix(2, number),
    "fftype": _Walk.set_box_kind,
    "ffres": lambda walk, number: walk.set_box("now", number),
    "ffdefres": lambda walk, number: walk.set_box("first", number),
}
