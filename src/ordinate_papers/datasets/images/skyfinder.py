"""SkyFinder: the temperature that a webcam's image was taken at."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import Layout


def read_skyfinder(root: str | Path, seed: int = 0) -> Labelled:
    """Read SkyFinder: the label is the temperature in degrees Celsius; the group the camera.

    Kept is, of every camera and day, the image taken nearest to eleven o'clock local time, no more than an hour off
    (Chu et al. 2018, as SupCR does). The splits are drawn by ``seed`` in the shares of SupCR's, whose
    own drawing is not published; a camera is in all of them. Rows of the table without an image are left out.
    """
    layout = Layout.of(root)
    table = "complete_table_with_mcr.csv"
    name = layout.match(r"complete_table_with_mcr\.csv", f"{table} next to one folder of images per camera")[0][0]
    columns = ["CamId", "Filename", "TempM", "Year", "Month", "Day", "Hour", "Min"]
    frame = layout.table(name, columns, usecols=lambda column: column.strip() in columns)
    files = {"/".join(image.split("/")[-2:]): image for image in layout.images}
    frame = frame.assign(file=(frame["CamId"] + "/" + frame["Filename"]).map(files))
    frame = frame.assign(celsius=pd.to_numeric(frame["TempM"], errors="coerce"))
    # The values -999 and -9999 stand for a temperature that was not measured.
    frame = frame[frame["file"].notna() & (frame["celsius"] > -90)]
    minutes = layout.numbers(frame, "Hour", name) * 60 + layout.numbers(frame, "Min", name)
    frame = frame.assign(off=(minutes - 11 * 60).abs())
    frame = frame[frame["off"] <= 60].sort_values(["off", "file"])
    frame = frame.drop_duplicates(["CamId", "Year", "Month", "Day"]).sort_values("file").reset_index(drop=True)
    if frame.empty:
        raise OrdinateError(layout.path, "no image taken around eleven", f"those of {table}, as in 10066/a.jpg")
    return Labelled(
        layout.files(frame["file"]),
        frame["celsius"],
        _splits(len(frame), seed),
        frame["CamId"].rename("camera"),
    )


def _splits(n: int, seed: int, shares: Sequence[int] = (28_373, 3_522, 3_522)) -> pd.Series:
    """Return the split of each image, in the shares in which SupCR (Section 4) trains, validates and tests."""
    splits = np.full(n, "train", dtype=object)
    order = np.random.default_rng(seed).permutation(n)
    validation, test = (round(n * share / sum(shares)) for share in shares[1:])
    splits[order[:validation]] = "validation"
    splits[order[validation : validation + test]] = "test"
    return pd.Series(splits, name="split")
