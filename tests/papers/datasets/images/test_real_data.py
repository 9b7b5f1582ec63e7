"""The sets that `ORDINATE_DATA` leads to, counted."""

import os

import numpy as np
import pandas as pd
import pytest

from ordinate_papers.datasets.catalogue import IMAGE_SETS
from ordinate_papers.datasets.images.catalogue import load

pytestmark = pytest.mark.skipif(
    "ORDINATE_DATA" not in os.environ, reason="ORDINATE_DATA does not say where the real data is"
)

COUNTS = {
    "koa": {
        "train": [2286, 1046, 1516, 757, 173],
        "validation": [328, 153, 212, 106, 27],
        "test": [639, 296, 447, 223, 51],
    },
    "fingers": {"train": [3000] * 6, "test": [600] * 6},
    "retinamnist": {
        "train": [486, 128, 206, 194, 66],
        "validation": [54, 12, 28, 20, 6],
        "test": [174, 46, 92, 68, 20],
    },
}


@pytest.mark.parametrize("name", COUNTS)
def test_every_split_holds_the_owners_number_of_every_rank(name):
    images = load(name)
    counts = pd.crosstab(images.splits, images.labels)
    assert {split: row.tolist() for split, row in counts.iterrows()} == COUNTS[name]
    assert len(images) == IMAGE_SETS[name].samples


def test_no_subject_of_koa_stands_in_two_splits():
    images = load("koa")
    assert images.groups.nunique() == 4130
    assert (images.splits.groupby(images.groups).nunique() == 1).all()


def test_busi_has_its_ranks_in_five_blocks():
    images = load("busi")
    assert images.labels.value_counts().sort_index().tolist() == [133, 437, 210]
    assert images.splits.value_counts().to_dict() == dict.fromkeys("01234", 156)
    assert load("busi", fold=4).splits.value_counts().to_dict() == {"train": 624, "test": 156}


@pytest.mark.parametrize(("name", "size"), [("koa", (200, 120)), ("busi", (256, 256)), ("fingers", (64, 64))])
def test_images_open_at_their_size(name, size):
    images = load(name)
    assert images.samples.open(len(images) - 1).size == size


def test_retinamnist_is_an_array_of_colours():
    images = load("retinamnist").samples
    assert (images.shape, images.dtype) == ((1600, 3, 28, 28), np.uint8)
