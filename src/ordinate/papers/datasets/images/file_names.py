"""Sets with the label in the name of the file: Fingers, FG-NET and AgeDB."""

from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.data.images.folds import random_blocks
from ordinate.data.labelled import Labelled
from ordinate.papers.datasets.images.layout import SUFFIX, Layout

OLDER_THAN = (12, 18, 59)  # years: child to 12, adolescent to 18, adult to 59, senior from 60 (OTD's Section 4.1)


def read_fingers(root: str | Path) -> Labelled:
    """Read Fingers (Kaggle, koryakinp): the label is the number of raised fingers, 0 to 5; the splits are the owner's.

    Args:
        root: folder or zip that holds ``train`` and ``test``, with files whose names end in the number and the hand.

    Raises:
        OrdinateError: it does not.
    """
    layout = Layout.of(root)
    matches = layout.match(
        rf"(?P<split>train|test)/[^/]*_(?P<fingers>[0-5])[LR]{SUFFIX}", "train and test, as in train/000e7aa6_4L.png"
    )
    return Labelled(
        layout.files(match[0] for match in matches),
        pd.Series([int(match["fingers"]) for match in matches], name="fingers"),
        pd.Series([match["split"].lower() for match in matches], name="split"),
    )


def read_fgnet(root: str | Path, seed: int = 0) -> Labelled:
    """Read FG-NET: the label is OTD's age group, 0 child, 1 adolescent, 2 adult, 3 senior; the group the subject.

    The splits are OTD's five random blocks, whose own drawing is not published. They are drawn over images, so that a
    subject stands on both sides of a split: for a measure of ages of people not seen before, split by the group.

    Args:
        root: folder or zip that holds images named by subject and age.
        seed: of the drawing of the blocks.

    Raises:
        OrdinateError: it does not.
    """
    layout = Layout.of(root)
    matches = layout.match(rf"(?P<subject>\d{{3}})A(?P<age>\d{{2}})[a-z]?{SUFFIX}", "images named as in 001A02.JPG")
    ages = np.array([int(match["age"]) for match in matches])
    return Labelled(
        layout.files(match[0] for match in matches),
        pd.Series(np.searchsorted(OLDER_THAN, ages), name="age_group"),
        random_blocks(len(matches), seed),
        pd.Series([match["subject"] for match in matches], name="subject"),
    )


def read_agedb(root: str | Path) -> Labelled:
    """Read AgeDB as its owner ships it: the label is the age in years; the group the person; no splits.

    SupCR and SupReMix use the splits of AgeDB-DIR, which `read_agedb_dir` reads.

    Args:
        root: folder or zip that holds images named by number, person, age and gender.

    Raises:
        OrdinateError: it does not.
    """
    layout = Layout.of(root)
    matches = layout.match(
        rf"\d+_(?P<person>[^/]+)_(?P<age>\d+)_[mf]{SUFFIX}", "images named as in 0_MariaCallas_35_f.jpg"
    )
    return Labelled(
        layout.files(match[0] for match in matches),
        pd.Series([int(match["age"]) for match in matches], name="age"),
        groups=pd.Series([match["person"] for match in matches], name="person"),
    )
