"""How the package's code is laid out, in figures: now, and beside any earlier commit.

Modules with one importer: exactly one other module of the package imports them, a sign that the
two are one. Left out are packages' __init__ files, and what a package's stub (__init__.pyi) exports
to everybody; entry points have no importer.

Private functions called once: functions of a module, not methods, named _x and used once in it.

Shared module names: file names that stand in two folders and so may mean two things. Three names
repeat on purpose and do not count: the folders below benchmarks/ have the same parts and count as
one, a file of cli/ bears the name of the command that it defines, and a room's registry.py lists
what can be named there. Shared class names: public classes and type aliases defined in two modules.

Signatures that repeat settings: functions and records with six or more of a run's settings.

Modules that name a method: those that contain the benchmark method's name in any spelling.

Modules that list a run's fields: those with an expression, signature or class body that names five
or more of a run's fields. Each of them has to change when a run gets a new field.

Wordings: names and phrases that measurements.wording looks for; there should be none.

With --questions it prints the questions that a reader who has never seen the package should answer
from few files; each file that has to be opened counts.

A commit is read with git archive, so this runs in a clone only.
"""

import ast
import io
import subprocess
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

from measurements.wording import offences

__all__ = ["QUESTIONS", "count", "main", "modules_at", "modules_in"]

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
"""Questions of a newcomer."""

_READ = (".py", ".pyi")
_LONG = 400
_MANY_SETTINGS, _MANY_FIELDS = 6, 5
_SETTINGS = frozenset(
    {
        "answer_style",
        "base_url",
        "budget_seconds",
        "cache",
        "context_window",
        "duplicates",
        "judge",
        "labeler",
        "ledger",
        "max_calls",
        "max_claims",
        "max_rounds",
        "method",
        "model",
        "prompts",
        "regeneration",
        "retriever",
        "top_k",
        "whole_answer",
    }
)
"""Settings of a run, by keyword argument; the same list for every commit."""
_FIELDS = frozenset(
    {
        "answer",
        "asked",
        "attempts",
        "documents",
        "final_report",
        "first_answer",
        "flip",
        "flipped",
        "justification",
        "notes",
        "options",
        "question",
        "reason",
        "report",
        "run_id",
        "timings",
        "usage",
    }
)
"""Fields of a finished run; the same list for every commit."""

Modules = Mapping[str, str]
"""Source by path, such as ``conflictscore/nodes/decide.py``."""


