"""An owner's layout, found in a folder or in a zip at whatever level it stands."""

import io
import re
from collections.abc import Callable, Sequence

import pandas as pd

from ordinate.counts import counted
from ordinate.data.file_formats import IMAGE_SUFFIXES
from ordinate.data.images.labelled import ImageTree
from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import SPLITS
from ordinate.errors import OrdinateError

SUFFIX = rf"\.(?:{'|'.join(suffix.removeprefix('.') for suffix in IMAGE_SUFFIXES)})"
IMAGE = rf"[^/]+{SUFFIX}"

Column = tuple[str, Callable[[re.Match[str]], object]]  # The name of a column, and its value from the match of a file.


class Layout(ImageTree):
    """What an owner ships, under a folder or in a zip."""

    def match(self, pattern: str, expected: str) -> list[re.Match[str]]:
        """Return the matches of the files whose names end with the pattern, all below one and the same folder.

        Args:
            pattern: Regular expression for the end of a name; case is ignored.
            expected: Meaning of the pattern, in words and with an example.

        Raises:
            OrdinateError: no file matches, or the files lie below more than one folder.
        """
        compiled = re.compile(rf"(?P<above>(?:.*/)?){pattern}", re.IGNORECASE)
        matches = [match for name in self.names if (match := compiled.fullmatch(name))]
        above = sorted({match["above"] for match in matches})
        if not matches:
            held = sorted({name.split("/")[0] for name in self.names})
            if len(held) > 4:
                held = [*held[:4], "..."]
            raise OrdinateError(self.path, ", ".join(held) or "nothing", expected)
        if len(above) > 1:
            places = ", ".join(folder or "." for folder in above[:3])
            raise OrdinateError(self.path, f"{expected} more than once", f"one of the folders {places}")
        return matches

    def read(self, pattern: str, expected: str, *, label: Column, group: Column | None = None) -> Labelled:
        """Return the images that match (see :meth:`match`), labelled by their names.

        A group ``split`` of the pattern, such as ``train``, is their split.
        """
        matches = self.match(pattern, expected)

        def column(name: str, value: Callable[[re.Match[str]], object]) -> pd.Series:
            return pd.Series([value(match) for match in matches], name=name)

        splits = groups = None
        if "split" in matches[0].groupdict():
            splits = column("split", lambda match: SPLITS[match["split"].lower()])
        if group is not None:
            groups = column(*group)
        return Labelled(self.files(match[0] for match in matches), column(*label), splits, groups)

    def locate(self, ends: Sequence[str], source: str) -> list[str]:
        """Return the one name that ends with each of the given ones, such as ``1/a.jpg``, of which a ``source`` tells.

        Raises:
            OrdinateError: it is not there, or there is more than one.
        """
        found: dict[str, list[str]] = {end: [] for end in ends}
        depths = {end.count("/") + 1 for end in ends}
        for name in self.names:
            parts = name.split("/")
            for depth in depths:
                found.get("/".join(parts[-depth:]), []).append(name)
        absent = [end for end in ends if not found[end]]
        if absent:
            problem = (
                f"{len(absent):,} of the {counted(len(ends), 'image')} in {source} are not there, such as {absent[0]}"
            )
            raise OrdinateError(self.path, problem=problem)
        for end, names in found.items():
            if len(set(names)) > 1:
                raise OrdinateError(self.path, problem=f"holds {end} more than once, as {names[0]} and {names[1]}")
        return [found[end][0] for end in ends]

    def table(
        self, name: str, columns: Sequence[str], *, sep: str = ",", usecols: Callable[[str], bool] | None = None
    ) -> pd.DataFrame:
        """Return a table of text, blanks around names and values removed.

        Args:
            name: Name of the file.
            columns: Columns that it must have.
            sep: Separator of its columns.
            usecols: Function that tells whether a column is read, by its name; None reads all.

        Raises:
            OrdinateError: it cannot be read, holds no rows or lacks one of the ``columns``.
        """
        try:
            file = io.BytesIO(self.content(name))
            frame = pd.read_csv(file, sep=sep, usecols=usecols, dtype=str, index_col=False, keep_default_na=False)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise OrdinateError(self.path / name, problem=f"could not be read: {reason}") from error
        frame = frame.rename(columns=lambda column: str(column).strip()).apply(lambda column: column.str.strip())
        lacking = [column for column in columns if column not in frame]
        if lacking:
            got = f"the columns {', '.join(map(repr, frame))}"
            raise OrdinateError(self.path / name, got, ", ".join(map(repr, lacking)))
        if frame.empty:
            raise OrdinateError(f"{self.path / name}", problem="holds no rows")
        return frame

    def numbers(self, frame: pd.DataFrame, column: str, name: str) -> pd.Series:
        """Return a column as numbers; raise where a value of it is none."""
        numbers = pd.to_numeric(frame[column], errors="coerce")
        if numbers.isna().any():
            value = frame[column][numbers.isna()].iloc[0]
            raise OrdinateError(f"{self.path / name}", f"{value!r} in column {column!r}", "numbers")
        return numbers
