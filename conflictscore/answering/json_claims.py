"""Functions that turn the values of a JSON answer into claims, and report the disputed values."""

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

# Values per request, so that a reply has at most about 2,500 tokens if the values are short. The
# numbers in this module were chosen by hand.
_A_REQUEST = 40
# Maximum number of values of an answer to ask about: at most 10 requests. A note counts the rest.
_MOST_VALUES = 400
# Maximum number of characters of a value to show; the rest of a longer text is not checked. Such a
# text usually has several sentences, and a note then says that it was checked as one claim.
_VALUE_CHARS = 2000

# Reply tokens: a fixed number, plus a number for each value and half a token per character.
# A statement repeats its value, and adds a few words of the question.
_TOKENS, _TOKENS_A_VALUE = 64, 60
# A numbered line of a reply, such as "3. The mine closed in 1931".
_STATEMENT = re.compile(r"[ \t*_-]{0,8}(\d{1,4})[.):][ \t]+(\S.*)")


class ValueClaims(NamedTuple):
    """The statements of a JSON answer, the places of their values, and notes on omitted values."""

    claims: Sequence[tuple[str, tuple[int, int] | None]]
    left_out: tuple[str, ...]
    """Notes on values without a claim, and on values of several sentences with only one claim."""


async def claims_of_values(answer: str, question: str, judge: Reader) -> ValueClaims:
    """Ask the model to write each value of a JSON answer as a statement about the question."""
    values_to_ask = [each for each in json_values(answer) or () if _tells(answer, each)]
    first_values = values_to_ask[:_MOST_VALUES]

    async def ask(first: int) -> list[tuple[int, str]]:
        some = first_values[first : first + _A_REQUEST]
        texts = [said_by(answer[each.start : each.end])[:_VALUE_CHARS] for each in some]
        prompt = judge.prompts.render(
            "decompose_values",
            question=material_line(question),
            values="\n".join(
                f"{number}. {material_line(each.pointer)}: {material_line(text)}"
                for number, (each, text) in enumerate(zip(some, texts, strict=True), start=1)
            ),
        )
        room = _TOKENS + sum(_TOKENS_A_VALUE + len(text) // 2 for text in texts)
        statements = await judge.ask(prompt, partial(_read, texts), room)
        return [(first + number, text) for number, text in statements]

    starts = range(0, len(first_values), _A_REQUEST)
    replies = await at_once(partial(ask, first) for first in starts)
    statements = [statement for reply in replies for statement in reply]
    # the values of a JSON text that is nested too deeply cannot be located
    if not values_to_ask and json_values(answer) == () and any(map(str.isalnum, answer)):
        return ValueClaims([], ("its values were not split into claims",))
    spans = [(each.start, each.end) for each in first_values]
    claims = [(text, spans[number]) for number, text in statements]
    literals = [answer[start:end] for start, end in spans]
    return ValueClaims(claims, tuple(_left_out(literals, n_values=len(values_to_ask))))


def _left_out(literals: Sequence[str], *, n_values: int) -> Iterator[str]:
    """Yield notes on values beyond the limit, and on values of several sentences."""
    if n_left_out := n_values - len(literals):
        yield f"{n_left_out} of its {n_values} values were not split into claims"
    if prose := sum(map(is_prose, literals)):
        if prose == 1:
            yield "1 of its values has several sentences, and was checked as one claim"
        else:
            yield (
                f"{prose} of its values have several sentences, and each was checked as one claim"
            )


def is_prose(literal: str) -> bool:
    """Return whether a value has several sentences, so that one statement cannot replace it."""
    return literal.startswith('"') and len(passages(said_by(literal))) > 1


def disputed_values(attempt: Attempt) -> Iterator[str]:
    """Yield a note for each value of a JSON answer that the documents dispute."""
    report, answer_values = attempt.report, json_values(attempt.answer.text)
    if report is None or not answer_values:
        return
    for evidence in map(report.evidence, report.disputed):
        start, end = evidence.claim.passage or (0, len(attempt.answer.text))
        around = next((v for v in answer_values if v.start <= start and end <= v.end), None)
        if around is not None:
            sides = (
                f"supported by {_listed(evidence.supports)}, contradicted by"
                f" {_listed(evidence.contradicts)}"
            )
            yield f"the value at {around.pointer} is disputed: “{evidence.claim.text}” ({sides})"


def _tells(answer: str, leaf: JsonValue) -> bool:
    """Return whether a value may state something: it has a letter or digit and is not a URL."""
    text = said_by(answer[leaf.start : leaf.end])
    return any(map(str.isalnum, text)) and not text.startswith(("http://", "https://"))


def _read(texts: Sequence[str], reply: str) -> list[tuple[int, str]]:
    """Read a reply's statements with the indices of their values; ``none`` means no statement."""
    matches = filter(None, map(_STATEMENT.match, reply.splitlines()))
    statements = {int(match[1]) - 1: match[2].strip() for match in matches}
    for index, text in enumerate(texts):
        statement = statements.get(index)
        if statement is None:
            raise ValueError(f"there was no line {index + 1}.")
        if statement.strip(". ").casefold() == "none":
            statements.pop(index)
        elif not _says(statement, text):
            # the model reads this message, so the beginning of the text suffices
            raise ValueError(f"line {index + 1} does not say “{text[:60]}”")
    return [(index, statements[index]) for index in range(len(texts)) if index in statements]


def _says(statement: str, text: str) -> bool:
    """Return whether a statement contains a value's numbers and at least half of its words.

    The values true and false are not checked, since a statement puts them into other words.
    """
    if text in ("true", "false"):
        return True
    numbers, own = _plain_numbers(text), telling_terms(text)
    enough = 2 * len(own & telling_terms(statement)) >= len(own)
    # A number is a term too, but its digits may be grouped otherwise, as in 1,00,000 for 100000. So
    # a value of only numbers needs no shared terms.
    return numbers <= _plain_numbers(statement) and (enough or not own - numbers)


def _plain_numbers(text: str) -> set[str]:
    return {number.replace(",", "") for number in numbers_in(text)}


def _listed(numbers: Sequence[int]) -> str:
    if not numbers:
        return "none"
    return f"document{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
