"""From long documents to the passages of them that matter for a question."""
