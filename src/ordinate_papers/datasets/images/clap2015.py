"""ChaLearn LAP 2015: apparent ages, in bins of one to five years."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.checks import check_whole
from ordinate.counts import counted
from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import SPLITS
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import IMAGE, Layout


def read_clap2015(root: str | Path, bin_size: int = 1) -> Labelled:
    """Read the apparent ages of ChaLearn LAP 2015: the label is the rank of the age's bin; the splits are the owner's.

    An age is rounded to whole years, its bin is age // bin_size, and the bins that occur are numbered from 0: with bins
    of 1 to 5 years CLOC's Table 5 counts 79, 42, 28, 22 and 18 ranks, as ages from 3 to 85 give.
    """
    check_whole(bin_size, "bin_size")
    layout = Layout.of(root)
    expected = "Train.csv, Validation.csv and Test.csv (image;mean age;deviation) and a folder of images for each"
    split = r"(?P<split>train|valid|validation|val|test)"
    found = layout.match(rf"(?:gt_)?{split}(?:_gt)?\.csv", expected)
    tables = {SPLITS[match["split"].lower()]: match[0] for match in found}
    if len(tables) < 3:
        raise OrdinateError(layout.path, ", ".join(tables.values()), expected)
    rows = [(part, f"{part}/{image}", age) for part, table in tables.items() for image, age in _rows(layout, table)]
    splits, names, ages = zip(*rows, strict=True)
    files = {
        f"{SPLITS[match['split'].lower()]}/{match['file']}": match[0]
        for match in layout.match(rf"{split}[^/]*/(?:.*/)?(?P<file>{IMAGE})", expected)
    }
    absent = [name for name in names if name not in files]
    if absent:
        problem = (
            f"{len(absent):,} of the {counted(len(names), 'image')} in its tables are not there, such as {absent[0]}"
        )
        raise OrdinateError(layout.path, problem=problem)
    if not np.isfinite(ages).all():
        raise OrdinateError(
            layout.path, "a mean age that is not finite", "rows of image;mean age;deviation in its tables"
        )
    bins = np.floor(np.array(ages) + 0.5).astype(np.int64) // bin_size
    return Labelled(
        layout.files(files[name] for name in names),
        pd.Series(np.unique(bins, return_inverse=True)[1], name="age_bin"),
        pd.Series(splits, name="split"),
    )


def _rows(layout: Layout, name: str) -> list[tuple[str, float]]:
    """Return (image, mean age) of a table, separated by semicolons or commas, with or without a header."""
    text = layout.content(name).decode(errors="replace")
    separator = ";" if ";" in text else ","
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if len(row) > 1]
    try:
        float(rows[0][1])
    except (IndexError, ValueError):
        rows = rows[1:]  # The first row is a header.
    try:
        return [(row[0].strip(), float(row[1])) for row in rows]
    except ValueError as error:
        raise OrdinateError(
            f"{layout.path / name}", problem=error, expected="rows of image;mean age;deviation"
        ) from error
