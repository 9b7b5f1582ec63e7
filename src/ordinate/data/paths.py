"""Files and columns that are asked for but not there, said with the nearest that are. Imports nothing heavy."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from ordinate.errors import OrdinateError


def require_path(path: Path) -> None:
    """Raise where nothing is there, and name the nearest file that is."""
    if not path.exists():
        near = difflib.get_close_matches(
            path.name, [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        )
        hint = f"; did you mean {near[0]}?" if near else ""
        raise OrdinateError(path, problem=f"no such file{hint}")


def require_names(columns: Iterable[str], names: Sequence[str], path: Path) -> None:
    """Raise where a name is not among the columns of a table, and name the nearest that is."""
    columns = list(columns)
    for name in names:
        if name not in columns:
            near = difflib.get_close_matches(name, columns)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, columns[:20]))}"
            raise OrdinateError(path, problem=f"no column {name!r}", hint=hint)
