"""The nodes of the graph: each reads the state, calls one collaborator and returns an update."""
