"""The nodes of the graph: each takes the state, calls one collaborator and returns an update."""
