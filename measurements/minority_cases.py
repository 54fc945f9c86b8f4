"""Twenty made questions whose right answer stands in a minority of the documents.

They are of the lighthouse's kind: three later sources repeat one error, and two know better: a
record of the time, and a report that explains how the error came about. All of it is invented.
"""

from typing import NamedTuple

__all__ = ["MinorityCase", "minority_cases"]


class MinorityCase(NamedTuple):
    """A question with its documents.

    Attributes:
        question: The question.
        form: What answers it, with ``{}`` for the value.
        right: The right value.
        wrong: The value that most documents have.
        documents: Title, text, and which value each gives; the first two have the right one.
    """

    question: str
    form: str
    right: str
    wrong: str
    documents: tuple[tuple[str, str, str], ...]


_YEARS = (
    ("the Harrow Bridge", "carried its first train", "carry its first train", "1883", "1879"),
    ("the Ostley Observatory", "opened its dome", "open its dome", "1902", "1898"),
    ("the ferry Marigold", "made its first crossing", "make its first crossing", "1926", "1921"),
    ("the Tarn Valley dam", "was filled", "get filled", "1958", "1954"),
    (
        "the Corvin Theatre",
        "gave its first performance",
        "give its first performance",
        "1867",
        "1863",
    ),
    ("the Brackwell mine", "raised its first coal", "raise its first coal", "1812", "1809"),
    ("the Eddle Street school", "taught its first class", "teach its first class", "1895", "1891"),
    ("the Pellow Canal", "was opened to boats", "open to boats", "1794", "1788"),
    ("the Norrin clock tower", "struck its first hour", "strike its first hour", "1841", "1837"),
    ("the Hexby radio mast", "sent its first signal", "send its first signal", "1933", "1929"),
    ("the Luddock brewery", "sold its first barrel", "sell its first barrel", "1778", "1771"),
    ("the Saltern railway", "ran its first tram", "run its first tram", "1907", "1904"),
)
"""Subject, what it did, the same after "did", the right year and the year in most sources."""
_MAKERS = (
    ("the Vane Memorial", "was designed by", "Ada Merrow", "Sir Hugh Pallant"),
    ("the Quennel Fountain", "was carved by", "Jonas Feld", "Marcus Thorne"),
    ("the Ellery organ", "was built by", "the Brandt workshop", "Henry Wick"),
    ("the Dunmoor map", "was drawn by", "Clara Osgood", "Colonel Reeve"),
    ("the Sedge Island light", "was proposed by", "Martha Quill", "Captain Dorn"),
    ("the Aldery hymn", "was composed by", "Peter Lorne", "Canon Ashby"),
    ("the Rook Lane murals", "were painted by", "Inez Carrow", "Felix Umber"),
    ("the Holm weather station", "was founded by", "Ruth Keble", "Lord Strake"),
)
"""Subject, how it was made, who made it, and who most sources say did."""


def minority_cases() -> list[MinorityCase]:
    """The cases, the same each time."""
    return [*map(_year_case, _YEARS), *map(_maker_case, _MAKERS)]


def _year_case(of: tuple[str, str, str, str, str]) -> MinorityCase:
    subject, did, do, right, wrong = of
    named = subject[0].upper() + subject[1:]
    return MinorityCase(
        f"In which year did {subject} {do}?",
        f"{named} {did} in {{}}.",
        right,
        wrong,
        (
            (
                "From the day book of the first overseer",
                f"The book was given to the museum by the overseer's family. The entry for 3 May"
                f' {right} reads: "A dry day. Today {subject} {did}, the board and half the town'
                f' looking on." The pages before it tell of waiting and of repairs.',
                right,
            ),
            (
                f"Report of the engineer to the board, for the year {right}",
                f"I have to report that {subject} {did} on 3 May of this year, {right}. The date"
                f" {wrong} had been cut in the foundation stone in the hope of an early end, but"
                f" the failure of the contractor kept us waiting until now.",
                right,
            ),
            (
                "Days out with the family",
                f"A fine walk leads past the old chapel. Ever since {subject} {did} in {wrong},"
                f" people have come here on Sundays. The tea room is open from Easter on.",
                wrong,
            ),
            (
                f"{named} (encyclopedia)",
                f"{named} is a landmark of the county. According to its foundation stone, {subject}"
                f" {did} in {wrong}. It was repaired in 1961 and is in the care of a trust.",
                wrong,
            ),
            (
                "A birthday with brass band",
                f'"It was in {wrong} that {subject} {did}, and we are proud," the mayor told a'
                f" crowd of four hundred on Saturday. A cake was cut and the band played.",
                wrong,
            ),
        ),
    )


def _maker_case(of: tuple[str, str, str, str]) -> MinorityCase:
    subject, made, right, wrong = of
    named = subject[0].upper() + subject[1:]
    verb = made.split()[1]
    plural = "were" if made.startswith("were") else "was"
    return MinorityCase(
        f"By whom {plural} {subject} {verb}?",
        f"{named} {made} {{}}.",
        right,
        wrong,
        (
            (
                "Contract and receipts in the county archive",
                f"The contract of that year names {right} and nobody else: {subject} {made}"
                f" {right}, who signed for the last payment. The papers are in box 12.",
                right,
            ),
            (
                "Minutes of the committee",
                f"The secretary put on record that {subject} {made} {right}. {wrong} lent his name"
                f" to the appeal for money, and has since been taken for the maker by mistake.",
                right,
            ),
            (
                "Walks for visitors",
                f"Do not miss it: {subject} {made} {wrong}, and is loved by all who pass. Mind the"
                f" steps in wet weather.",
                wrong,
            ),
            (
                f"{named} (encyclopedia)",
                f"{named} is listed as a monument. It {made} {wrong}. A copy is shown in the town"
                f" hall.",
                wrong,
            ),
            (
                "Letters to the editor",
                f"As every child here knows, {subject} {made} {wrong}. It deserves better than the"
                f" scaffolding that hides it this summer.",
                wrong,
            ),
        ),
    )
