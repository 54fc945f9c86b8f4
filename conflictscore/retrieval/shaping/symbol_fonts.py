"""Maps the symbols of the fonts Symbol, Wingdings and Webdings to Unicode characters.

These fonts draw symbols in place of letters. Symbol draws "m" as "μ", so a text that looks like "5
μg" is stored as "5 mg". For Symbol, the table is Adobe's; for the other fonts, it is the table that
Unicode published when it adopted their symbols (L2/12-368). U+FFFD stands for a code without a
symbol.
"""

from collections import Counter
from collections.abc import Iterable

_FIRST = 0x20  # the code of the first symbol in each table
_PRIVATE = 0xF000
"""Offset that Office adds to a symbol's code, which puts it in Unicode's private use area."""
UNKNOWN_SIGN = "�"
ANSWERS = frozenset("✓✔✗✘✕✖☑☒☐✅❌")
"""Symbols that mean yes or no."""
UNKNOWN_SIGN_NAME = "symbol of an unknown font"

_TABLES = {
    "symbol": (
        " !∀#∃%&∋()*+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩ"
        "ΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}~�����������������"
        "����������������€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩"
        "∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\uf8ff〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭�"
    ),
    "webdings": (
        " 🕷🕸🕲🕶🏆🎖🖇🗨🗩🗰🗱🌶🎗🙾🙼🗕🗖🗗⏴⏵⏶⏷⏪⏩⏮⏭⏸⏹⏺🗚🗳🛠🏗🏘🏙🏚🏜🏭🏛🏠🏖🏝🛣🔍🏔👁👂🏞🏕🛤🏟🛳🕬🕫🕨"
        "🔈🎔🎕🗬🙽🗭🗪🗫⮔✔🚲⬜🛡📦🛱⬛🚑🛈🛩🛰🟈🕴⬤🛥🚔🗘🗙❓🛲🚇🚍⛳⦸⊖🚭🗮⏐🗯🗲�🚹🚺🛉🛊🚼👽🏋⛷🏂🏌🏊🏄🏍🏎🚘🗠"
        "🛢💰🏷💳👪🗡🗢🗣✯🖄🖅🖃🖆🖹🖺🖻🕵🕰🖽🖾📋🗒🗓🕮📚🗞🗟🗃🗂🖼🎭🎜🎘🎙🎧💿🎞📷🎟🎬📽📹📾📻🎚🎛📺💻🖥🖦🖧🕹🎮🕻🕼📟"
        "🖁🖀🖨🖩🖿🖪🗜🔒🔓🗝📥📤🕳🌣🌤🌥🌦☁🌨🌧🌩🌪🌬🌫🌜🌡🛋🛏🍽🍸🛎🛍Ⓟ♿🛆🖈🎓🗤🗥🗦🗧🛪🐿🐦🐟🐕🐈🙬🙮🙭🙯🗺🌍🌏🌎🕊"
    ),
    "wingdings": (
        " 🖉✂✁👓🕭🕮🕯🕿✆🖂🖃📪📫📬📭🗀🗁🗎🗏🗐🗄⌛🖮🖰🖲🖳🖴🖫🖬✇✍🖎✌🖏👍👎☜☞☝☟🖐☺😐☹💣🕱🏳🏱✈☼🌢❄🕆✞🕈"
        "✠✡☪☯🕉☸♈♉♊♋♌♍♎♏♐♑♒♓🙰🙵⚫🔾◼🞏🞐❑❒🞟⧫◆❖⬩⌧⮹⌘🏵🏶🙶🙷▯🄋➀➁➂➃➄➅➆➇➈➉🄌➊➋➌➍"
        "➎➏➐➑➒➓🙢🙠🙡🙣🙞🙜🙝🙟∙•⬝⭘🞆🞈🞊🞋🔿▪🞎🟁🟅★🟋🟏🟓🟑⯐⌖⯎⯏⯑✪✰🕐🕑🕒🕓🕔🕕🕖🕗🕘🕙🕚🕛⮰⮱⮲⮳⮴"
        "⮵⮶⮷🙪🙫🙕🙔🙗🙖🙐🙑🙒🙓⌫⌦⮘⮚⮙⮛⮈⮊⮉⮋🡨🡪🡩🡫🡬🡭🡯🡮🡸🡺🡹🡻🡼🡽🡿🡾⇦⇨⇧⇩⬄⇳⬁⬀⬃⬂🢬🢭🗶✓🗷🗹�"
    ),
    "wingdings2": (
        " 🖊🖋🖌🖍✄✀🕾🕽🗅🗆🗇🗈🗉🗊🗋🗌🗍📋🗑🗔🖵🖶🖷🖸🖭🖯🖱🖒🖓🖘🖙🖚🖛👈👉🖜🖝🖞🖟🖠🖡👆👇🖢🖣🖑🗴🗸🗵☑⮽☒⮾⮿🛇"
        "⦸🙱🙴🙲🙳‽🙹🙺🙻🙦🙤🙥🙧🙚🙘🙙🙛⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿�☉🌕☽☾⸿✝🕇🕜🕝🕞🕟🕠🕡🕢🕣🕤"
        "🕥🕦🕧🙨🙩⋅🞄⦁●○🞅🞇🞉⊙⦿🞌🞍◾■□🞑🞒🞓🞔▣🞕🞖🞗🞘⬩⬥◇🞚◈🞛🞜🞝🞞⬪⬧◊🞠◖◗⯊⯋⯀⯁⬟⯂⬣⬢⯃⯄🞡🞢"
        "🞣🞤🞥🞦🞧🞨🞩🞪🞫🞬🞭🞮🞯🞰🞱🞲🞳🞴🞵🞶🞷🞸🞹🞺🞻🞼🞽🞾🞿🟀🟂🟄🟆🟉🟊✶🟌🟎🟐🟒✹🟃🟇✯🟍🟔⯌⯍※⁂������"
    ),
    "wingdings3": (
        " ⭠⭢⭡⭣⭦⭧⭩⭨⭰⭲⭱⭳⭶⭸⭻⭽⭤⭥⭪⭬⭫⭭⭍⮠⮡⮢⮣⮤⮥⮦⮧⮐⮑⮒⮓⮀⮃⭾⭿⮄⮆⮅⮇⮏⮍⮎⮌⭮⭯⎋⌤⌃⌥␣⍽"
        "⇪⮸🢠🢡🢢🢣🢤🢥🢦🢧🢨🢩🢪🢫🡐🡒🡑🡓🡔🡕🡗🡖🡘🡙▲▼△▽◀▶◁▷◣◢◤◥🞀🞂🞁�🞃⯅⯆⯇⯈⮜⮞⮝⮟🠐🠒🠑🠓🠔🠖🠕"
        "🠗🠘🠚🠙🠛🠜🠞🠝🠟🠀🠂🠁🠃🠄🠆🠅🠇🠈🠊🠉🠋🠠🠢🠤🠦🠨🠪🠬🢜🢝🢞🢟🠮🠰🠲🠴🠶🠸🠺🠹🠻🢘🢚🢙🢛🠼🠾🠽🠿🡀🡂🡁🡃🡄🡆🡅"
        "🡇⮨⮩⮪⮫⮬⮭⮮⮯🡠🡢🡡🡣🡤🡥🡧🡦🡰🡲🡱🡳🡴🡵🡷🡶🢀🢂🢁🢃🢄🢅🢇🢆🢐🢒🢑🢓🢔🢖🢕🢗���������������"
    ),
}
"""The characters of each font for the codes from 0x20 to 0xFF."""

