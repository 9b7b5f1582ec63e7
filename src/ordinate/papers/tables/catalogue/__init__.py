"""All numbered tables and all curves of the four papers, one file a paper."""

import difflib

from ordinate.errors import OrdinateError
from ordinate.papers.tables.catalogue import cloc, otd, supcr, supremix
from ordinate.papers.tables.table import Table

CATALOGUE = {table.name: table for paper in (cloc, supcr, supremix, otd) for table in paper.TABLES}


def find(name: str) -> Table:
    """Return a table by its name.

    Raises:
        OrdinateError: there is none; names the nearest.

    Example:
        >>> find("otd-2").source
        'OTD, Table 2'
    """
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, n=1)
        hint = f"did you mean {near[0]}?" if near else "`ordinate table` lists them all"
        raise OrdinateError(f"table: got {name!r}; {hint}")
    return CATALOGUE[name]
