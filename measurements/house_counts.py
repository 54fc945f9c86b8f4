"""Counts rule violations in the package's source: names, complexity, docstrings, imports.

Each function takes parsed modules by path, relative to the folder above the package. The function
returns the places that break its rule, in the form ``path:line what``.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple
from weakref import WeakKeyDictionary

from radon.complexity import cc_visit_ast

Trees = Mapping[str, ast.Module]
"""Parsed modules by path."""


class Binding(NamedTuple):
    """A name that a function binds, and its place."""

    path: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name}"


MOST_COMPLEX = 15
"""A function with at least this cyclomatic complexity, as computed by radon, must be split."""
LONG_FUNCTION = 25
"""A function with at least this many lines needs a docstring."""

_IRREGULAR = frozenset(
    """
    one other found known said told kept given left read shown done made taken seen gone spent
    sought meant sent held heard put written drawn begun grown chosen thrown lost built brought
    bought caught taught felt met paid sold spoken stood understood won worn
    """.split()  # noqa: SIM905 - forty words in quotes and commas read worse
)
_NO_PARTICIPLES = frozenset(
    "seed need feed speed bed red embed hundred indeed shed weed breed deed checked".split()  # noqa: SIM905
)
"""Words that end in -ed but are not participles, and `checked`, the name of a public field."""
EMPTY_NOUNS = frozenset(
    "result results value values item items data entry entries thing obj".split()  # noqa: SIM905
)
"""Nouns that say nothing about their content."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)
_SENTENCE = re.compile(r"[^\W\d_]{2,}[,;:]? (?:[^\W\d_]+[,;:]? )+[^\W\d_]*")
"""Matches three words or more; titles of columns and beginnings of libraries' errors have two."""
_OF_A_FORMER_FORMAT = re.compile(r"_IN_FORMAT_1$")