_USUAL = str.maketrans(
    dict(
        zip(
            "🗴🗶🗙🗵🗷🗸🗹🞎🞏🞐◼⚫🔾🙰🙵",
            "✗✗✗☒☒✓☑☐□❐■●❍&&",
            strict=True,
        )
    )
    | dict.fromkeys("🡨🡸⭠⮘⮜", "←")
    | dict.fromkeys("🡪🡺⭢⮚⮞", "→")
    | dict.fromkeys("🡩🡹⭡⮙⮝", "↑")
    | dict.fromkeys("🡫🡻⭣⮛⮟", "↓")
    | dict(zip("🡬🡭🡯🡮🡼🡽🡿🡾", "↖↗↙↘↖↗↙↘", strict=True))
)
"""Maps newer Unicode characters to older characters with the same meaning that more models know."""


def is_symbol_font(font: str) -> bool:
    """Return whether a font draws symbols instead of letters; its name may vary in spelling."""
    return _key(font) in _TABLES


def signs_of(font: str, codes: Iterable[int]) -> str:
    """Return the characters for these codes in a font; U+FFFD stands for unknown characters.

    Codes may also include Office's offset of 0xF000. A character outside the tables and
    outside Unicode's private use areas is returned unchanged.
    """
    table = _TABLES.get(_key(font), "")
    return "".join(_sign(table, code) for code in codes).translate(_USUAL)


def with_signs(text: str, font: str, not_in_words: Counter[str]) -> str:
    """Return a text with its font's symbols; unknown symbols are counted in ``not_in_words``."""
    if is_symbol_font(font) or any(is_private(ord(character)) for character in text):
        text = signs_of(font, map(ord, text))
        not_in_words[UNKNOWN_SIGN_NAME] += text.count(UNKNOWN_SIGN)
    return text


def answer_of(font: str, text: str) -> str:
    """Return a bullet's symbol if it means yes or no, such as a check mark; otherwise empty."""
    sign = signs_of(font, map(ord, text))
    return sign if sign in ANSWERS else ""


def _sign(table: str, code: int) -> str:
    place = code - _PRIVATE if _PRIVATE <= code < _PRIVATE + 0x100 else code
    if table and _FIRST <= place < _FIRST + len(table):
        return table[place - _FIRST]
    return UNKNOWN_SIGN if is_private(code) else chr(code)


def is_private(code: int) -> bool:
    """Return whether a character has a meaning only in its font (private use)."""
    return 0xE000 <= code <= 0xF8FF or 0xF0000 <= code <= 0x10FFFD


def _key(font: str) -> str:
    # PDF files write a font's name as in "ABCDEF+Wingdings-Regular" or "SymbolMT,Bold"
    name = font.rpartition("+")[2].lower().replace(" ", "").replace(",", "-").partition("-")[0]
    return name.removesuffix("mt").removesuffix("std").removesuffix("regular")
