"""Taking an answer apart: its short answers, and the pairs that it sets against each other."""

import re
from collections.abc import Iterator

from conflictscore.benchmarks.natconfqa.data import NatConfQuestion, Pair, answer_key
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.records import Record

__all__ = ["Decomposition", "decompose", "read_decomposition"]

_REPLY_TOKENS = 768
_MARKUP = r"[\s*_`#>]*"
_HEADING = re.compile(rf"{_MARKUP}(answers|conflicts){_MARKUP}:{_MARKUP}(none)?[\s*_`.]*", re.I)
_NONE = re.compile(r"[\s*_`#>\-\u2022(\"]*none[\s*_`.)\"]*", re.I)
_NUMBERED = re.compile(r"[\s*_`\[]*(\d{1,3})[\]*_]*[.:)][*_]*\s+(.*\S)\s*")
_PAIR = re.compile(
    r"[\s*_`\[(\-]*(\d{1,3})\.?\s*(?:-|\u2013|\u2014|,|and|vs\.?)\s*(\d{1,3})[\s*_`\]).]*", re.I
)


class Decomposition(Record):
    """The short answers that a text gives to a question, each once, in its order."""

    answers: tuple[str, ...]
    conflicts: tuple[Pair, ...]
    """The pairs of ``answers`` that the text sets against each other, ascending."""


async def decompose(
    question: NatConfQuestion,
    answer: str,
    *,
    model: LanguageModel,
    prompts: PromptSet,
    meter: UsageMeter,
) -> Decomposition:
    """Have a judge take an answer apart; it sees neither references nor passages.

    Args:
        question: What was asked.
        answer: Untrusted; it stands between marks that it cannot close. Where it is blank, nobody
            is asked.
        model: The judge.
        prompts: The template ``natconfqa_decompose``.
        meter: Counts the calls.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be judged.
        ProviderError: The judge failed, or twice gave a reply that cannot be read.
    """
    if not answer.strip():
        return Decomposition(answers=(), conflicts=())
    return await model.ask(
        prompts.render(
            "natconfqa_decompose",
            question=material_line(question.question),
            answer=material(answer),
        ),
        read_decomposition,
        prompts=prompts,
        meter=meter,
        max_tokens=_REPLY_TOKENS,
    )


def read_decomposition(reply: str) -> Decomposition:
    """The two lists of a reply: numbered short answers, and pairs of their numbers.

    Markdown around the words makes no difference. Short answers that are the same but for their
    spelling become one.

    Args:
        reply: What the judge wrote.

    Raises:
        ValueError: A list is missing, stands there twice or has a line of another form, the
            numbers do not go 1, 2, 3, or a pair names no two different short answers.
    """
    lists = _lists(reply)
    kept: dict[str, str] = {}
    index: list[int] = []
    for number, line in enumerate(lists["answers"], start=1):
        found = _NUMBERED.fullmatch(line)
        if found is None or int(found[1]) != number:
            raise ValueError(f'below "ANSWERS:", "{number}. " and a short answer were expected')
        key = answer_key(found[2])
        if not key:
            raise ValueError(f"short answer {number} has no words")
        kept.setdefault(key, found[2])
        index.append(list(kept).index(key))
    pairs = {_pair(line, index) for line in lists["conflicts"]}
    return Decomposition(answers=tuple(kept.values()), conflicts=tuple(sorted(pairs)))


def _lists(reply: str) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in filter(str.strip, reply.splitlines()):
        if heading := _HEADING.fullmatch(line):
            name = heading[1].lower()
            if name in lists:
                raise ValueError(f'the line "{name.upper()}:" stands there twice')
            current = lists[name] = ["none"] if heading[2] else []
        elif current is None:
            raise ValueError('it did not begin with the line "ANSWERS:"')
        else:
            current.append(line)
    for name in ("answers", "conflicts"):
        if name not in lists:
            raise ValueError(f'the line "{name.upper()}:" was missing')
    return {name: list(_entries(lines, name)) for name, lines in lists.items()}


def _entries(lines: list[str], name: str) -> Iterator[str]:
    if not lines:
        raise ValueError(f'below "{name.upper()}:" there was nothing, not even "none"')
    if len(lines) == 1 and _NONE.fullmatch(lines[0]):
        return
    yield from lines


def _pair(line: str, index: list[int]) -> Pair:
    found = _PAIR.fullmatch(line)
    if found is None:
        raise ValueError('below "CONFLICTS:", two numbers such as "1 - 2" or "none" were expected')
    numbers = int(found[1]), int(found[2])
    if not all(1 <= number <= len(index) for number in numbers):
        raise ValueError(f"the conflict {numbers[0]} - {numbers[1]} names no short answer")
    one, other = sorted(index[number - 1] for number in numbers)
    if one == other:
        raise ValueError(f"the conflict {numbers[0]} - {numbers[1]} is of an answer with itself")
    return one, other
