"""The tables of the papers, as runs whose results are kept in a file."""
