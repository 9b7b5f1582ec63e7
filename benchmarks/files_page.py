"""The page docs/measured/files.md, from the records of files.py."""

def write_page(records, cases):
    pass
