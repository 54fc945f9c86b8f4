"""Writes the numbers of lists, chapters and notes in the form in which they are shown."""

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
_LARGEST_ROMAN = 4_999  # 4,999 is written MMMMCMXCIX; there is no letter for 5,000


def roman(number: int) -> str:
    """Return a number in lower-case Roman numerals, or in digits if it has no Roman form."""
    if not 0 < number <= _LARGEST_ROMAN:
        return str(number)
    digits: list[str] = []
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        digits.append(letters * count)
    return "".join(digits)


def letters(number: int, *, double: bool = False) -> str:
    """Return a number as lower-case letters.

    The letter z is followed by aa, ab, …, or by aa, bb, … if ``double`` is set.
    """
    if number < 1:
        return str(number)
    if double:
        count, place = divmod(number - 1, 26)
        # nine letters at most, since a hostile file may contain a large number
        return chr(ord("a") + place) * min(count + 1, 9)
    text = ""
    while number:
        number, place = divmod(number - 1, 26)
        text = chr(ord("a") + place) + text
    return text


def greek(number: int) -> str:
    """Return a number as a lower-case Greek letter, or in digits after ω."""
    return _GREEK[number - 1] if 0 < number <= len(_GREEK) else str(number)


def ordinal(number: int) -> str:
    """Return a number in the form 1st, 2nd, 3rd, 11th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 <= number % 100 <= 13 else ending}"
