"""Ways to wrap an existing chatbot; so far the graph itself, which any LangGraph host serves."""
