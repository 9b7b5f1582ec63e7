"""The data sets of the papers, by name."""
