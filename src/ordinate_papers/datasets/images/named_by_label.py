"""Sets with the label in the names of folders or files: KOA, BRACS, HID, BUSI, Fingers, FG-NET and AgeDB."""

from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from ordinate.data.labelled import Labelled
from ordinate_papers.datasets.images.folds import random_blocks, rank_folds
from ordinate_papers.datasets.images.layout import IMAGE, SUFFIX, Layout


def read_koa(root: str | Path) -> Labelled:
    """Read Knee Osteoarthritis (Chen 2018): the label is the KL grade, 0 to 4; the group the subject.

    The splits are the owner's, with both knees of a subject in the same one; CLOC trains on train and validation
    together (Appendix A.3). The folder ``auto_test``, the test knees as a detector found them, is left out.
    """
    return Layout.of(root).read(
        rf"(?P<split>train|val|test)/(?P<grade>[0-4])/(?P<file>{IMAGE})",
        "train, val and test with folders 0 to 4, as in train/0/9001695L.png",
        label=("grade", lambda match: int(match["grade"])),
        group=("subject", lambda match: PurePosixPath(match["file"]).stem.rstrip("LRlr")),
    )


def read_bracs(root: str | Path) -> Labelled:
    """Read BRACS regions of interest: the label is the subtype, 0 (normal) to 6 (invasive); the group the slide.

    The splits are the owner's; CLOC trains on train and validation together (3,969 and 570 images, Appendix A.5).
    """
    return Layout.of(root).read(
        rf"(?P<split>train|val|test)/(?P<type>0_N|1_PB|2_UDH|3_FEA|4_ADH|5_DCIS|6_IC)/(?P<file>{IMAGE})",
        "train, val and test with folders 0_N to 6_IC, as in train/0_N/BRACS_264_N_1.png",
        label=("subtype", lambda match: int(match["type"][0])),
        group=("slide", lambda match: "_".join(match["file"].split("_")[:2])),
    )


def read_hid(root: str | Path, seed: int = 0) -> Labelled:
    """Read Historical Colour Images (Palermo 2012): the label is the decade, 0 (1930s) to 4 (1970s).

    The splits are five folds drawn by ``seed``, each with 50 of a decade's 265 images to test on and the other 215 to
    train on (CLOC's Section 4.1); the 15 left over are in no fold. The paper's own drawing is not published.
    """
    images = Layout.of(root).read(
        rf"19(?P<decade>[3-7])0s/(?P<file>{IMAGE})",
        "folders 1930s to 1970s of images",
        label=("decade", lambda match: int(match["decade"]) - 3),
    )
    return replace(images, splits=rank_folds(images.labels, 50 / 265, seed))


def read_busi(root: str | Path, seed: int = 0) -> Labelled:
    """Read Breast Ultrasound Images (Al-Dhabyani 2020): the label is 0 normal, 1 benign, 2 malignant.

    Masks are left out. The splits are five random blocks (OTD's Section 4.1) drawn by ``seed`` without regard to the
    rank, as in the paper, whose own drawing is not published. OTD validates on 20% of the training samples of a block.
    """
    ranks = ("normal", "benign", "malignant")
    images = Layout.of(root).read(
        rf"(?P<rank>{'|'.join(ranks)})/(?![^/]*_mask)(?P<file>{IMAGE})",
        "folders normal, benign and malignant, as in benign/benign (1).png",
        label=("rank", lambda match: ranks.index(match["rank"].lower())),
    )
    return replace(images, splits=random_blocks(len(images), seed))


def read_fingers(root: str | Path) -> Labelled:
    """Read Fingers (Kaggle, koryakinp): the label is the number of raised fingers, 0 to 5; the splits the owner's."""
    return Layout.of(root).read(
        rf"(?P<split>train|test)/[^/]*_(?P<fingers>[0-5])[LR]{SUFFIX}",
        "train and test, as in train/000e7aa6_4L.png",
        label=("fingers", lambda match: int(match["fingers"])),
    )


def read_fgnet(root: str | Path, seed: int = 0) -> Labelled:
    """Read FG-NET: the label is OTD's age group, 0 child, 1 adolescent, 2 adult, 3 senior; the group the subject.

    A child is up to 12 years old, an adolescent up to 18, an adult up to 59 (OTD's Section 4.1).

    The splits are OTD's five random blocks, drawn by ``seed``, as its own drawing is not published. They are drawn over
    images, so that a subject is on both sides of a split: to measure on people not seen before, split by the group.
    """
    images = Layout.of(root).read(
        rf"(?P<subject>\d{{3}})A(?P<age>\d{{2}})[a-z]?{SUFFIX}",
        "images named as in 001A02.JPG",
        label=("age_group", lambda match: np.searchsorted((12, 18, 59), int(match["age"]))),
        group=("subject", lambda match: match["subject"]),
    )
    return replace(images, splits=random_blocks(len(images), seed))


def read_agedb(root: str | Path) -> Labelled:
    """Read AgeDB as its owner ships it: the label is the age in years; the group the person; no splits.

    SupCR and SupReMix use the splits of AgeDB-DIR, see :mod:`~ordinate_papers.datasets.images.imbalanced_ages`.
    """
    return Layout.of(root).read(
        rf"\d+_(?P<person>[^/]+)_(?P<age>\d+)_[mf]{SUFFIX}",
        "images named as in 0_MariaCallas_35_f.jpg",
        label=("age", lambda match: int(match["age"])),
        group=("person", lambda match: match["person"]),
    )
