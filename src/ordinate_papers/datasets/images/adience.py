"""Adience: eight age groups, five folds without a user in two of them."""

from pathlib import Path

import pandas as pd

from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import Layout

AGES = {
    "(0, 2)": 0, "(4, 6)": 1, "(8, 12)": 2, "(15, 20)": 3, "(25, 32)": 4, "(38, 43)": 5, "(48, 53)": 6, "(60, 100)": 7,
    # The fold files also hold these ages, which are assigned to the containing or nearest group.
    "2": 0, "3": 0, "(8, 13)": 2, "13": 2, "(8, 23)": 3, "22": 3, "23": 4, "(25, 23)": 4, "(27, 32)": 4, "29": 4,
    "32": 4, "34": 4, "35": 5, "36": 5, "(38, 42)": 5, "(38, 48)": 5, "42": 5, "45": 5, "46": 6, "55": 6, "56": 6,
    "57": 7, "58": 7,
}  # fmt: skip


def read_adience(root: str | Path) -> Labelled:
    """Read Adience, aligned in plane: the label is the age group, 0 (0-2 years) to 7 (60+); the group the Flickr user.

    The splits are the owner's five folds, ``"0"`` to ``"4"``, each of other users. Faces without an age are left out;
    ages and intervals other than the eight are put into the group that holds them or lies nearest.
    """
    layout = Layout.of(root)
    files = layout.match(r"fold_(?P<fold>[0-4])_data\.txt", "fold_0_data.txt to fold_4_data.txt next to aligned")
    if len(files) != 5:
        found = ", ".join(file["fold"] for file in files)
        raise OrdinateError(layout.path, f"the folds {found}", "fold_0_data.txt to fold_4_data.txt")
    columns = ["user_id", "original_image", "face_id", "age"]
    folds = [layout.table(file[0], columns, sep="\t")[columns].assign(fold=file["fold"]) for file in files]
    faces = pd.concat(folds, ignore_index=True)
    faces = faces[~faces["age"].isin(["None", ""])].reset_index(drop=True)
    unknown = sorted(set(faces["age"]) - set(AGES))
    if unknown:
        raise OrdinateError(layout.path, f"the age {unknown[0]!r} in the fold files", "such as '(25, 32)'")
    # The owner names a face in this way.
    names = (faces["user_id"] + "/landmark_aligned_face." + faces["face_id"] + "." + faces["original_image"]).tolist()
    return Labelled(
        layout.files(layout.locate(names, "the fold files")),
        faces["age"].map(AGES).rename("age_group"),
        faces["fold"].rename("split"),
        faces["user_id"].rename("user"),
    )
