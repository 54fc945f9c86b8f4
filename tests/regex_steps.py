"""Counts the steps that a backtracking engine takes for a regular expression.

Unlike time, steps do not depend on the machine, so an expression whose steps grow faster than its
text is found wherever the test runs. The matcher works on the tree that :mod:`re` itself parses, so
it knows every construct that the package uses; characters and positions are compared by :mod:`re`.
Repeat limits up to 1,000 count as 8, so that a short text exceeds every constant.
"""

import re
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from re import _compiler, _parser  # type: ignore[attr-defined]
from re import _constants as sre  # type: ignore[attr-defined]
from typing import Any

Continue = Callable[[int], bool]
"""The continuation after an element: whether the rest matches from a position."""
Match = Callable[[int, Continue], bool]
"""A matcher for an element, from a position, with its continuation."""

_ONE_CHARACTER = (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN)
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_STACK_BYTES = 512 << 20
_CONSTANT, _SHRUNK = 1000, 8


class TooManyStepsError(Exception):
    """An expression took more steps than allowed."""


class Steps:
    """One expression, on several texts in turn; :attr:`count` has the steps on the current text."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.count = 0
        self._text, self._most = "", 0
        self._groups: dict[int, tuple[int, int]] = {}
        self._tree = _parser.parse(pattern.pattern, pattern.flags)
        self._match = self._sequence(self._tree)

    def begin(self, text: str, most: int) -> None:
        """Start another text.

        ``TooManyStepsError`` is raised once more than ``most`` steps have been taken.
        """
        self.count = 0
        self._text, self._most = text, most

    def search(self) -> None:
        """Find every match, as ``finditer`` does."""
        position = 0
        while position <= len(self._text):
            self._step()
            end = self._end_from(position)
            if end is None:
                position += 1
            else:
                position = max(end, position + (end == position))

    def match(self, *, whole: bool) -> None:
        """Match at the beginning, or the whole text."""
        self._groups.clear()
        self._match(0, lambda end: not whole or end == len(self._text))

    def _end_from(self, start: int) -> int | None:
        ends: list[int] = []
        self._groups.clear()

        def stop(end: int) -> bool:
            ends.append(end)
            return True

        return ends[0] if self._match(start, stop) else None

    def _step(self, number: int = 1) -> None:
        self.count += number
        if self.count > self._most:
            raise TooManyStepsError

    def _sequence(self, parsed: Any) -> Match:
        elements = [self._element(kind, argument, parsed.state) for kind, argument in parsed]

        def run(index: int, position: int, follow: Continue) -> bool:
            if index == len(elements):
                return follow(position)
            return elements[index](position, lambda end: run(index + 1, end, follow))

        return lambda position, follow: run(0, position, follow)

    def _element(self, kind: Any, argument: Any, state: Any) -> Match:
        if kind in _ONE_CHARACTER:
            return self._character(kind, argument, state)
        if kind in _REPEATS:
            least, most, body = argument
            return self._repeat(kind, least, most, body, state)
        if kind is sre.BRANCH:
            return self._branch(argument[1])
        if kind is sre.SUBPATTERN:
            return self._group(argument[0], self._sequence(argument[3]))
        if kind is sre.ATOMIC_GROUP:
            return self._atomic(self._sequence(argument))
        if kind in (sre.ASSERT, sre.ASSERT_NOT):
            return self._assertion(*argument, wanted=kind is sre.ASSERT)
        if kind is sre.GROUPREF:
            return self._reference(argument)
        if kind is sre.AT:
            return self._place(kind, argument, state)
        raise NotImplementedError(str(kind))

    def _character(self, kind: Any, argument: Any, state: Any) -> Match:
        fits = _one_character(kind, argument, state)

        def match(position: int, follow: Continue) -> bool:
            self._step()
            if position == len(self._text) or not fits(self._text[position]):
                return False
            return follow(position + 1)

        return match

    def _repeat(self, kind: Any, least: int, most: Any, body: Any, state: Any) -> Match:
        limit = sys.maxsize if most is sre.MAXREPEAT else _shrunk(int(most))
        least = min(_shrunk(least), limit)
        if len(body) == 1 and body[0][0] in _ONE_CHARACTER:
            return self._run_of_characters(kind, least, limit, body, state)
        return self._repeated(kind, least, limit, self._sequence(body))

    def _run_of_characters(self, kind: Any, least: int, most: int, body: Any, state: Any) -> Match:
        [(inner, argument)] = body
        fits = _one_character(inner, argument, state)

        def end_of_run(position: int) -> int:
            end = position
            while end < len(self._text) and end - position < most and fits(self._text[end]):
                self._step()
                end += 1
            self._step()
            return end

        def match(position: int, follow: Continue) -> bool:
            if kind is sre.MIN_REPEAT:
                return shortest_first(position, follow)
            ends: Iterable[int] = range(end_of_run(position), position + least - 1, -1)
            if kind is sre.POSSESSIVE_REPEAT:
                ends = list(ends)[:1]
            for end in ends:
                self._step()
                if follow(end):
                    return True
            return False

        def shortest_first(position: int, follow: Continue) -> bool:
            end = position
            while end - position <= most:
                self._step()
                if end - position >= least and follow(end):
                    return True
                if end == len(self._text) or not fits(self._text[end]):
                    return False
                end += 1
            return False

        return match

    def _repeated(self, kind: Any, least: int, most: int, body: Match) -> Match:
        if kind is sre.POSSESSIVE_REPEAT:
            return self._atomic(self._repeated(sre.MAX_REPEAT, least, most, body))

        def again(times: int, position: int, follow: Continue) -> bool:
            self._step()

            def more(end: int) -> bool:
                # an empty iteration of the body adds nothing
                return (end > position or times < least) and again(times + 1, end, follow)

            if kind is sre.MIN_REPEAT and times >= least and follow(position):
                return True
            if times < most and body(position, more):
                return True
            return kind is sre.MAX_REPEAT and times >= least and follow(position)

        return lambda position, follow: again(0, position, follow)

    def _branch(self, parts: Sequence[Any]) -> Match:
        matches = [(_first_character(part), self._sequence(part)) for part in parts]

        def match(position: int, follow: Continue) -> bool:
            self._step()
            character = self._text[position : position + 1]
            for first, rest in matches:
                # like the engine, do not enter a part that begins with another character
                if (first is None or (character and first(character))) and rest(position, follow):
                    return True
            return False

        return match

    def _group(self, number: int | None, body: Match) -> Match:
        if number is None:
            return body

        def match(position: int, follow: Continue) -> bool:
            def close(end: int) -> bool:
                before = self._groups.get(number)
                self._groups[number] = (position, end)
                if follow(end):
                    return True
                if before is None:
                    del self._groups[number]
                else:
                    self._groups[number] = before
                return False

            return body(position, close)

        return match

    def _atomic(self, body: Match) -> Match:
        def match(position: int, follow: Continue) -> bool:
            ends: list[int] = []

            def stop(end: int) -> bool:
                ends.append(end)
                return True

            return body(position, stop) and follow(ends[0])

        return match

    def _assertion(self, direction: int, parsed: Any, *, wanted: bool) -> Match:
        body = self._sequence(parsed)
        width, _ = parsed.getwidth()

        def match(position: int, follow: Continue) -> bool:
            self._step()
            start = position if direction > 0 else position - width
            holds = start >= 0 and body(start, lambda end: direction > 0 or end == position)
            return follow(position) if holds == wanted else False

        return match

    def _reference(self, number: int) -> Match:
        def match(position: int, follow: Continue) -> bool:
            if number not in self._groups:
                return False
            start, end = self._groups[number]
            self._step(end - start + 1)
            repeated = self._text.startswith(self._text[start:end], position)
            return repeated and follow(position + end - start)

        return match

    def _place(self, kind: Any, argument: Any, state: Any) -> Match:
        place = _compiled([(kind, argument)], state)

        def match(position: int, follow: Continue) -> bool:
            self._step()
            return place.match(self._text, position) is not None and follow(position)

        return match


def _shrunk(bound: int) -> int:
    return min(bound, _SHRUNK) if bound <= _CONSTANT else bound


def _compiled(elements: list[Any], state: Any) -> re.Pattern[str]:
    alone = _parser.State()
    alone.flags = state.flags
    alone.str = ""
    compiled: re.Pattern[str] = _compiler.compile(_parser.SubPattern(alone, elements), state.flags)
    return compiled


def _first_character(parsed: Any) -> Callable[[str], bool] | None:
    """Whether a character may begin a text of this form; None if that is not obvious."""
    if len(parsed) and parsed[0][0] in _ONE_CHARACTER:
        kind, argument = parsed[0]
        return _one_character(kind, argument, parsed.state)
    return None


def _one_character(kind: Any, argument: Any, state: Any) -> Callable[[str], bool]:
    """Whether a character matches an element; :mod:`re` is asked once per character."""
    alone = _compiled([(kind, argument)], state)
    return cache(lambda character: alone.match(character) is not None)


def repeated_characters(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """Whether a character may occur in an unbounded repeat.

    In a text without such characters no such repeat iterates, so each start has constant cost.
    """
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    fits = [_one_character(*found) for found in _in_endless_repeats(parsed, inside=False)]
    return cache(lambda character: any(fit(character) for fit in fits))


def distinguished_characters(pattern: re.Pattern[str]) -> Callable[[str], Hashable]:
    """What a pattern can tell of a character: which of its elements the character fits.

    Texts whose characters are the same to a pattern, one by one, take the same steps. A pattern
    that refers back to a group compares characters with each other, so it tells them all apart.
    """
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    kinds = set(_kinds_in(parsed))
    if kinds & {sre.GROUPREF, sre.GROUPREF_EXISTS}:
        return lambda character: character
    fits = [_one_character(*element) for element in _in_endless_repeats(parsed, inside=True)]
    if sre.AT in kinds:  # boundaries of words and ends of lines look at these three
        fits += [lambda c: c == "\n", lambda c: c.isalnum() or c == "_", str.isascii]
    return cache(lambda character: tuple(fit(character) for fit in fits))


def _kinds_in(parsed: Any) -> Iterator[Any]:
    for kind, argument in parsed:
        yield kind
        for part in _parts_of(kind, argument):
            yield from _kinds_in(part)


def _parts_of(kind: Any, argument: Any) -> Sequence[Any]:
    if kind in _ONE_CHARACTER:
        return []
    return [argument[2]] if kind in _REPEATS else _parts(kind, argument)


def _in_endless_repeats(parsed: Any, *, inside: bool) -> Iterator[tuple[Any, Any, Any]]:
    for kind, argument in parsed:
        if kind in _ONE_CHARACTER:
            if inside:
                yield kind, argument, parsed.state
        elif kind in _REPEATS:
            _, most, body = argument
            endless = most is sre.MAXREPEAT or int(most) > _CONSTANT
            yield from _in_endless_repeats(body, inside=inside or endless)
        else:
            for part in _parts(kind, argument):
                yield from _in_endless_repeats(part, inside=inside)


def _parts(kind: Any, argument: Any) -> Sequence[Any]:
    if kind is sre.BRANCH:
        parts: Sequence[Any] = argument[1]
        return parts
    if kind is sre.SUBPATTERN:
        return [argument[3]]
    if kind is sre.ATOMIC_GROUP:
        return [argument]
    return [argument[1]] if kind in (sre.ASSERT, sre.ASSERT_NOT) else []


@lru_cache(maxsize=1)  # parsing an expression costs more than most texts
def _steps_by_pattern(pattern: re.Pattern[str]) -> Steps:
    return Steps(pattern)


def steps_of(pattern: re.Pattern[str], methods: frozenset[str], text: str, most: int) -> int:
    """Steps of a pattern on a text by these methods of :mod:`re`, or ``most`` if there are more."""
    total = 0
    ways: list[Callable[[Steps], None]] = []
    if not methods or methods - {"match", "fullmatch"}:
        ways.append(Steps.search)
    if "match" in methods:
        ways.append(lambda steps: steps.match(whole=False))
    if "fullmatch" in methods:
        ways.append(lambda steps: steps.match(whole=True))
    steps = _steps_by_pattern(pattern)
    for way in ways:
        steps.begin(text, most - total)
        try:
            way(steps)
        except (TooManyStepsError, RecursionError):
            return most
        total += steps.count
    return total


def with_deep_stack(work: Callable[[], None]) -> None:
    """Run a function in a thread with a stack deep enough for each character of a long text."""
    errors: list[BaseException] = []

    def run() -> None:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(400_000)
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised again in the caller's thread
            errors.append(error)
        finally:
            sys.setrecursionlimit(before)

    usual = threading.stack_size(_STACK_BYTES)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(usual)
    if errors:
        raise errors[0]
