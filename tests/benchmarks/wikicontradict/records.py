"""Small records in WikiContradict's published formats."""

from typing import Any

FLAT: dict[str, Any] = {
    "question": "When was the lamp lit?",
    "context1": "The lamp was lit in 1871.",
    "context2": "Lit: 1874",
    "context1_info": "It was lit in 1871.",
    "context2_info": "Lit: 1874",
    "answer1": "1871",
    "answer2": "1874",
    "contradiction_type": "Explicit",
    "context1_self_contained": "The lamp at Lamp Head was lit in 1871.",
    "answer1_self_contained": "It was lit in 1871.",
    "context2_self_contained": "Lamp Head, lit: 1874",
    "answer2_self_contained": "It was lit in 1874.",
}
