"""Sets with a folder a rank: KOA, BRACS, Historical Colour Images and BUSI."""

from pathlib import Path, PurePosixPath

import pandas as pd

from ordinate.data.images.folds import random_blocks, rank_folds
from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import SPLITS
from ordinate.papers.datasets.images.layout import IMAGE, Layout

BRACS_TYPES = ("0_N", "1_PB", "2_UDH", "3_FEA", "4_ADH", "5_DCIS", "6_IC")
DECADES = ("1930s", "1940s", "1950s", "1960s", "1970s")
DECADE_TEST_SHARE = 50 / 265  # CLOC's Section 4.1: of the 265 images of a decade, 50 to test on
BUSI_RANKS = ("normal", "benign", "malignant")
SPLIT = r"(?P<split>train|val|test)"
FILE = rf"(?P<file>{IMAGE})"


def read_koa(root: str | Path) -> Labelled:
    """Read Knee Osteoarthritis (Chen 2018): the label is the KL grade, 0 to 4; the group the subject.

    The splits are the owner's, a subject's two knees always in the same; CLOC trains on train and validation together
    (Appendix A.3). The folder ``auto_test``, the test knees as a detector found them, is left out.

    Args:
        root: folder or zip that holds ``train``, ``val`` and ``test``, each with the folders ``0`` to ``4``.

    Raises:
        OrdinateError: it does not.
    """
    layout = Layout.of(root)
    matches = layout.match(
        rf"{SPLIT}/(?P<grade>[0-4])/{FILE}", "train, val and test with folders 0 to 4, as in train/0/9001695L.png"
    )
    return Labelled(
        layout.files(match[0] for match in matches),
        pd.Series([int(match["grade"]) for match in matches], name="grade"),
        pd.Series([SPLITS[match["split"].lower()] for match in matches], name="split"),
        pd.Series([PurePosixPath(match["file"]).stem.rstrip("LRlr") for match in matches], name="subject"),
    )


def read_bracs(root: str | Path) -> Labelled:
    """Read BRACS regions of interest: the label is the subtype, 0 (normal) to 6 (invasive); the group the slide.

    The splits are the owner's; CLOC trains on train and validation together (3,969 and 570 images, Appendix A.5).

    Args:
        root: folder or zip that holds ``train``, ``val`` and ``test``, each with the folders ``0_N`` to ``6_IC``.

    Raises:
        OrdinateError: it does not.
    """
    layout = Layout.of(root)
    matches = layout.match(
        rf"{SPLIT}/(?P<type>{'|'.join(BRACS_TYPES)})/{FILE}",
        "train, val and test with folders 0_N to 6_IC, as in train/0_N/BRACS_264_N_1.png",
    )
    return Labelled(
        layout.files(match[0] for match in matches),
        pd.Series([int(match["type"][0]) for match in matches], name="subtype"),
        pd.Series([SPLITS[match["split"].lower()] for match in matches], name="split"),
        pd.Series(["_".join(match["file"].split("_")[:2]) for match in matches], name="slide"),
    )


def read_hid(root: str | Path, seed: int = 0) -> Labelled:
    """Read Historical Colour Images (Palermo 2012): the label is the decade, 0 (1930s) to 4 (1970s).

    The splits are five folds, each with 50 of a decade's 265 images to test on and the other 215 to train on
    (CLOC's Section 4.1); the 15 left over are in no fold. The paper's own drawing is not published.

    Args:
        root: folder or zip that holds the folders ``1930s`` to ``1970s``.
        seed: of the drawing of the folds.

    Raises:
        OrdinateError: it does not.
    """
    layout = Layout.of(root)
    matches = layout.match(rf"(?P<decade>{'|'.join(DECADES)})/{FILE}", "folders 1930s to 1970s of images")
    decades = pd.Series([DECADES.index(match["decade"]) for match in matches], name="decade")
    return Labelled(layout.files(match[0] for match in matches), decades, rank_folds(decades, DECADE_TEST_SHARE, seed))


def read_busi(root: str | Path, seed: int = 0) -> Labelled:
    """Read Breast Ultrasound Images (Al-Dhabyani 2020): the label is 0 normal, 1 benign, 2 malignant.

    Masks are left out. The splits are five random blocks (OTD's Section 4.1), drawn without regard to the rank, as the
    paper has it; its own drawing is not published. OTD validates on 20% of what a block leaves to train on.

    Args:
        root: folder or zip that holds the folders ``normal``, ``benign`` and ``malignant``.
        seed: of the drawing of the blocks.

    Raises:
        OrdinateError: it does not.
    """
    layout = Layout.of(root)
    matches = layout.match(
        rf"(?P<rank>{'|'.join(BUSI_RANKS)})/(?![^/]*_mask){FILE}",
        "folders normal, benign and malignant, as in benign/benign (1).png",
    )
    ranks = pd.Series([BUSI_RANKS.index(match["rank"].lower()) for match in matches], name="rank")
    return Labelled(layout.files(match[0] for match in matches), ranks, random_blocks(len(ranks), seed))
