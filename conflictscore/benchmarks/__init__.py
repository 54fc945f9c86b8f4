"""Benchmarks: run one, read a finished run, or bring questions and methods of your own.

``run_benchmark`` runs one of ``BENCHMARKS``, or a ``Benchmark`` of yours, with any of its methods.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
