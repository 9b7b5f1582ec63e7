"""The tables of the papers, as runs that are kept in a database."""
