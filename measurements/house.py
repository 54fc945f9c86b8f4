"""Reports the sizes of the repository's packages, and names and wordings to avoid.

Lines by room: a room is a package below conflictscore/, or tests/, measurements/ or training/.

Shared module names: file names that occur in two folders, and may therefore mean two things. Three
repetitions are intended and do not count. The folders below benchmarks/ have the same parts. A file
in cli/ is named after the command that it defines. The registry.py of a folder lists the names that
users may choose. Shared class names: public classes and type aliases defined in two modules.

Wordings: each entry of PATTERNS has names to avoid, and a regular expression for wordings to avoid
in docstrings, help texts and messages. The patterns only find known offenders. No pattern can
determine whether a sentence reads well.

Rules for names, kinds and functions (``measurements.house_counts``): sentences that code compares,
circular imports, imports between the steps of the loop, names that are bare participles or empty
nouns, complexity, docstrings, splatted literals and choices by tricks. Each count is shown with its
value at commit 637d1c6f, counted by the same rules, and with its limit. A test fails if a count
exceeds its limit, except for the rules in NOT_YET, which are marked "not yet". Comments per 1,000
lines and tokens per line are printed for information.

The number of wordings to review and the reading ease of each page (``measurements.readability``)
are printed for information, too. --review lists the places of these wordings.

--questions prints questions for a reader who has never seen the package. The fewer files the reader
must open to answer a question, the better.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click

from measurements import house_counts, readability

QUESTIONS = (
    "In which order do the steps of the loop run, and what ends it?",
    "When does a claim count as in conflict?",
    "How does a pair of claim and document get its label?",
    "What happens when a model call fails?",
    "What makes two calls share a stored verdict or reply?",
    "How is an agent wrapped?",
    "How is a search service added?",
    "How is a labeler added?",
    "How is a benchmark method added?",
    "What does the log say of a change of the answer?",
    "Where do settings come from, which are there, and how are keys kept out of logs?",
)
"""Questions that a newcomer asks."""

_LONG = 400  # maximum number of lines in a module


class _Pattern(NamedTuple):
    """Names to avoid, and a regular expression for prose to avoid; either may be empty."""

    names: frozenset[str] = frozenset()
    prose: str = ""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PATTERNS: Mapping[str, _Pattern] = {
    "docstrings headed by What or Who": _Pattern(prose=r"\A(?:What|Who|Whom|Whose|That which)\b"),
    "metaphors": _Pattern(
        _names("doors errand errands Pace Gate _Crowd _Calm Silent Line Ticket Play"),
        r"\b(?:errands?|(?:a|the|this|each|every) doors?\b(?! of)|the house"
        r"|rooms? (?:of|that|imports))",
    ),
    "participles as nouns": _Pattern(
        _names("Given Doubt heard stands joined taken_back spoiled Doubted _Doubted doubted")
    ),
    "names with several meanings": _Pattern(_names("_telling _apart once")),
    "unclear names": _Pattern(
        _names("Certain Way takes has_learned Trouble excused _owns_up held_to_length")
    ),
    "archaic passives": _Pattern(
        prose=r"the one who answers|gave no answer within|\bof before\b|\bis heard\b|\bare heard\b"
        r"|\b(?:is|are|was|were) told (?:that|of|by|apart|as)\b|\bhas to be told\b"
    ),
    "help that teaches nothing": _Pattern(
        prose=r"counts? (?:beside|more)\b|what is kept costs none|given beside it"
    ),
}
"""The patterns by name."""


def modules_in(*folders: Path) -> dict[str, str]:
    """Return the source of all modules below folders, by path relative to the folder's parent."""
    return {
        path.relative_to(folder.parent).as_posix(): path.read_text("utf-8")
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    }


class Count(NamedTuple):
    """The count of a rule: places that break it, its value at commit 637d1c6f, and its limit."""

    places: list[str]
    before: int
    most: int


