"""Reports of three paragraphs, asked for in the ConflictScore paper's ways (section 5)."""

from functools import partial
from typing import Any

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod

__all__ = ["BALANCED", "SUPER_BALANCED"]


async def _write(template: str, asker: Asker, asked: Asked) -> dict[str, Any]:
    return await asker.write(template, asked.question, asked.documents)


def _report(name: str, template: str) -> BenchmarkMethod:
    return BenchmarkMethod(
        name=name, ask=partial(_write, template), forms=("free-form",), templates=(template,)
    )


BALANCED = _report("balanced", "report_balanced")
"""With care and all sides (Table 9)."""

SUPER_BALANCED = _report("super-balanced", "report_super_balanced")
"""By rules: hedge, attribute, name every view (Table 10)."""
