"""The LangGraph state machines: the self-correcting RAG loop, and its scoring part alone."""
