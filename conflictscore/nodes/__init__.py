"""The nodes of the graph: state in, state update out, one collaborator called."""
