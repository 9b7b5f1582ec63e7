"""IDRiD, part B: five grades of diabetic retinopathy."""

from pathlib import Path, PurePosixPath

import pandas as pd

from ordinate.data.file_formats import LABELS
from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import SUFFIX, Layout


def read_idrid(root: str | Path) -> Labelled:
    """Read IDRiD's Disease Grading: the label is the grade of retinopathy, 0 to 4; the splits are the owner's.

    It may lie as its owner ships it, or as images next to a ``labels.csv`` with the columns file, split and dr_grade.
    """
    layout = Layout.of(root)
    tables = [name for name in layout.names if PurePosixPath(name).name == LABELS]
    if len(tables) == 1:
        return _read_listed(layout, tables[0])
    names, parts = [], []
    for split, folder, table in (
        ("train", "a. Training Set", "Training Labels"),
        ("test", "b. Testing Set", "Testing Labels"),
    ):
        where = layout.match(
            rf"2\. Groundtruths/[ab]\. IDRiD_Disease Grading_{table}\.csv",
            f"'2. Groundtruths' of 'B. Disease Grading' with its {table}, next to '1. Original Images'",
        )[0][0]
        frame = layout.table(where, ["Image name", "Retinopathy grade"])
        images = layout.match(
            rf"1\. Original Images/{folder}/(?P<stem>[^/]+){SUFFIX}", f"'1. Original Images/{folder}'"
        )
        files = {image["stem"]: image[0] for image in images}
        absent = [name for name in frame["Image name"] if name not in files]
        if absent:
            raise OrdinateError(
                layout.path, problem=f"{folder} lacks {len(absent)} of its images, such as {absent[0]}.jpg"
            )
        names += [files[name] for name in frame["Image name"]]
        parts.append(pd.DataFrame({"grade": layout.numbers(frame, "Retinopathy grade", where), "split": split}))
    rows = pd.concat(parts, ignore_index=True)
    return Labelled(layout.files(names), rows["grade"], rows["split"])


def _read_listed(layout: Layout, table: str) -> Labelled:
    """Read the images that a table lists, which lie next to it."""
    frame = layout.table(table, ["file", "split", "dr_grade"])
    names = layout.locate(frame["file"].tolist(), table)
    return Labelled(layout.files(names), layout.numbers(frame, "dr_grade", table).rename("grade"), frame["split"])
