"""Minimal lines of CONFLICTS in both formats."""

from typing import Any

TYPES = {
    "no-conflict": "No conflict",
    "complementary": "Complementary information",
    "conflicting-opinions": "Conflicting opinions and research outcomes",
    "outdated": "Conflict due to outdated information",
    "misinformation": "Conflict due to misinformation",
}
"""The official file's name for each type."""


def result(**fields: Any) -> dict[str, Any]:
    return {
        "title": "Gazette",
        "url": "https://gazette.test/a",
        "snippet": "Lit in 1871 ...",
        "date": "2019-05-01",
        "response_str": "<html>The whole page</html>",
        "short_text": "The lamp was lit in 1871.",
    } | fields


def official(*results: Any, **fields: Any) -> dict[str, Any]:
    return {
        "source": "lamps",
        "question": "When was the lamp lit?",
        "conflict_type": "Conflict due to outdated information",
        "correct_answer": "1874",
        "search_results": [*results] or [result()],
    } | fields


def shortened(*docs: Any, **fields: Any) -> dict[str, Any]:
    doc = {"doc_id": "d1", "url": "https://a.test/", "text": "Lit in 1871.", "date": ""}
    return {
        "id": 7,
        "query": "When was the lamp lit?",
        "conflict_type": "Conflict due to outdated information",
        "gold_answer": "1874",
        "docs": [*docs] or [doc],
        "llm_per_doc_notes": [{"verdict": "supports"}],
    } | fields
