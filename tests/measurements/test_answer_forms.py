"""The replies that the measurement of answer forms gives in place of the cases' own model."""

import json

from measurements.answer_forms import compact_verdicts, relation_reply


def test_claims_of_a_labelling_prompt_get_verdicts_in_the_compact_form() -> None:
    document = '<document mark="1">\nThe mill.\nOpened 1861.\n</document>'
    prompt = f'Rules.\n\n{document}\n\n{{"7":"In 1854.","9":"A mill."}}'

    def label(claim: str, text: str) -> str:
        return "CONTRADICTS" if "Opened" in text and "18" in claim else "IRRELEVANT"

    assert json.loads(compact_verdicts(prompt, label)) == {
        "verdicts": [["7", "Opened 1861.", "contradicts", "it says so"]],
        "irrelevant": ["9"],
    }


def test_a_statement_is_a_rival_unless_the_case_says_otherwise() -> None:
    prompt = '1. "In 1861" (Document 1; A)\n2. "In Dorle" (Document 2; B)'

    assert relation_reply(prompt, [["Dorle", "NOTHING"]]) == "1: RIVAL\n2: NOTHING"
