"""``ordinate example``: a small real table, from which the commands of README start."""

from importlib.resources import files
from pathlib import Path

from ordinate.commands.table_file import check_new

TABLE, NEW = "wine.csv", "new-wines.csv"


def example(out: str, *, new_rows: int = 200, overwrite: bool = False) -> None:
    """Write a table of wines with their grades, and one of other wines, to the folder ``out``.

    Args:
        out: Folder, which is created.
        new_rows: Number of rows of the second table.
        overwrite: Whether to replace files that exist.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (TABLE, NEW):
        check_new(str(folder / name), overwrite=overwrite)
    header, *rows = wines().splitlines(keepends=True)
    for name, part in ((TABLE, rows[:-new_rows]), (NEW, rows[-new_rows:])):
        (folder / name).write_text("".join([header, *part]), encoding="utf-8", newline="")
        print(f"{folder / name}: {len(part):,} wines, 11 measurements and their quality, a grade by experts")
    print("data: Cortez et al., 2009, UCI Machine Learning Repository, CC BY 4.0")


def wines() -> str:
    """Return all wines as csv."""
    return files("ordinate.commands").joinpath("examples", TABLE).read_text(encoding="utf-8")
