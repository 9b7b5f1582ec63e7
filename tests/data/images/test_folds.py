import pandas as pd
import pytest

from ordinate.data.images.files import ImageFiles
from ordinate.data.images.folds import hold_out
from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError


def images(splits):
    n = 0 if splits is None else len(splits)
    return Labelled(
        ImageFiles([f"{i}.png" for i in range(n)]),
        pd.Series(range(n)),
        None if splits is None else pd.Series(splits),
        pd.Series(range(n)),
    )


def test_holding_a_fold_out_leaves_the_rest_to_train_on():
    held = hold_out(images(["0", "1", "train", "1", "4"]), 1)
    assert held.splits.tolist() == ["train", "test", "train", "test", "train"]
    assert held.groups.tolist() == held.labels.tolist() == [0, 1, 2, 3, 4]
    assert held.samples.paths.tolist()[3] == "3.png"


@pytest.mark.parametrize(
    ("splits", "fold", "message"),
    [
        (["0", "1"], 5, "fold: got 5, expected 0 to 4"),
        (["test", "train"], 0, "fold: got 0, and this set has the splits test, train, no folds"),
        (None, 0, "fold: got 0, and this set has no splits, no folds"),
    ],
)
def test_a_fold_that_is_not_there_is_refused(splits, fold, message):
    with pytest.raises(OrdinateError, match=message):
        hold_out(images(splits), fold)
