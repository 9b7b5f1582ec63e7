"""All numbered tables and all curves of the four papers, one file per paper."""

from ordinate_papers.datasets.catalogue import look_up
from ordinate_papers.tables.catalogue import cloc, otd, supcr, supremix
from ordinate_papers.tables.table import Table

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
