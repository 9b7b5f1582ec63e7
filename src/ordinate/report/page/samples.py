"""What people see of a sample: its picture, its row, or its curve, within so many bytes for all."""

import base64
import io
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ordinate.counts import counted
from ordinate.data.other_containers import unpack
from ordinate.data.rows import Samples
from ordinate.report.page.contents import Contents
from ordinate.report.page.document import Values

BYTES = 5_500_000  # Limit for all pictures together, in base64.
SHEET = 10  # A sheet has this many pictures per side, so that it is decoded quickly.


def show_samples(contents: Contents, X: Samples) -> Values:
    """Return the samples for the page, ready for JSON: ``kind``, what it needs, and a ``note`` on what is left out."""
    shown = contents.model.reader.shown(unpack(X, None)[0], contents.inputs)
    if isinstance(shown, pd.DataFrame):
        return _rows(shown)
    if shown.ndim == 4:
        return _pictures(shown)
    return _curves(shown)


def packed(values: ArrayLike, dtype: str) -> str:
    """Return numbers as base64 of their little-endian bytes."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode()


def _pictures(pixels: NDArray[np.uint8]) -> Values:
    """Sheets of 10 x 10 small pictures, as large as they may be; the first samples alone where even small ones pass."""
    longest = max(pixels.shape[2:])
    # The longer side and the quality: the first that fits, or the last.
    sizes = ((96, 75), (72, 65), (56, 55), (48, 45), (40, 40), (32, 35))
    for side, quality in sizes:
        scale = min(1.0, side / longest)
        width, height = (max(1, round(length * scale)) for length in pixels.shape[:1:-1])
        start = _sheet(pixels[: SHEET**2], width, height, quality)
        expected = len(start) * len(pixels) / min(len(pixels), SHEET**2)
        if expected <= BYTES * 0.9 or side == 32:
            break
    sheets, used = [start], len(start)
    for first in range(SHEET**2, len(pixels), SHEET**2):
        sheet = _sheet(pixels[first : first + SHEET**2], width, height, quality)
        used += len(sheet)
        if used > BYTES:
            break
        sheets.append(sheet)
    count = min(len(pixels), len(sheets) * SHEET**2)
    note = ""
    if count < len(pixels):
        note = f"Pictures are kept of the first {count:,} of {counted(len(pixels), 'sample')}."
    return {
        "kind": "pictures", "width": width, "height": height, "side": SHEET, "count": count, "sheets": sheets,
        "note": note,
    }  # fmt: skip


def _sheet(pixels: NDArray[np.uint8], width: int, height: int, quality: int) -> str:
    """Up to 100 pictures side by side, as a data URI."""
    from PIL import Image

    mode = {1: "L", 3: "RGB"}[pixels.shape[1]]
    sheet = Image.new(mode, (SHEET * width, SHEET * height))
    for place, picture in enumerate(pixels):
        shown = np.ascontiguousarray(picture.transpose(1, 2, 0))
        if mode == "L":
            shown = shown[:, :, 0]
        image = Image.fromarray(shown)
        if image.size != (width, height):
            image = image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
        sheet.paste(image, (place % SHEET * width, place // SHEET * height))
    content = io.BytesIO()
    sheet.save(content, "WEBP", quality=quality, method=2)
    return "data:image/webp;base64," + base64.b64encode(content.getvalue()).decode()


def _rows(frame: pd.DataFrame, most_cells: int = 250_000) -> Values:
    kept = max(1, min(frame.shape[1], most_cells // len(frame)))
    note = ""
    if kept < frame.shape[1]:
        note = f"The first {kept:,} of {counted(frame.shape[1], 'column')} are kept."
    columns = [[_text(value) for value in frame.iloc[:, place]] for place in range(kept)]
    names = [str(name) for name in frame.columns[:kept]]
    return {"kind": "rows", "columns": names, "values": columns, "note": note}


def _text(value: Any) -> str:
    if value is None or value is pd.NaT or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return "\u2013"
    text = str(value)
    if isinstance(value, float | np.floating):
        text = f"{value:.4g}"
    if len(text) > 300:
        return f"{text[:299]}\u2026"
    return text


def _curves(series: NDArray[np.float64], channels: int = 3, steps: int = 96) -> Values:
    """Up to three channels of up to 96 means each, as bytes from its lowest to its highest; 255 is missing."""
    kept = series[:, :channels]
    places = np.linspace(0, kept.shape[2], min(steps, kept.shape[2]) + 1).astype(int)[:-1]
    present = ~np.isnan(kept)
    totals = np.add.reduceat(np.where(present, kept, 0), places, axis=2)
    counts = np.add.reduceat(present.astype(np.float64), places, axis=2)
    means = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)
    low = np.where(counts > 0, means, np.inf).min(axis=(0, 2), keepdims=True)
    high = np.where(counts > 0, means, -np.inf).max(axis=(0, 2), keepdims=True)
    extent = np.where(high > low, high - low, 1)
    levels = np.where(counts > 0, ((means - low) / extent * 254).round(), 255)
    note = ""
    if series.shape[1] > channels:
        note = f"The first {channels:,} of {counted(series.shape[1], 'channel')} are kept."
    return {
        "kind": "curves", "channels": kept.shape[1], "steps": len(places), "note": note, "levels": packed(levels, "u1"),
    }  # fmt: skip
