"""Reading any text takes steps in proportion to its length.

Every compiled pattern of the package, and every function that takes a text, is found and tried with
texts that slow down careless ones, so new ones are tried without being listed here. Steps are
counted, never seconds: a matcher's steps for patterns, and lines of Python for functions.
"""

import ast
import importlib
import inspect
import logging
import re
import sys
import tempfile
import typing
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, product
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import pytest

import conflictscore
from tests import made_up
from tests.made_up import calls_with_text
from tests.regex_steps import (
    distinguished_characters,
    repeated_characters,
    steps_of,
    with_deep_stack,
)

PATTERN_SIZES, FEW_STEPS = (48, 192), 32
"""Lengths of texts in characters; and steps per character below which a pattern counts as
linear."""
FUNCTION_SIZES, FEW_LINES = (300, 1_500, 6_000), 120
"""Lengths of texts, the longer ones beyond the package's constants; and lines of Python
likewise."""
GROWTH = 1.5
"""The highest power of the length with which steps may grow; quadratic steps grow with power 2."""
HOPELESS = 2_000
"""Steps per character from which longer texts are not tried."""
ROOT = Path(conflictscore.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if path.stem != "__main__"  # importing one starts a command
)

UNITS = (
    *("a", " ", "\n", ".", "<", "(", "[", "`", "*", "#", "|", "-", '"', "\\", "{", "&", "_", "1"),
    *("A. ", "a b", "# a\n", "a\n\n", "- a\n", "1. a\n", "> ", "| a ", "](", "[1]", "<a ", "<!--"),
    *("`a` ", "**a", "&a", "Jan. ", "z. B. ", "a, ", "é", "e\u0301", "\u200b", "\u00ad", "\ufb01"),
    *("你", "。", "😀", "\ud800", "https://a.b/", "a@b.", "WAY: ", "PASSAGE:\n", "<answer>", "\t"),
    *("<think>\n", "</think>", "<|channel|>", "Claims:\n", "SUPPORTS ", '{"answer": "', "- - "),
    *("```\n", "||", "$x$", "\\(", "CLAIM 1: ", '{"a":', "[[", "1,", "= ", "…", "“a” "),
)


def imported(name: str) -> ModuleType:
    """A module of the package; without a library that it needs, the test is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(str(error))


METHODS = ("search", "match", "fullmatch", "sub", "split", "findall", "finditer")


class Used(NamedTuple):
    """A pattern, and the methods that its module calls on it."""

    source: str
    flags: int
    methods: frozenset[str]


def patterns(module: ModuleType) -> Iterator[Used]:
    """The patterns that a module compiles, as globals and inside its functions."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):  # an empty module
        return
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            continue
        if node.attr in METHODS:
            used.setdefault(node.value.id, set()).add(node.attr)
    for name, value in vars(module).items():
        group = value.values() if isinstance(value, dict) else value
        for one in group if isinstance(group, tuple | list | type({}.values())) else (value,):
            if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                yield Used(one.pattern, one.flags, frozenset(used.get(name, ())))
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=method),
                args=[ast.Constant(value=str(source)), *_],
            ) if method in METHODS:
                with suppress(re.error):
                    yield Used(source, re.compile(source).flags, frozenset({method}))


def atoms(parsed: Any) -> Iterator[str]:
    """The pieces that a pattern looks for: its literals, and a character from each set."""
    run = ""
    for kind, value in parsed:
        if kind is sre.LITERAL:
            run += chr(value)
            continue
        if run:
            yield run
        run = ""
        if kind is sre.IN:
            yield from (chr(v if k is sre.LITERAL else v[0]) for k, v in value if k in _PLAIN)
            yield from (_CATEGORIES.get(str(v), "") for k, v in value if k is sre.CATEGORY)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from atoms(branch)
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            yield from atoms(value[2])
        elif kind is sre.SUBPATTERN:
            yield from atoms(value[3])
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from atoms(value[1])
        elif kind is sre.ATOMIC_GROUP:
            yield from atoms(value)
    if run:
        yield run


