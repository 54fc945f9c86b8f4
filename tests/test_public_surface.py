"""Users may import seven packages, and every import shown on a page is from these."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PUBLIC = {
    "conflictscore": """
        Answer Attempt BudgetError Change Claim ClaimEvidence ConfigurationError ConflictReport
        ConflictScoreError ContentCache ContextWindowError Document
        EvidenceLabel InputError Label Method NoDocumentsError
        PRESETS PromptSet ProviderError QuotaError Run RunContext RunStatus
        Scores UncheckedAnswerError UnreadableReplyError Usage acorrect acorrect_batch ascore
        conflict_report correct correct_batch create_conflict_scorer create_self_correcting_rag
        run_context score score_frame Settings
    """,
    "conflictscore.benchmarks": """
        Asked Asker BENCHMARKS Benchmark BenchmarkMethod BenchmarkRun METHODS MethodEntry Question
        Verdict open_benchmark read_run run_benchmark
    """,
    "conflictscore.labelers": """
        BatchJudge Calibration Cascade Thresholds ChoiceJudge FittedCalibration JsonJudge LABELERS
        Labeler LabelerFactory LabelerKind LabelerName NliLabeler Pair TableLabeler
        label_table make_labeler
    """,
    "conflictscore.middleware": """
        ConflictScoreMiddleware SelfCorrectingChatModel ServiceSettings carry_verdict create_app
        self_correct
    """,
    "conflictscore.models": """
        ConcurrencyLimit Fitted LanguageModel Ledger Price PriceTable UsageMeter attach default_spec
        fit_documents from_chat_model open_model
    """,
    "conflictscore.retrieval": """
        CorpusRetriever Fault FetchSettings GoogleRetriever Hit PROVIDERS Page
        PageReadingRetriever PassageRetriever RecordedRetriever SearxngRetriever SerperRetriever
        TopKRetriever
        VertexRetriever WebSearchRetriever open_retrieval record_questions
    """,
    "conflictscore.reviewing": "add_runs_page",
}


@pytest.mark.parametrize("package", PUBLIC)
def test_a_package_exports_what_is_listed_here_and_nothing_else(package: str) -> None:
    module = import_module(package)

    assert sorted(module.__all__) == sorted(PUBLIC[package].split())
    assert dir(module) == module.__all__
    assert all(getattr(module, name) is not None for name in module.__all__)


def test_importing_the_package_loads_none_of_its_libraries() -> None:
    heavy = {"langgraph", "langchain_core", "openai", "pydantic", "numpy"}
    code = "import sys, conflictscore; print(*sys.modules)"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()

    assert not heavy & set(loaded)


def test_correct_loads_no_library_that_a_short_document_does_not_need() -> None:
    later = {"numpy", "scipy", "bm25s", "tqdm", "fastapi", "selectolax", "trafilatura"}
    code = "import sys; from conflictscore import correct; print(*sys.modules)"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()

    assert "langgraph.graph" in loaded
    assert not later & set(loaded)


def test_what_pages_and_examples_import_is_public() -> None:
    imports = [found for path in _shown() for found in _imports(path)]

    assert len(imports) > 10
    private = [
        f"{path.relative_to(ROOT)}: from {module} import {name}"
        for path, module, name in imports
        if name not in PUBLIC.get(module, "").split()
    ]
    assert private == []


def _shown() -> list[Path]:
    return [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]


def _imports(path: Path) -> Iterator[tuple[Path, str, str]]:
    """Every name that a page or an example imports from this package."""
    text = path.read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S) if path.suffix == ".md" else [text]
    for block in blocks:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("conflictscore"):
                yield from ((path, str(node.module), alias.name) for alias in node.names)
            if isinstance(node, ast.Import):
                yield from (
                    (path, alias.name, alias.name)
                    for alias in node.names
                    if alias.name.startswith("conflictscore.")
                )
