"""IDRiD, part B: five grades of diabetic retinopathy."""

from pathlib import Path

import pandas as pd

from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import SUFFIX, Layout


def read_idrid(root: str | Path) -> Labelled:
    """Read IDRiD's Disease Grading: the label is the grade of retinopathy, 0 to 4; the splits are the owner's."""
    layout = Layout.of(root)
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