_PLAIN = (sre.LITERAL, sre.RANGE)
_CATEGORIES = {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a"}
_MOST_ATOMS = 6


class Shape(NamedTuple):
    """A form of text, of any length."""

    first: str
    unit: str
    last: str

    def text(self, length: int) -> str:
        return self.first + self.unit * max(1, length // len(self.unit)) + self.last


def hostile(pattern: re.Pattern[str]) -> Iterator[Shape]:
    """Texts made of the pieces that the pattern looks for."""
    found = dict.fromkeys(filter(None, atoms(_parser.parse(pattern.pattern, pattern.flags))))
    pieces = [*list(found)[:_MOST_ATOMS], "a", " "]
    for one, other in product(pieces, repeat=2):
        yield Shape("", one + other, "")
        yield Shape(one, other, "\x00")


def different_to(pattern: re.Pattern[str], shapes: Sequence[Shape]) -> list[Shape]:
    """One shape of each set in which a pattern takes the same steps, whatever the length."""
    kind = distinguished_characters(pattern)
    by_kinds: dict[tuple[tuple[Hashable, ...], ...], Shape] = {}
    for shape in shapes:
        by_kinds.setdefault(tuple(tuple(map(kind, text)) for text in shape), shape)
    return [*by_kinds.values()]


GENERIC = [Shape("", unit, end) for unit, end in product(UNITS, ("", "x"))]


Count = Callable[[str, int], int]
"""Counts the steps on a text, up to a limit."""


def grows(count: Count, shape: Shape, sizes: Sequence[int], few: int) -> bool:
    """Whether steps grow faster from the second longest text to the longest than ``GROWTH``."""
    *first, short, long = sizes
    shortest = shape.text([*first, short][0])
    if count(shortest, few * len(shortest)) < few * len(shortest):
        return False
    text = shape.text(short)
    most = HOPELESS * len(text)
    steps = count(text, most)
    most_at_length = int(steps * (long / short) ** GROWTH)
    return steps >= most or count(shape.text(long), most_at_length + 1) > most_at_length


UNCOUNTED = {
    module.__file__
    for module in (inspect, logging, made_up, re._compiler, re._parser, typing)  # type: ignore[attr-defined]
}
"""Files whose lines are not counted: the compiler of patterns, which is linear, and what makes up
arguments and drops log lines. They would be most of the lines, and would hide growth elsewhere."""


class _EnoughError(BaseException):
    """A function has used up its lines; nothing on the way may catch this."""


def lines_of(function: Callable[[str], object], text: str, most: int) -> int:
    """Lines of Python that a call runs in this thread, or ``most`` if there are more."""
    count = 0

    def enter(frame: FrameType, event: str, argument: object) -> Any:
        return None if frame.f_code.co_filename in UNCOUNTED else trace

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        if count >= most:
            raise _EnoughError
        return trace

    # Work done once at the first call does not count. A few lines more on a short text only mean
    # that longer ones are tried.
    if len(text) > 2 * FUNCTION_SIZES[0]:
        with suppress(Exception, SystemExit):
            function(text[:24])
    before = sys.gettrace()
    with suppress(Exception, SystemExit, _EnoughError):
        sys.settrace(enter)
        try:
            function(text)
        finally:
            sys.settrace(before)  # before the end of `suppress`, whose lines do not count
    return min(count, most)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("module", MODULES)
def test_every_pattern_is_linear(module: str) -> None:
    used_patterns = [*dict.fromkeys(patterns(imported(module)))]
    slow: list[str] = []

    def try_all() -> None:
        for used in used_patterns:
            pattern = re.compile(used.source, used.flags)
            count = partial(steps_of, pattern, used.methods)
            may_repeat = repeated_characters(pattern)
            shapes = [s for s in (*GENERIC, *hostile(pattern)) if any(map(may_repeat, s.unit))]
            different = different_to(pattern, shapes)
            growing = (s for s in different if grows(count, s, PATTERN_SIZES, FEW_STEPS))
            slow.extend(f"{used.source!r} on {s}" for s in islice(growing, 1))

    with_deep_stack(try_all)
    assert slow == []


NOT_TRIED = re.compile(
    r"reading\.box|reading\.pdf_sight\.|graph\.create\.|kept_runs\.KeptRuns"
    r"|middleware\.corrector\."
)
"""Functions that start processes, access the network, read large files, end the interpreter or
follow addresses; functions that are tried read the texts that they are given."""


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("module", MODULES)
def test_every_function_and_method_that_takes_a_text_is_linear(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "CONFLICTSCORE_CACHE_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # A log line with a lone surrogate cannot be sent to the process that collects the results.
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    for name in ("socket.socket.connect", "subprocess.Popen.__init__", "time.sleep"):
        monkeypatch.setattr(name, _refused)
    slow = [
        f"{function_name} on {shape}"
        for function_name, function in calls_with_text(imported(module))
        if not NOT_TRIED.search(f"{module}.{function_name}".removeprefix("conflictscore."))
        for shape in GENERIC[1::2]
        if grows(partial(lines_of, function), shape, FUNCTION_SIZES, FEW_LINES)
    ]
    assert slow == []


def _refused(*args: object, **named: object) -> None:
    raise OSError("no process, no network and no waiting in this test")


@pytest.mark.parametrize(
    "slow", [r"\s+$", r"<[^>]*>", r"(?:a|b)+c", r"\w+:", r"PASSAGE:\s*\S*\s*x"]
)
def test_what_is_quadratic_is_found(slow: str) -> None:
    pattern = re.compile(slow)
    count = partial(steps_of, pattern, frozenset({"search"}))
    found: list[Shape] = []
    with_deep_stack(
        lambda: found.extend(
            s for s in hostile(pattern) if grows(count, s, PATTERN_SIZES, FEW_STEPS)
        )
    )
    assert found


def test_a_function_that_reads_what_it_has_read_is_found() -> None:
    def again_and_again(text: str) -> int:
        return sum(ord(letter) for start in range(len(text)) for letter in text[start:])

    def once(text: str) -> int:
        return sum(ord(letter) for letter in text)

    [quadratic, linear] = [
        grows(partial(lines_of, function), Shape("", "a", ""), (60, 300, 1_200), few=20)
        for function in (again_and_again, once)
    ]
    assert (quadratic, linear) == (True, False)
