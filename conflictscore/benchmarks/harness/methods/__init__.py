"""The methods of benchmark runs; each is an object with a line in the registry."""
