"""The file that a command writes: never over what it reads, and whole or not there."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ordinate.errors import OrdinateError
from ordinate.report.output import check_output

if TYPE_CHECKING:
    import pandas as pd


def check_new(out: str | None, inputs: Iterable[str] = (), *, overwrite: bool = False) -> None:
    """Raise where the file of ``--out`` cannot be written, or is there already.

    Args:
        out: the file; None where a command prints.
        inputs: files and folders that the command reads. None of them is written over, nor a file in one of the
            folders unless it is a page.
        overwrite: write over another file that is there.
    """
    if out is None:
        return
    check_output(out)
    path = Path(out)
    if not path.exists():
        return
    for given in map(Path, inputs):
        within = given.is_dir() and path.suffix != ".html" and path.resolve().is_relative_to(given.resolve())
        if given.exists() and (within or path.samefile(given)):
            raise OrdinateError("out", problem=f"{path} is {'a file of ' if within else ''}{given}, which is read")
    if not overwrite:
        raise OrdinateError("out", problem=f"{path} exists", expected="a new file", hint="--overwrite writes over it")


def write_csv(frame: "pd.DataFrame", out: str) -> None:
    """Write a table to the file of ``--out``."""
    path = Path(out)
    pending = path.with_name(f".{path.name}.partial")
    try:
        frame.to_csv(pending, index=False, float_format="%.6g")
        pending.replace(path)
    except OSError as error:
        pending.unlink(missing_ok=True)
        raise OrdinateError("--out", problem=f"{path} cannot be written: {error.strerror or error}") from error
