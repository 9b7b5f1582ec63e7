"""What is kept of samples to show them, and that it stays small."""

import base64
import io
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from ordinate.data.images.pixels import ImagePreprocessing
from ordinate.data.images.reader import ImageReader
from ordinate.data.series.reader import SeriesScaler
from ordinate.report.page import samples
from ordinate.report.page.samples import show_samples
from tests.report.page.stand_ins import contents

RNG = np.random.default_rng(0)


def of_pictures(pixels):
    n, channels, *size = pixels.shape
    reader = ImageReader(ImagePreprocessing(tuple(size), channels), np.zeros(channels), np.ones(channels))
    ranks = np.zeros(n, int)
    return show_samples(contents(ranks, ranks, inputs=torch.from_numpy(pixels), reader=reader), None)


def of_series(series):
    n, channels, length = series.shape
    reader = SeriesScaler(np.zeros(channels), np.ones(channels), length, [])
    return show_samples(contents(np.zeros(n, int), np.zeros(n, int), reader=reader), series)


def opened(sheet):
    return Image.open(io.BytesIO(base64.b64decode(sheet.removeprefix("data:image/webp;base64,"))))


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_stand_in_sheets_of_100_where_the_page_looks_for_them(channels):
    shades = np.linspace(0, 255, 130).astype(np.uint8)
    pixels = np.broadcast_to(shades[:, None, None, None], (130, channels, 20, 10)).copy()
    shown = of_pictures(pixels)
    assert (shown["count"], len(shown["sheets"]), shown["width"], shown["height"]) == (130, 2, 10, 20)
    for i in (0, 7, 99, 100, 129):
        place = i % 100
        x, y = place % 10 * 10 + 5, place // 10 * 20 + 10
        value = np.asarray(opened(shown["sheets"][i // 100]).convert("L"))[y, x]
        assert abs(int(value) - int(shades[i])) <= 6  # WebP is lossy


def test_pictures_past_the_budget_are_made_smaller_and_then_left_out(monkeypatch):
    pixels = RNG.integers(0, 256, (250, 1, 96, 96), dtype=np.uint8)  # noise, which nothing compresses
    full = of_pictures(pixels)
    assert full["width"] == 96
    size = sum(map(len, full["sheets"]))
    monkeypatch.setattr(samples, "BYTES", size // 2)
    smaller = of_pictures(pixels)
    assert smaller["width"] < 96
    assert (smaller["count"], smaller["note"]) == (250, "")
    monkeypatch.setattr(samples, "BYTES", size // 40)
    cut = of_pictures(pixels)
    assert cut["width"] == 32
    assert cut["count"] < 250
    assert cut["note"] == f"Pictures are kept of the first {cut['count']} of 250 samples."


def test_rows_are_text_with_dashes_for_what_is_missing():
    frame = pd.DataFrame(
        {"size": [1.23456, None], "colour": ["red", None], "count": pd.array([3, None], dtype="Int64")}
    )
    shown = show_samples(contents([0, 0], [0, 0]), frame)
    assert shown["columns"] == ["size", "colour", "count"]
    assert shown["values"] == [["1.235", "\u2013"], ["red", "\u2013"], ["3", "\u2013"]]


def test_columns_past_the_budget_are_left_out_and_said(monkeypatch):
    monkeypatch.setattr(samples, "_rows", partial(samples._rows, most_cells=25))
    shown = show_samples(contents(np.zeros(10, int), np.zeros(10, int)), np.zeros((10, 6)))
    assert len(shown["values"]) == 2
    assert shown["note"] == "The first 2 of 6 columns are kept."


def test_curves_are_bytes_between_their_channels_ends_with_gaps():
    series = np.linspace(0, 1, 40).reshape(1, 1, 40) * np.array([1.0, 100.0]).reshape(1, 2, 1)
    series = np.concatenate([series, series / 2])
    series[0, 0, 3] = np.nan
    shown = of_series(series)
    levels = np.frombuffer(base64.b64decode(shown["levels"]), np.uint8).reshape(2, 2, 40)
    expected = np.round(np.linspace(0, 1, 40) * 254)
    np.testing.assert_allclose(np.delete(levels[0, 0], 3), np.delete(expected, 3), atol=1)
    assert levels[0, 0, 3] == 255
    np.testing.assert_allclose(levels[0, 1], expected, atol=1)
    np.testing.assert_allclose(levels[1, 1], expected / 2, atol=1)
