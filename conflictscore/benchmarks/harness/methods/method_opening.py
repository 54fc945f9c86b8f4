"""Opens a method by name, and imports the method's module only then."""

from functools import cache
from pkgutil import resolve_name

from conflictscore.benchmarks.harness.methods.method import BenchmarkMethod
from conflictscore.benchmarks.harness.methods.registry import METHODS


def method_of(name: str) -> BenchmarkMethod:
    """Return the method with this name, from the module that its entry in ``METHODS`` names."""
    return _method_at(METHODS[name].place, name)


@cache
def _method_at(place: str, name: str) -> BenchmarkMethod:
    # a leading dot means a module of this package; without a colon, the object is named like the
    # method, in capitals
    module = f"{__package__}{place}" if place.startswith(".") else place
    path = module if ":" in module else f"{module}:{name.upper().replace('-', '_')}"
    method: BenchmarkMethod = resolve_name(path)
    return method
