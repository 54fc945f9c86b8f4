"""The methods of benchmark runs; each is an object that is listed in the registry."""
