"""The report of benchmark runs: one HTML file that needs no network and shows every flip."""
