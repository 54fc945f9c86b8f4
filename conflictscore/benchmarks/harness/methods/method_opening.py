"""From the name of a method to the method, whose module is imported only then."""

from functools import cache
from pkgutil import resolve_name

from conflictscore.benchmarks.harness.methods.method import BenchmarkMethod
from conflictscore.benchmarks.harness.methods.registry import METHODS


def method_of(name: str) -> BenchmarkMethod:
    """The method with this name, by the place that its entry in ``METHODS`` names."""
    return _method_at(METHODS[name].place, name)


@cache
def _method_at(place: str, name: str) -> BenchmarkMethod:
    # a place that begins with a dot is a module of this package; without a colon, the method is
    # called there like its name in capitals
    module = f"{__package__}{place}" if place.startswith(".") else place
    path = module if ":" in module else f"{module}:{name.upper().replace('-', '_')}"
    method: BenchmarkMethod = resolve_name(path)
    return method
