"""Tables of R: the data frame in an .rds, .rda or .RData file. Nothing of the file is run."""

import bz2
import gzip
import lzma
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ordinate.counts import counted
from ordinate.data.memory import require_memory
from ordinate.data.typed import Declared
from ordinate.errors import OrdinateError
from ordinate.optional import optional

DECLARED = "declared"  # What a labelled column says of its codes, among the attributes of its Series and of the frame.


def read_r(path: Path) -> tuple[pd.DataFrame, dict[str, Declared]]:
    """Return the data frame of a file, and what it says of columns whose codes have labels, as haven writes them.

    Ordered factors are ordered categories, other factors unordered ones; dates and times are those of R's classes.

    Raises:
        OrdinateError: no data frame, or several in an .rda.
    """
    rdata = optional("rdata", "surveys", str(path))
    constructors = {
        "data.frame": _frame, "factor": _factor, "ordered": _ordered, "Date": _date, "POSIXct": _time,
        "haven_labelled": _labelled, "haven_labelled_spss": _labelled, "labelled": _labelled, "integer64": _long,
    }  # fmt: skip
    content = rdata.parser.parse_data(_unpacked(path), extension=_kind(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Classes without a constructor, such as tbl_df, are read as those they extend.
        held = rdata.conversion.convert(content, {**rdata.conversion.DEFAULT_CLASS_MAP, **constructors})
    frame = held
    if isinstance(held, dict):
        frames = {name: each for name, each in held.items() if isinstance(each, pd.DataFrame)}
        if len(frames) > 1:
            problem = f"holds {counted(len(frames), 'data frame')}: {', '.join(list(frames)[:10])}"
            raise OrdinateError(path, problem=problem, expected="one", hint="saveRDS writes one of them to an .rds")
        frame = next(iter(frames.values()), None)
    if not isinstance(frame, pd.DataFrame):
        raise OrdinateError(path, problem="holds no data frame", expected="a table, as saveRDS(frame) writes one")
    return frame.reset_index(drop=True), frame.attrs[DECLARED]


def _unpacked(path: Path, at_once: int = 1 << 24) -> bytes:
    """Return the bytes of a file that R has compressed or not, where memory holds as many."""
    start = path.read_bytes()[:6]
    openers: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
    opener = next((each for magic, each in openers.items() if start.startswith(magic)), None)
    if opener is None:
        return path.read_bytes()
    parts: list[bytes] = []
    with opener(path, "rb") as file:
        while part := file.read(at_once):
            parts.append(part)
            require_memory(2 * len(part), path)
    return b"".join(parts)


def _kind(path: Path) -> str:
    return ".rds" if path.suffix.lower() == ".rds" else ".rda"


def _frame(columns: Mapping[str, Any], _: Mapping[str, Any]) -> pd.DataFrame:
    series: dict[str, pd.Series] = {}
    for name, values in columns.items():
        if isinstance(values, pd.DataFrame):
            series |= {f"{name}.{part}": pd.Series(values[part].array) for part in values}
        elif getattr(values, "ndim", 1) > 1:
            for place in range(values.shape[1]):
                series[f"{name}.{place + 1}"] = _column(np.asarray(values)[:, place])
        else:
            series[name] = _column(values)
    frame = pd.DataFrame({name: each.reset_index(drop=True) for name, each in series.items()})
    frame.attrs[DECLARED] = {str(name): each.attrs[DECLARED] for name, each in series.items() if DECLARED in each.attrs}
    return frame


def _column(values: Any) -> pd.Series:
    """Return a column, in which a missing number or truth value of R is missing."""
    if isinstance(values, pd.Series):
        return values
    if isinstance(values, pd.Categorical):
        return pd.Series(values)
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        if mask.any():
            return pd.Series(values.data).astype(object).mask(mask).infer_objects()
        values = values.data
    if isinstance(values, list | tuple | dict) or not isinstance(values, np.ndarray):
        held = list(values.values()) if isinstance(values, dict) else list(values)
        return pd.Series(
            [[each] for each in held], dtype=object
        )  # A list per row, which no feature can be learned from.
    return pd.Series(values)


def _long(bits: Any, _: Mapping[str, Any]) -> pd.Series:
    """Return whole numbers of 64 bits, which R holds in the bits of floats."""
    numbers = pd.Series(np.asarray(np.ma.getdata(bits), dtype=np.float64).view(np.int64))
    return numbers.mask(numbers == np.iinfo(np.int64).min)


def _factor(codes: Any, attributes: Mapping[str, Any], *, ordered: bool = False) -> "pd.Categorical[str]":
    mask = np.ma.getmaskarray(codes) | (np.ma.getdata(codes) < 1)
    levels = attributes["levels"]
    is_level = np.array([isinstance(level, str) for level in levels], dtype=bool)  # addNA makes NA a level.
    codes = np.where(mask, 0, np.ma.getdata(codes)).astype(np.int64)
    places = np.append(-1, np.where(is_level, np.cumsum(is_level) - 1, -1))
    names = pd.Index([str(level) for level, is_text in zip(levels, is_level, strict=True) if is_text])
    return pd.Categorical.from_codes(places[codes], categories=names, ordered=ordered)


def _ordered(codes: Any, attributes: Mapping[str, Any]) -> "pd.Categorical[str]":
    return _factor(codes, attributes, ordered=True)


def _date(days: Any, _: Mapping[str, Any]) -> pd.Series:
    return pd.Series(pd.to_datetime(_column(days), unit="D", errors="coerce"))


def _time(seconds: Any, attributes: Mapping[str, Any]) -> pd.Series:
    """Return times as the clock of their zone shows them."""
    times = pd.Series(pd.to_datetime(_column(seconds), unit="s", errors="coerce", utc=True))
    zone = next(iter(attributes.get("tzone", ())), None)
    if zone:
        times = times.dt.tz_convert(str(zone))
    return times.dt.tz_localize(None)


def _labelled(codes: Any, attributes: Mapping[str, Any]) -> pd.Series:
    values = _column(codes)
    labels = attributes.get("labels")
    named = {}
    if labels is not None and hasattr(labels, "coords"):  # A vector with names.
        names = labels.coords[labels.dims[0]].to_numpy()
        named = dict(zip(labels.to_numpy().tolist(), map(str, names), strict=True))
    missing = tuple((code, code) for code in np.asarray(attributes.get("na_values", [])).tolist())
    if "na_range" in attributes:
        low, high = np.asarray(attributes["na_range"]).tolist()
        missing = (*missing, (low, high))
    values.attrs[DECLARED] = Declared(named, missing)
    return values
