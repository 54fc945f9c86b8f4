"""Numbers are written as the format of their cell shows them."""

import pytest

from conflictscore.retrieval.shaping.number_formats import shown_number, shown_text


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        (1234.5, "General", "1234.5"),
        (4006381333931, "General", "4006381333931"),
        (1 / 3, "General", "0.333333333"),
        (1e-7, "General", "1E-07"),
        (1.5e300, "General", "1.5E+300"),
        (-7, "General;-General", "-7"),
        (5, "@", "5"),
        (1234.567, "#,##0.00", "1,234.57"),
        (-1234.5, "#,##0 ;[Red](#,##0)", "(1,235)"),
        (-3, '0;-0;"none"', "-3"),
        (0, '0;-0;"none"', "none"),
        (-0.001, "0.00", "0.00"),
        (2.675, "0.00", "2.68"),
        (5, "0.##", "5."),
        (12345678, '0.00,,"M"', "12.35M"),
        (5551234567, "(000) 000-0000", "(555) 123-4567"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (1234.5, '_-* #,##0.00\\ "€"_-', " 1,234.50 € "),
        (0.125, "0.0%", "12.5%"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (9.995, "0.00E+00", "1.00E+01"),
        (0.00012, "##0.0E+0", "120.0E-6"),
        (1.5, "# ?/?", "1 1/2"),
        (0.3333, "# ??/??", "1/3"),
        (0.99, "# ?/?", "1"),
        (3.25, "# ?/4", "3 1/4"),
        (2.5, "?/?", "5/2"),
        (50, '[<100]"low";[>=100]"high"', "low"),
        (150, '[<100]"low";[>=100]"high"', "high"),
        (4, '[<>5]"other";"five"', "other"),
        (5, '[<>5]"other";"five"', "five"),
        (1, '[<=1]0" item";0" items"', "1 item"),
        (0, '[=0]"none";0', "none"),
        (15000, "E+0", "2E+4"),
        (1, '"Yes";"Yes";"No"', "Yes"),
        (5, ";;;", ""),
        (-5, "0;;", ""),
        (1e300, "#,##0.00", f"1{',000' * 100}.00"),
        (44000.5, "d mmm yyyy h:mm AM/PM", "18 Jun 2020 12:00 PM"),
        (44000, "[$-409]dddd, mmmm dd, yyyy", "Thursday, June 18, 2020"),
        (44000.25, "[$-F800]dddd, mmmm dd, yyyy", "2020-06-18"),
        (44000.25, "[$-F400]h:mm:ss", "6:00:00"),
        (1.5, "[h]:mm:ss", "36:00:00"),
        (0.51234, "mm:ss.0", "17:46.2"),
        (45000.999999, "h:mm:ss", "0:00:00"),
        (59, "yyyy-mm-dd", "1900-02-28"),
        (61, "yyyy-mm-dd", "1900-03-01"),
        (-1, "yyyy-mm-dd", "-1"),
        (1e9, "yyyy-mm-dd", "1000000000"),
        (2_958_465, "yyyy-mm-dd", "9999-12-31"),
        (2_958_465.9999999, "yyyy-mm-dd", "2958466"),
        (45292, '[$-411]ggge"年"m"月"d"日"', "2024年1月1日"),
        (45292, "[$-404]e/m/d", "2024/1/1"),
        (5, "0.0 g", "5.0 g"),
        (-5, '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "-5"),
        (-5, "[>100]0;0", "-5"),
        (-5, "[>=0]0;(0)", "(5)"),
        (-5, "[<0](0);0", "(5)"),
        (5, "", "5"),
        (float("inf"), "0.00", "inf"),
        (float("-inf"), "General", "-inf"),
    ],
)
def test_a_number_is_written_by_its_code(number: float, code: str, shown: str) -> None:
    assert shown_number(number, code) == shown


def test_texts_have_a_section_of_their_own() -> None:
    assert shown_text("lit", "0.00") == "lit"
    assert shown_text("lit", '"so: "@') == "so: lit"
    assert shown_text("lit", ";;;") == ""
    assert shown_text("lit", '0;-0;0;@" (text)"') == "lit (text)"