def is_bare_participle(name: str) -> bool:
    """Whether a name is a single participle, or ``one`` or ``other``."""
    if name in _IRREGULAR:
        return True
    return len(name) > 3 and name.endswith("ed") and "_" not in name and name not in _NO_PARTICIPLES


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes below a module; they are stored, since walking the tree takes longest."""
    if tree not in _NODES:
        _NODES[tree] = [node for node in ast.walk(tree) if node is not tree]
    return _NODES[tree]


_NODES: WeakKeyDictionary[ast.Module, list[ast.AST]] = WeakKeyDictionary()


def bindings(trees: Trees) -> list[Binding]:
    """Return the names that functions bind (arguments and local variables), once per function."""
    return [
        Binding(path, line, name)
        for path, tree in trees.items()
        for function in _nodes(tree)
        if isinstance(function, (*_FUNCTIONS, ast.Lambda))
        for name, line in _names_of(function).items()
    ]


def bound_names(bound: Iterable[Binding]) -> Counter[str]:
    """Return how many functions bind each name, except ``self`` and ``cls``."""
    return Counter(place.name for place in bound if place.name not in ("self", "cls", "_"))


def _names_of(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> dict[str, int]:
    arguments = function.args
    declared = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    declared += [extra for extra in (arguments.vararg, arguments.kwarg) if extra]
    names = {argument.arg: function.lineno for argument in declared}
    body = function.body if isinstance(function.body, list) else [function.body]
    for node in _own_nodes(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id, node.lineno)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.setdefault(node.name, node.lineno)
    return names


def _own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without those of inner functions and classes."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, _SCOPES):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def bare_participles(bound: Iterable[Binding]) -> list[str]:
    """Return the bindings whose name is a bare participle, or ``one`` or ``other``."""
    return [str(place) for place in bound if is_bare_participle(place.name)]


def empty_nouns(bound: Iterable[Binding]) -> list[str]:
    """Return the bindings whose name is an empty noun."""
    return [str(place) for place in bound if place.name in EMPTY_NOUNS]


def complex_functions(trees: Trees) -> list[str]:
    """Return the functions whose complexity is :data:`MOST_COMPLEX` or more."""
    return [
        f"{path}:{block.lineno} {block.name} {block.complexity}"
        for path, tree in trees.items()
        for block in cc_visit_ast(tree)
        if block.letter in "FM" and block.complexity >= MOST_COMPLEX
    ]


def undocumented(trees: Trees) -> list[str]:
    """Return classes and functions of :data:`LONG_FUNCTION` lines or more without a docstring."""
    return [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        for node in _nodes(tree)
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef))
        and (isinstance(node, ast.ClassDef) or _length(node) >= LONG_FUNCTION)
        and not ast.get_docstring(node)
    ]


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def splatted_literals(trees: Trees) -> list[str]:
    """Return literals that are splatted in place: ``*("a", "b")``."""
    return [
        _place(path, node)
        for path, tree in trees.items()
        for node in _nodes(tree)
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List | ast.Set)
    ]


def one_line_choices(trees: Trees) -> list[str]:
    """Return expressions that choose a value by a trick, such as indexing a pair with a condition.

    Examples are ``(a, b)[flag]``, ``{True: a, False: b}[flag]`` and ``[*some, None][0]``.
    """
    return [
        _place(path, node)
        for path, tree in trees.items()
        for node in _nodes(tree)
        if isinstance(node, ast.Subscript) and _is_trick(node)
    ]


def _place(path: str, node: ast.expr) -> str:
    return f"{path}:{node.lineno} {ast.unparse(node)[:70]}"


def _is_trick(node: ast.Subscript) -> bool:
    truth = isinstance(node.slice, ast.Compare | ast.BoolOp) or (
        isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.op, ast.Not)
    )
    literal = isinstance(node.value, ast.Tuple | ast.List)
    by_truth = isinstance(node.value, ast.Dict) and any(
        isinstance(key, ast.Constant) and isinstance(key.value, bool) for key in node.value.keys
    )
    unpacked = isinstance(node.value, ast.Tuple | ast.List) and any(
        isinstance(element, ast.Starred) for element in node.value.elts
    )
    return by_truth or unpacked or (literal and truth)


def compared_sentences(trees: Trees) -> list[str]:
    """Return comparisons of a message, note or reason with a sentence from the package itself.

    A sentence is a literal of three words or more, or a constant with such a literal. A constant
    whose name ends in ``_IN_FORMAT_1`` does not count. Runs stored in that format have a sentence
    instead of a kind, so their reader must compare sentences. Newer formats have kinds.
    """
    everywhere = {name for tree in trees.values() for name in _sentence_constants(tree)}
    return [
        _place(path, node)
        for path, tree in trees.items()
        for constants in [{*_sentence_constants(tree)} | (everywhere & {*_imported_names(tree)})]
        for node in _nodes(tree)
        if isinstance(node, ast.Compare | ast.Call)
        and any(_is_sentence(operand, constants) for operand in _compared(node))
    ]


def _sentence_constants(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and _is_sentence(node.value, frozenset()):
            names = (target.id for target in node.targets if isinstance(target, ast.Name))
            yield from (name for name in names if not _OF_A_FORMER_FORMAT.search(name))


def _imported_names(tree: ast.Module) -> Iterator[str]:
    for node in _nodes(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def _compared(node: ast.Compare | ast.Call) -> Iterator[ast.expr]:
    """Yield the operands of a comparison, or the arguments of ``startswith`` or ``endswith``."""
    if isinstance(node, ast.Compare):
        equal = ast.Eq | ast.NotEq | ast.Is | ast.IsNot
        if any(isinstance(operator, equal) for operator in node.ops):
            yield from (node.left, *node.comparators)
        elif isinstance(node.left, ast.Constant | ast.Name):
            yield node.left
    elif isinstance(node.func, ast.Attribute) and node.func.attr in ("startswith", "endswith"):
        for argument in node.args:
            yield from argument.elts if isinstance(argument, ast.Tuple) else [argument]


def _is_sentence(node: ast.expr, constants: Iterable[str]) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return bool(_SENTENCE.search(node.value))
    return isinstance(node, ast.Name) and node.id in constants


def module_circles(trees: Trees) -> list[str]:
    """Return circular imports, including those made only for types.

    A package counts as its module ``__init__``.
    """
    modules = {_module_of(path): tree for path, tree in trees.items()}
    imports = {name: set(_imports(name, tree, modules.keys())) for name, tree in modules.items()}
    circles = []
    while True:
        try:
            TopologicalSorter(imports).prepare()
        except CycleError as error:
            circle = error.args[1]
            circles.append(" -> ".join(reversed(circle)))
            # each entry of ``circle`` is imported by the next one
            imports[circle[1]].discard(circle[0])
        else:
            return circles


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(importer: str, tree: ast.Module, modules: Iterable[str]) -> Iterator[str]:
    known = set(modules)
    for node in _nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                target = inner if inner in known else node.module
                if target in known and target != importer:
                    yield target
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in known and a.name != importer)


def imports_between_nodes(trees: Trees) -> list[str]:
    """Return the pairs of steps of the loop of which one imports the other."""
    pairs = {
        f"{path} -> {target}"
        for path, tree in trees.items()
        if "/nodes/" in path and not path.endswith("__init__.py")
        for target in _imports(_module_of(path), tree, map(_module_of, trees))
        if ".nodes." in target
    }
    return sorted(pairs)


def density(sources: Mapping[str, str]) -> tuple[float, float]:
    """Return comments per 1,000 lines, and tokens per line of code, over all modules."""
    comments = lines = 0
    tokens_by_line: Counter[tuple[str, int]] = Counter()
    skipped = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for path, source in sources.items():
        lines += len(source.splitlines())
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                comments += 1
            elif token.type not in skipped:
                tokens_by_line[path, token.start[0]] += 1
    return 1000 * comments / max(lines, 1), tokens_by_line.total() / max(len(tokens_by_line), 1)