_PARTICIPLES_SHARE = 0.02  # maximum share of bare participles among all names that functions bind

NOT_YET: frozenset[str] = frozenset()
"""Rules that the package does not follow yet. Violations of these rules are counted and printed,
but fail no test.

The set is empty because all current rules are followed.
"""


def counts_in(modules: Mapping[str, str]) -> dict[str, Count]:
    """Return the counts of all rules for a package, given its source by path."""
    return _counts_of(_parsed(modules))


def _parsed(modules: Mapping[str, str]) -> dict[str, ast.Module]:
    return {path: _tree_of(source) for path, source in modules.items()}


@cache
def _tree_of(source: str) -> ast.Module:
    """Parse a module.

    Trees are cached, since parsing takes half of the time, and must not be changed.
    """
    return ast.parse(source)


def _counts_of(trees: Mapping[str, ast.Module]) -> dict[str, Count]:
    bound = house_counts.bindings(trees)
    names = house_counts.bound_names(bound).total()
    return {
        "sentences that code compares": Count(house_counts.compared_sentences(trees), 9, 0),
        "circles of imports": Count(house_counts.module_circles(trees), 4, 0),
        "imports between nodes": Count(house_counts.imports_between_nodes(trees), 65, 0),
        "names that are bare participles": Count(
            house_counts.bare_participles(bound), 1489, int(_PARTICIPLES_SHARE * names)
        ),
        "names that are empty nouns": Count(house_counts.empty_nouns(bound), 338, 338),
        f"complexity of {house_counts.MOST_COMPLEX} or more": Count(
            house_counts.complex_functions(trees), 71, 0
        ),
        "undocumented classes and long functions": Count(house_counts.undocumented(trees), 110, 0),
        "splatted literals": Count(house_counts.splatted_literals(trees), 72, 0),
        "choices by tricks": Count(house_counts.one_line_choices(trees), 5, 0),
    }


