"""Ways to put what a page shows into plain text, which readers of all formats share."""
