"""CONFLICTS: which kind of conflict the documents of a question are in, and what is made of it.

From "DRAGged into Conflicts: Detecting and Addressing Conflicting Sources in Search-Augmented
LLMs": 458 questions with search results, each labelled by people with one of five conflict types.
Answers are judged by the behaviour that this type asks for, by the right answer, and by their
citations.
"""
