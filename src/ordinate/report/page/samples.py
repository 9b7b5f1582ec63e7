"""What people see of a sample: its picture, its row, or its curve, within so many bytes for all."""

import base64
import io
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ordinate.estimators import inputs
from ordinate.report.page.contents import Contents

Shown = dict[str, Any]

BYTES = 5_500_000  # of all pictures, in base64
SHEET = 10  # pictures per side of a sheet, so that one that is shown is soon decoded
SIZES = ((96, 75), (72, 65), (56, 55), (48, 45), (40, 40), (32, 35))  # longer side and quality, the first that fits
CELLS, LETTERS = 250_000, 300  # of a table, and of a text
STEPS, CHANNELS = 96, 3  # of a series
MISSING = 255


def show_samples(contents: Contents, X: Any) -> Shown:
    """Return the samples for the page, ready for JSON: ``kind``, what it needs, and a ``note`` on what is left out."""
    shown = contents.model.reader_.shown(inputs.unlabelled(X, contents.model), contents.inputs)
    if isinstance(shown, pd.DataFrame):
        return _rows(shown)
    return _pictures(shown) if shown.ndim == 4 else _curves(shown)


def packed(values: ArrayLike, dtype: str) -> str:
    """Return numbers as base64 of their little-endian bytes."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode()


def _pictures(pixels: NDArray[np.uint8]) -> Shown:
    """Sheets of 10 x 10 small pictures, as large as they may be; the first samples alone where even small ones pass."""
    longest = max(pixels.shape[2:])
    for side, quality in SIZES:
        scale = min(1.0, side / longest)
        width, height = (max(1, round(length * scale)) for length in pixels.shape[:1:-1])
        start = _sheet(pixels[: SHEET**2], width, height, quality)
        expected = len(start) * len(pixels) / min(len(pixels), SHEET**2)
        if expected <= BYTES * 0.9 or (side, quality) == SIZES[-1]:
            break
    sheets, used = [start], len(start)
    for first in range(SHEET**2, len(pixels), SHEET**2):
        sheet = _sheet(pixels[first : first + SHEET**2], width, height, quality)
        used += len(sheet)
        if used > BYTES:
            break
        sheets.append(sheet)
    count = min(len(pixels), len(sheets) * SHEET**2)
    note = "" if count == len(pixels) else f"Pictures are kept of the first {count:,} of {len(pixels):,} samples."
    return {
        "kind": "pictures", "width": width, "height": height, "side": SHEET, "count": count, "sheets": sheets,
        "note": note,
    }  # fmt: skip


def _sheet(pixels: NDArray[np.uint8], width: int, height: int, quality: int) -> str:
    """Up to 100 pictures side by side, as a data URI."""
    from PIL import Image

    sheet = Image.new("L" if pixels.shape[1] == 1 else "RGB", (SHEET * width, SHEET * height))
    for place, picture in enumerate(pixels):
        image = Image.fromarray(picture[0] if len(picture) == 1 else np.ascontiguousarray(picture.transpose(1, 2, 0)))
        if image.size != (width, height):
            image = image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
        sheet.paste(image, (place % SHEET * width, place // SHEET * height))
    content = io.BytesIO()
    sheet.save(content, "WEBP", quality=quality, method=2)
    return "data:image/webp;base64," + base64.b64encode(content.getvalue()).decode()


def _rows(frame: pd.DataFrame) -> Shown:
    kept = max(1, min(frame.shape[1], CELLS // len(frame)))
    note = "" if kept == frame.shape[1] else f"The first {kept} of {frame.shape[1]} columns are kept."
    columns = [[_text(value) for value in frame.iloc[:, place]] for place in range(kept)]
    names = [str(name) for name in frame.columns[:kept]]
    return {"kind": "rows", "columns": names, "values": columns, "note": note}


def _text(value: Any) -> str:
    if value is None or value is pd.NaT or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return "\u2013"
    text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}\u2026"


def _curves(series: NDArray[np.float64]) -> Shown:
    """Up to three channels of up to 96 means each, as bytes between the channel's lowest and highest."""
    kept = series[:, :CHANNELS]
    places = np.linspace(0, kept.shape[2], min(STEPS, kept.shape[2]) + 1).astype(int)[:-1]
    present = ~np.isnan(kept)
    totals = np.add.reduceat(np.where(present, kept, 0), places, axis=2)
    counts = np.add.reduceat(present.astype(np.float64), places, axis=2)
    means = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)
    low = np.nan_to_num(np.nanmin(means, axis=(0, 2), keepdims=True)) if present.any() else np.zeros((1, 1, 1))
    high = np.nan_to_num(np.nanmax(means, axis=(0, 2), keepdims=True)) if present.any() else np.ones((1, 1, 1))
    levels = (means - low) / np.where(high > low, high - low, 1) * (MISSING - 1)
    note = f"The first {CHANNELS} of {series.shape[1]} channels are kept." if series.shape[1] > CHANNELS else ""
    return {
        "kind": "curves", "channels": kept.shape[1], "steps": len(places), "note": note,
        "levels": packed(np.where(np.isnan(levels), MISSING, levels.round()), "u1"),
    }  # fmt: skip
