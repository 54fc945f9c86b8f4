"""Answers, their claims and their evidence as text: what models are asked and what they reply."""
