"""Claims of an answer that is JSON: a statement for each of its values, and which are disputed."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from conflictscore.answering.statements import numbers_in, telling_terms
from conflictscore.json_answers import JsonValue, json_values, said_by
from conflictscore.loop.state import Reader
from conflictscore.markdown import passages
from conflictscore.prompts import material_line
from conflictscore.records import Attempt
from conflictscore.threads import at_once

_A_REQUEST = 40
_MOST_VALUES = 400
_VALUE_CHARS = 2000
_TOKENS, _TOKENS_A_VALUE = 64, 60
_STATEMENT = re.compile(r"[ \t*_-]{0,8}(\d{1,4})[.):][ \t]+(\S.*)")


class ValueClaims(NamedTuple):
    """Statements of a JSON answer with the places of their values, and what was left out."""

    claims: list[tuple[str, tuple[int, int] | None]]
    left_out: tuple[str, ...]
    """A sentence for each kind of value that gave no claim, or less than one of its own."""


async def claims_of_values(answer: str, question: str, judge: Reader) -> ValueClaims:
    """Have each value of a JSON answer written as a statement, with the question in view."""
    found = [value for value in json_values(answer) or () if _tells(answer, value)]
    asked = found[:_MOST_VALUES]

    async def ask(first: int) -> list[tuple[int, str]]:
        some = asked[first : first + _A_REQUEST]
        told = [(v.pointer, said_by(answer[v.start : v.end])[:_VALUE_CHARS]) for v in some]
        prompt = judge.prompts.render(
            "decompose_values",
            question=material_line(question),
            values="\n".join(
                f"{number}. {material_line(pointer)}: {material_line(text)}"
                for number, (pointer, text) in enumerate(told, start=1)
            ),
        )
        room = _TOKENS + sum(_TOKENS_A_VALUE + len(text) // 2 for _, text in told)
        said = await judge.ask(prompt, partial(_read, [text for _, text in told]), room)
        return [(first + number, text) for number, text in said]

    said = await at_once(partial(ask, first) for first in range(0, len(asked), _A_REQUEST))
    claims = [(text, asked[n][1:]) for some in said for n, text in sorted(some)]
    if not found and json_values(answer) == () and any(map(str.isalnum, answer)):
        return ValueClaims([], ("its values were not taken apart into claims",))
    why = []
    if left := len(found) - len(asked):
        why.append(f"{left} of its {len(found)} values were not taken apart into claims")
    if prose := sum(is_prose(answer[value.start : value.end]) for value in asked):
        why.append(f"{prose} of its values are texts of several sentences, each checked as one")
    return ValueClaims([(text, (a, b)) for text, (a, b) in claims], tuple(why))


def is_prose(literal: str) -> bool:
    """Whether a value is a text of several sentences: too much for one claim to take its place."""
    return literal.startswith('"') and len(passages(said_by(literal))) > 1


def disputed_values(attempt: Attempt) -> Iterator[str]:
    """A note for each value of a JSON answer that its documents dispute."""
    report, values = attempt.report, json_values(attempt.answer.text)
    if report is None or not values:
        return
    for evidence in map(report.evidence, report.disputed):
        start, end = evidence.claim.passage or (0, len(attempt.answer.text))
        held = next((v for v in values if v.start <= start and end <= v.end), None)
        if held is not None:
            sides = (
                f"supported by {_listed(evidence.supports)}, contradicted by"
                f" {_listed(evidence.contradicts)}"
            )
            yield f"the value at {held.pointer} is disputed: “{evidence.claim.text}” ({sides})"


def _tells(answer: str, value: JsonValue) -> bool:
    text = said_by(answer[value.start : value.end])
    return any(map(str.isalnum, text)) and not text.startswith(("http://", "https://"))


def _read(values: Sequence[str], reply: str) -> list[tuple[int, str]]:
    found = {int(m[1]) - 1: m[2].strip() for m in map(_STATEMENT.match, reply.splitlines()) if m}
    for index, value in enumerate(values):
        statement = found.get(index)
        if statement is None:
            raise ValueError(f"there was no line {index + 1}.")
        if statement.strip(". ").casefold() == "none":
            found.pop(index)
        elif not _says(statement, value):
            raise ValueError(f"line {index + 1} does not say “{value[:60]}”")
    return [(index, text) for index, text in found.items() if index < len(values)]


def _says(statement: str, value: str) -> bool:
    if value in ("true", "false"):
        return True
    numbers, own = _plain_numbers(value), telling_terms(value)
    enough = 2 * len(own & telling_terms(statement)) >= len(own)
    return numbers <= _plain_numbers(statement) and (enough or not own - numbers)


def _plain_numbers(text: str) -> set[str]:
    return {number.replace(",", "") for number in numbers_in(text)}


def _listed(numbers: Sequence[int]) -> str:
    if not numbers:
        return "none"
    return f"document{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
