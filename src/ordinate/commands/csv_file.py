"""A csv file that a command writes: new, and whole or not there."""

from pathlib import Path
from typing import TYPE_CHECKING

from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    import pandas as pd


def check_new(out: str | None) -> None:
    """Raise where the file of ``--out`` is there already, or has no folder to go to."""
    if out is None:
        return
    path = Path(out)
    if not path.parent.is_dir():
        raise OrdinateError("--out", problem=f"{path} cannot be written: No such folder as {path.parent}")
    if path.exists():
        raise OrdinateError("--out", problem=f"{path} exists", expected="a new file")


def write_csv(frame: "pd.DataFrame", out: str) -> None:
    """Write a table to the file of ``--out``."""
    path = Path(out)
    pending = path.with_name(f".{path.name}.partial")
    try:
        frame.to_csv(pending, index=False, float_format="%.6g")
        pending.replace(path)
    except OSError as error:
        raise OrdinateError("--out", problem=f"{path} cannot be written: {error.strerror or error}") from error
