"""The state of a run, its rounds and its time budget, as used by the nodes of the graph."""
