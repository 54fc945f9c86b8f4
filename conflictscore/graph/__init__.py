"""The LangGraph graphs: the self-correcting RAG loop, and a graph that only scores answers."""
