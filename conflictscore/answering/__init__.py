"""Answers, claims and evidence as text: requests to models, and the reading of their replies."""