def modules_in(folder: Path, package: str = "conflictscore") -> dict[str, str]:
    """Read the modules and stubs of a package that lies in this folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in sorted((folder / package).rglob("*.py*"))
        if path.suffix in _READ
    }


def modules_at(revision: str, folder: Path, package: str = "conflictscore") -> dict[str, str]:
    """Read modules and stubs as a commit has them; the folder is in the repository.

    Raises:
        click.ClickException: Git does not know the commit, or is not there.
    """
    command = ["git", "archive", "--format=tar", revision, package]
    try:
        packed = subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603
    except subprocess.CalledProcessError as error:
        raise click.ClickException(error.stderr.decode(errors="replace").strip()) from None
    except OSError as error:
        raise click.ClickException(f"git cannot be run: {error}") from None
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        return {
            member.name: file.read().decode()
            for member in archive
            if member.name.endswith(_READ) and (file := archive.extractfile(member))
        }


def count(modules: Modules, method: str = "typed-rag") -> dict[str, list[str]]:
    """Count everything.

    Args:
        modules: The package; of its stubs only the imports are read.
        method: The benchmark method whose name is looked for.

    Returns:
        By what is counted, what was found; ``lines`` has one entry a line of code.
    """
    stubs = {path: ast.parse(text) for path, text in modules.items() if path.endswith(".pyi")}
    modules = {path: text for path, text in modules.items() if path not in stubs}
    trees = {path: ast.parse(source) for path, source in modules.items()}
    private = dict(_private_functions(trees))
    return {
        "lines": [path for path, source in modules.items() for _ in source.splitlines()],
        "modules": list(modules),
        "modules with one importer": _with_one_importer(trees, stubs),
        f"modules over {_LONG} lines": [
            path for path, source in modules.items() if len(source.splitlines()) > _LONG
        ],
        "private functions": list(private),
        "private functions called once": [name for name, uses in private.items() if uses == 1],
        "shared module names": _shared(_module_names(trees)),
        "shared class names": _shared(_class_names(trees)),
        "signatures that repeat settings": [
            f"{path}: {node.name}"
            for path, tree in trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and len(_SETTINGS.intersection(_names_in(node))) >= _MANY_SETTINGS
        ],
        f"modules that name {method}": [
            path
            for path, source in modules.items()
            if method in source or method.replace("-", "_") in source.lower()
        ],
        "modules that list a run's fields": [
            path
            for path, tree in trees.items()
            if any(len(_FIELDS & _names_in(node)) >= _MANY_FIELDS for node in ast.walk(tree))
        ],
        **{f"wording: {name}": found for name, found in offences(modules).items()},
    }


def _name_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _with_one_importer(
    trees: Mapping[str, ast.Module], stubs: Mapping[str, ast.Module]
) -> list[str]:
    paths = {_name_of(path): path for path in trees}
    importers: dict[str, set[str]] = defaultdict(set)
    for path, tree in {**trees, **stubs}.items():
        for name in _imports(tree, path):
            # "from package.module import thing" names the module, "from package import module" too
            found = name if name in paths else name.rpartition(".")[0]
            if found in paths and paths[found] != path:
                importers[paths[found]].add(path)
    return [
        path
        for path in trees
        if len(importers[path]) == 1
        and importers[path].isdisjoint(stubs)
        and not path.endswith("__init__.py")
    ]


def _imports(tree: ast.Module, path: str) -> Iterator[str]:
    folder = path.rpartition("/")[0].replace("/", ".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            module = f"{folder}.{node.module}" if node.level == 1 else node.module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _private_functions(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, int]]:
    for path, tree in trees.items():
        uses = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Name | ast.Attribute)
        )
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] == "_":
                yield f"{path}:{node.lineno} {node.name}", uses[node.name]


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


def _names_in(node: ast.AST) -> set[str]:
    """Names that an expression, a signature or a class body lists."""
    match node:
        case ast.Dict(keys=elements) | ast.Tuple(elts=elements) | ast.List(elts=elements):
            return {
                one.value
                for one in elements
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
        case ast.Call(keywords=keywords):
            return {one.arg for one in keywords if one.arg}
        case ast.ClassDef(body=body):
            fields = (one.target for one in body if isinstance(one, ast.AnnAssign))
            return {field.id for field in fields if isinstance(field, ast.Name)}
        case ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given):
            return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return set()


@click.command(help=__doc__)
@click.option("--rev", "revisions", multiple=True, help="Also count this commit; may be repeated.")
@click.option("--method", default="typed-rag", show_default=True)
@click.option("--show", metavar="TEXT", help="List what the counts with this in their name found.")
@click.option("--questions", is_flag=True, help="Print the questions for a reader, and stop.")
def main(revisions: tuple[str, ...], method: str, show: str | None, questions: bool) -> None:
    """Print a table, a column for each commit and the last for the files as they are."""
    if questions:
        click.echo("\n".join(f"{n}. {one}" for n, one in enumerate(QUESTIONS, start=1)))
        return
    folder = Path(__file__).parents[1]
    columns = {name: count(modules_at(name, folder), method) for name in revisions}
    columns["now"] = count(modules_in(folder), method)
    width = max(10, *map(len, columns))
    click.echo(f"{'':<42}" + "".join(f" {name:>{width}}" for name in columns))
    for what, found in columns["now"].items():
        counts = (len(column[what]) for column in columns.values())
        click.echo(f"{what:<42}" + "".join(f" {number:>{width},}" for number in counts))
        if show is not None and show in what and what != "lines":
            click.echo("".join(f"    {one}\n" for one in found), nl=False)


if __name__ == "__main__":
    main()