def exceeded_in(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the places of each rule whose count exceeds its limit, except for rules in NOT_YET."""
    return {
        rule: count.places
        for rule, count in counts_in(modules).items()
        if len(count.places) > count.most and rule not in NOT_YET
    }


def found_in(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return everything that should not be in a package, given its source by path.

    Returns:
        The places that break each rule, by the rule's name.
    """
    return _found_in(modules, _parsed(modules))


def _found_in(modules: Mapping[str, str], trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    return {
        f"modules over {_LONG} lines": [
            path for path, source in modules.items() if len(source.splitlines()) > _LONG
        ],
        "shared module names": _shared(_module_names(trees)),
        "shared class names": _shared(_class_names(trees)),
        **{f"wording: {name}": places for name, places in _offences(trees).items()},
    }


def _module_names(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    for path, tree in trees.items():
        *folders, name = path.removesuffix(".py").split("/")
        functions = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
        a_command = folders[1:] == ["cli"] and name in functions
        if name.startswith("__") or name == "registry" or a_command:
            continue
        part_of_a_benchmark = folders[1:2] == ["benchmarks"] and folders[2:] not in (
            [],
            ["harness"],
        )
        yield name, "benchmarks/*" if part_of_a_benchmark else path


def _class_names(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    for path, tree in trees.items():
        for node in tree.body:
            name = ""
            if isinstance(node, ast.ClassDef):
                name = node.name
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = "" if _is_type_variable(node.value) else node.targets[0].id
            if name[:1].isupper() and not name.isupper():
                yield name, path


def _is_type_variable(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) in ("TypeVar", "ParamSpec")


def _shared(named: Iterable[tuple[str, str]]) -> list[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for name, where in named:
        if where not in places[name]:
            places[name].append(where)
    return [f"{name}: {', '.join(there)}" for name, there in places.items() if len(there) > 1]


def _offences(trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in PATTERNS}
    for path, tree in trees.items():
        names, prose = [*_defined(tree)], [*_prose(tree)]
        for pattern, wanted in PATTERNS.items():
            found[pattern] += [f"{path}:{n} {name}" for n, name in names if name in wanted.names]
            if wanted.prose:
                hits = ((n, re.search(wanted.prose, text)) for n, text in prose)
                found[pattern] += [f"{path}:{n} {hit[0]}" for n, hit in hits if hit]
        stem = path.rpartition("/")[2].removesuffix(".py")
        found["metaphors"] += [path] if stem in PATTERNS["metaphors"].names else []
    return found


def _defined(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names of classes, functions, arguments, fields and variables, with their places."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.lineno, node.target.id
        elif isinstance(node, ast.Assign):
            yield from ((node.lineno, one.id) for one in node.targets if isinstance(one, ast.Name))


def _prose(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield texts of several words (docstrings, help and messages), except questions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.strip()
            if " " in text and not text.endswith("?"):
                yield node.lineno, text


@click.command(help=__doc__)
@click.option("--show", is_flag=True, help="List each place that breaks a rule.")
@click.option("--review", is_flag=True, help="List each place that has a wording to review.")
@click.option("--questions", is_flag=True, help="Print the questions for a reader, and stop.")
def main(show: bool, review: bool, questions: bool) -> None:
    """See the module."""
    if questions:
        click.echo("\n".join(f"{n}. {one}" for n, one in enumerate(QUESTIONS, start=1)))
        return
    root = Path(__file__).parents[1]
    package = modules_in(root / "conflictscore")
    beside = modules_in(root / "tests", root / "measurements", root / "training")
    lines: Counter[str] = Counter()
    for path, source in {**package, **beside}.items():
        room, _, inner = path.partition("/")
        n = len(source.splitlines())
        lines[room] += n
        if room == "conflictscore" and "/" in inner:
            lines[f"  {inner.partition('/')[0]}/"] += n
    for room, n in lines.most_common():
        click.echo(f"{room:<42} {n:>8,}")
    trees = _parsed(package)
    for rule, places in _found_in(package, trees).items():
        click.echo(f"{rule:<42} {len(places):>8,}")
        if show:
            click.echo("".join(f"    {place}\n" for place in places), nl=False)
    click.echo(f"{'':<42} {'now':>8} {'637d1c6f':>8} {'most':>8}")
    for rule, count in _counts_of(trees).items():
        mark = "  not yet" if rule in NOT_YET else ""
        click.echo(f"{rule:<42} {len(count.places):>8,} {count.before:>8,} {count.most:>8,}{mark}")
        if show:
            click.echo("".join(f"    {place}\n" for place in count.places), nl=False)
    names = house_counts.bound_names(house_counts.bindings(trees)).total()
    click.echo(f"{'names that functions bind':<42} {names:>8,} {10593:>8,}")
    comments, tokens = house_counts.density(package)
    click.echo(f"{'comments in 1,000 lines':<42} {comments:>8.1f} {12.9:>8}")
    click.echo(f"{'tokens a line of code':<42} {tokens:>8.2f} {8.20:>8.2f}")
    _print_wordings(root, trees, review=review)


def _print_wordings(root: Path, trees: Mapping[str, ast.Module], *, review: bool) -> None:
    """Print how often each wording to review occurs, and the reading ease and length of pages."""
    prose = [(f"{path}:{n}", text) for path, tree in trees.items() for n, text in _prose(tree)]
    click.echo("\nWordings to review, in texts of the package and in pages")
    for name, places in readability.wordings_in([*prose, *readability.pages_below(root)]).items():
        click.echo(f"{name:<42} {len(places):>8,}")
        if review:
            click.echo("".join(f"    {place}\n" for place in places), nl=False)
    click.echo("\nReading ease (Flesch; higher is easier), and number of words")
    click.echo("\n".join(readability.readability_lines(root)))


if __name__ == "__main__":
    main()
