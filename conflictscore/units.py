"""Magnitudes and units of quantities, in several languages."""

from collections.abc import Mapping

MAGNITUDES: Mapping[str, float] = {
    **dict.fromkeys(("thousand", "tausend", "mille", "mila", "mil", "duizend", "tys", "тыс"), 1e3),
    **dict.fromkeys(("million", "millions", "millionen", "millones", "milioni", "milhões"), 1e6),
    **dict.fromkeys(("mio", "mln", "miljoen", "miljoner", "millioner", "млн", "millón"), 1e6),
    **dict.fromkeys(("billion", "billions", "bn", "milliarden", "milliarde", "mrd"), 1e9),
    **dict.fromkeys(("milliard", "milliards", "miliardi", "miljard", "млрд"), 1e9),
    **dict.fromkeys(("trillion", "trillions"), 1e12),
    "lakh": 1e5,
    "crore": 1e7,
    "dozen": 12.0,
    "万": 1e4,
    "億": 1e8,
    "亿": 1e8,
    **dict.fromkeys(("cent", "cents", "ct", "cts", "pence", "centimes", "céntimos"), 0.01),
    **dict.fromkeys(("cêntimos", "centavos", "centesimi", "rappen"), 0.01),
}
"""Words and letters that multiply the number before them. A subunit such as "cents" is a
hundredth of a currency that the text seldom names, so "38 cents" is equal to "€0.38"."""
SHORT_MAGNITUDES: Mapping[str, float] = {"m": 1e6, "b": 1e9}
"""Letters that are a magnitude after an amount with a currency sign, and a unit elsewhere."""

_LISTED: Mapping[str, tuple[str, float]] = {
    name: (dimension, factor)
    for dimension, names in {
        "length": (
            (1e-3, "mm millimetre millimeter millimètre milímetro millimetro"),
            (1e-2, "cm centimetre centimeter zentimeter centimètre centímetro centimetro"),
            (1.0, "m metre meter mètre metro метр м"),
            (1e3, "km kilometre kilometer kilomètre kilómetro quilómetro chilometro км"),
            (0.0254, "inch inches zoll"),
            (0.3048, "ft foot feet fuß pieds"),
            (0.9144, "yd yard yards"),
            (1609.344, "mi mile miles meile meilen milles millas miglia"),
        ),
        "mass": (
            (1e-9, "\u03bcg mcg microgram"),
            (1e-6, "mg milligram milligramm milligramme miligramo milligrammo"),
            (1e-3, "g gram gramm gramme gramo grammo"),
            (1.0, "kg kilogram kilogramm kilogramme kilogramo kilo kilos кг"),
            (1e3, "t tonne tonnes tonnen tonelada toneladas tonnellate ton tons"),
            (0.45359237, "lb lbs pound-mass"),
            (0.028349523, "oz ounce ounces"),
        ),
        "area": (
            (1.0, "m² m2 sqm"),
            (1e4, "ha hectare hectares hektar hectárea hectáreas ettari"),
            (1e-4, "cm² cm2"),
            (1e6, "km² km2"),
            (4046.8564, "acre acres"),
        ),
        "volume": (
            (1e-3, "ml millilitre milliliter"),
            (1e-2, "cl centilitre centiliter"),
            (1.0, "l litre liter litro litros litri"),
            (1e3, "m³ m3"),
        ),
        "time": (
            (1.0, "s sec second seconds sekunde sekunden seconde secondes segundo segundos"),
            (60.0, "min minute minutes minuten minuto minutos minuti"),
            (3600.0, "h hour hours stunde stunden heure heures hora horas ore"),
            (86400.0, "day days tag tage tagen jour jours día días giorni dagen"),
            (604800.0, "week weeks woche wochen semaine semaines semana semanas"),
        ),
        # apart from "time", since a month has no fixed number of days
        "years": (
            (1.0, "year years jahr jahre jahren ans année années año años anni ano anos jaar"),
            (1 / 12, "month months monat monate monaten mois mes meses mesi maanden"),
        ),
        "speed": ((1.0, "km/h kmh kph"), (1.609344, "mph"), (1.852, "knot knots")),
        "power": (
            (1.0, "w watt watts"),
            (1e3, "kw kilowatt kilowatts"),
            (1e6, "mw megawatt"),
            (1e9, "gw gigawatt"),
        ),
        "frequency": ((1.0, "hz hertz"), (1e3, "khz"), (1e6, "mhz"), (1e9, "ghz")),
        "energy": ((1.0, "kwh"), (1e3, "mwh"), (1e6, "gwh")),
        "voltage": ((1.0, "volt volts"), (1e3, "kv kilovolt kilovolts")),
        "current": ((1.0, "ampere amperes amps"), (1e-3, "milliampere milliamperes")),
        "sound": ((1.0, "decibel decibels"),),
        "bits": ((1e3, "kilobit kilobits"), (1e6, "megabit megabits"), (1e9, "gigabit gigabits")),
        "data": (
            (1.0, "byte bytes"),
            (1e3, "kb kilobyte"),
            (1e6, "mb megabyte"),
            (1e9, "gb gigabyte"),
            (1e12, "tb terabyte"),
        ),
        "share": ((1.0, "% percent prozent pourcent procent procento"),),
        "€": ((1.0, "€ eur euro euros"),),
        "$": ((1.0, "$ usd dollar dollars us$"),),
        # "pounds" without a sign are money here, so "lb" is the only pound of mass
        "£": ((1.0, "£ gbp pound pounds"),),
        "¥": ((1.0, "¥ jpy yen 円"),),
        "chf": ((1.0, "chf franken francs"),),
    }.items()
    for factor, listed in names
    for name in listed.split()
}
UNITS: Mapping[str, tuple[str, float]] = {
    **_LISTED,
    # Add plurals that only append a letter. Names with fewer than four letters are abbreviations.
    # For names with other endings, any plural is listed above.
    **{f"{name}s": unit for name, unit in _LISTED.items() if len(name) > 3 and name[-1] in "eorm"},
}
"""The dimension of each unit, and the factor from the unit to the base unit of the dimension."""
