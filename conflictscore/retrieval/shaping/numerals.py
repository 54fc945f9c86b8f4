"""Writes list numbers in the scripts and styles that Word offers besides 1, a and i."""

from collections.abc import Callable

_MOST_TIMES = 9  # maximum number of letters, since a hostile file may contain a large number
_ALPHABETS = {
    "russianLower": "абвгдежзиклмнопрстуфхцчшщэюя",
    "russianUpper": "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЭЮЯ",
    "hebrew2": "אבגדהוזחטיכלמנסעפצקרשת",
    "arabicAlpha": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "arabicAbjad": "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ",
    "aiueo": (
        "アイウエオカキクケコサシスセソタチツテトナニヌネノ"
        "ハヒフヘホマミムメモヤユヨラリルレロワヲン"
    ),
    "ganada": "가나다라마바사아자차카타파하",
    "chosung": "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ",
    "ideographTraditional": "甲乙丙丁戊己庚辛壬癸",
    "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥",
    "thaiLetters": "กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ",
}
"""The letters of each numbering style.

After the last letter, Word doubles the letters: "z" is followed by "aa".
"""
_ALPHABETS["aiueoFullWidth"] = _ALPHABETS["aiueo"]
_ZEROS = {
    "decimalFullWidth": "０",
    "decimalFullWidth2": "０",
    "thaiNumbers": "๐",
    "hindiNumbers": "०",
}
_CHINESE = (
    "chineseCounting",
    "chineseCountingThousand",
    "japaneseCounting",
    "taiwaneseCounting",
    "taiwaneseCountingThousand",
)
_CHINESE_DIGITS = "〇一二三四五六七八九"
# 15 and 16 are irregular: 9 + 6 and 9 + 7. Only these numbers themselves are written so.
_HEBREW = (
    (400, "ת"), (300, "ש"), (200, "ר"), (100, "ק"), (90, "צ"), (80, "פ"), (70, "ע"), (60, "ס"),
    (50, "נ"), (40, "מ"), (30, "ל"), (20, "כ"), (16, "טז"), (15, "טו"), (10, "י"), (9, "ט"),
    (8, "ח"), (7, "ז"), (6, "ו"), (5, "ה"), (4, "ד"), (3, "ג"), (2, "ב"), (1, "א"),
)  # fmt: skip


def in_form(number: int, form: str) -> str:
    """Return a number in one of Word's numbering styles, or in digits if the style is unknown.

    The number must not be negative.
    """
    if form in _ALPHABETS and number > 0:
        letters = _ALPHABETS[form]
        count, place = divmod(number - 1, len(letters))
        return letters[place] * min(count + 1, _MOST_TIMES)
    if form in _ZEROS:
        zero = ord(_ZEROS[form])
        return "".join(chr(zero + int(digit)) for digit in str(number))
    return _FORMS[form](number) if form in _FORMS else str(number)


def _chinese(number: int) -> str:
    """Return a number below 100 in Chinese characters; larger numbers are returned in digits."""
    if not 0 < number < 100:
        return "".join(_CHINESE_DIGITS[int(digit)] for digit in str(number))
    tens, ones = divmod(number, 10)
    ten = ("" if tens == 1 else _CHINESE_DIGITS[tens]) + "十" if tens else ""
    return ten + (_CHINESE_DIGITS[ones] if ones else "")


def _hebrew(number: int) -> str:
    if not 0 < number < 1000:
        return str(number)
    letters = ""
    for amount, letter in _HEBREW:
        while number >= amount and (amount not in (15, 16) or number == amount):
            letters += letter
            number -= amount
    return letters


def _enclosed(number: int) -> str:
    # the circled numbers after 20 are elsewhere in Unicode
    return chr(ord("①") + number - 1) if 0 < number <= 20 else str(number)


_FORMS: dict[str, Callable[[int], str]] = {
    **dict.fromkeys(_CHINESE, _chinese),
    "japaneseDigitalTenThousand": lambda number: "".join(
        _CHINESE_DIGITS[int(digit)] for digit in str(number)
    ),
    "hebrew1": _hebrew,
    "decimalEnclosedCircle": _enclosed,
    "decimalEnclosedCircleChinese": _enclosed,
    "numberInDash": lambda number: f"- {number} -",
}
"""Functions that write a number, by the name of the numbering style."""
