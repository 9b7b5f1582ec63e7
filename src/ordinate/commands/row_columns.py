"""Columns of a table that identify its rows, which are left out of training."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ordinate.commands.samples import Samples
from ordinate.data.paths import require_names
from ordinate.data.tables.row_columns import find_label_columns, find_row_columns, find_row_order
from ordinate.errors import OrdinateError


def leave_out_row_columns(samples: Samples, keep: Sequence[str], data: str, say: Callable[[str], None]) -> Samples:
    """Return samples without the columns that identify the rows of a table, except those to keep, and name them."""
    X = samples.X
    if not hasattr(X, "columns"):
        if keep:
            raise OrdinateError("--keep", f"{', '.join(keep)}, and {data} holds arrays", "a table")
        return samples
    require_names(X.columns, keep, Path(data))
    left_out = {name: reason for name, reason in find_row_columns(X).items() if name not in keep}
    for name, reason in left_out.items():
        say(f"left out: column {name!r} {reason}; --keep {shlex.quote(name)} keeps it")
    names = [name for name in X.columns if name not in left_out]
    if not names:
        raise OrdinateError(
            data,
            problem=f"every column except the target identifies the rows ({', '.join(left_out)})",
            expected="at least one that describes them",
            hint="--keep trains on those it names",
        )
    X = X[names]
    for name in find_row_order(X, samples.y):
        if name not in keep:
            say(
                f"note: column {name!r} goes one way from row to row, and so does the label; if it numbers the rows, "
                f"--drop {shlex.quote(name)}"
            )
    for name in find_label_columns(X, samples.y):
        say(f"note: column {name!r} tells the label exactly, and so would a model; --drop {shlex.quote(name)} drops it")
    return replace(samples, X=X)
