"""The commands of the papers: their options, and what they refuse at once."""

import argparse
from typing import Any

from ordinate.commands.catalogue import Command
from ordinate.commands.options import add_options
from ordinate_papers.commands.options import TableCommandOptions
from ordinate_papers.datasets.catalogue import SETS, dataset, look_up


def _add_datasets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="data set to describe")
    parser.add_argument(
        "--download", metavar="FOLDER", help="download the set into FOLDER, if programs may download it"
    )


def _check_datasets(given: dict[str, Any]) -> None:
    if given["name"] is not None:
        look_up("data set", given["name"], SETS)


def _check_table(given: dict[str, Any]) -> None:
    from ordinate_papers.tables.catalogue import find

    TableCommandOptions(**given).check()
    if given["name"] is not None:
        find(given["name"])
    for name in given["dataset"]:
        dataset(name)


COMMANDS = (
    Command(
        "datasets",
        "the papers' data sets: which are here, where to get the others",
        "List the data sets of the papers and which of them are in $ORDINATE_DATA. With a name, describe one: its "
        "contents, its owner, the files to put in place, and those that are there.",
        _add_datasets,
        "ordinate_papers.commands.datasets:datasets",
        _check_datasets,
        group="the papers",
    ),
    Command(
        "table",
        "the papers' tables, computed here and compared with their figures",
        "List the numbered tables and curves of the four papers and how much of each can be computed here. With a "
        "name, make the missing runs and print the paper's figure, ours and the difference. Results are kept in a "
        "file: no run is made twice, and a command that was stopped continues when it is given again.",
        lambda parser: add_options(parser, TableCommandOptions),
        "ordinate_papers.commands.table:table",
        _check_table,
        extra="pictures",
        group="the papers",
    ),
)
