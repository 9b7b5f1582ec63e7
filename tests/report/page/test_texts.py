"""How a report shows samples that are text."""

import numpy as np
import torch

from ordinate.model.predictions import Predictions
from ordinate.report.page.contents import gather, kind_of_samples, plain_features
from ordinate.report.page.samples import show_samples
from tests.estimators.examples import supremix
from tests.estimators.test_text import BILSTM, X, Y


def test_pairs_are_shown_as_their_text_and_long_ones_are_cut():
    pairs = [tuple(pair) for pair in X.values]
    pairs[2] = ("dog " * 100, "rain")
    contents = gather(Predictions.of(supremix(**BILSTM).fit(X, Y).fitted, pairs, Y))
    shown = show_samples(contents, pairs)
    assert (shown["kind"], shown["columns"]) == ("rows", ["text 0", "text 1"])
    assert shown["values"][1] == [pair[1] for pair in pairs]
    assert shown["values"][0][2] == ("dog " * 100)[:299] + "\u2026"
    assert kind_of_samples(contents) == "pairs of texts"


def test_plain_features_of_tokens_count_them_text_by_text():
    tokens = torch.tensor([[[3, 3, 7, 0], [259, 0, 0, 0]]], dtype=torch.int32)  # 259 shares the group of 3
    counts = plain_features(tokens).reshape(2, 256)
    expected = np.zeros((2, 256))
    expected[0, 3], expected[0, 7], expected[1, 3] = 2, 1, 1
    np.testing.assert_array_equal(counts, expected)
