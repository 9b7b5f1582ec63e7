"""All numbered tables and all curves of the four papers, one file per paper."""

from ordinate.papers.datasets.catalogue import look_up
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
    return look_up("table", name, CATALOGUE)
