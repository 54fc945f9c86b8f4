"""Run a benchmark, read a finished run, or add your own questions and methods.

``run_benchmark`` runs either a built-in benchmark (see ``BENCHMARKS``) or your own ``Benchmark``.
You choose which of the benchmark's methods to run.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
