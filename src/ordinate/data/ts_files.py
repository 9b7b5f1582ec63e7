"""Series as arrays, and the ``.ts`` files of the time series archives (UEA and UCR; TSER, Tan et al. 2021)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray

from ordinate.counts import counted
from ordinate.errors import OrdinateError


def stack_series(series: Sequence[ArrayLike]) -> Float[np.ndarray, "n c t"]:
    """Return series (channels, length) of several lengths as one array, in which the end of the shorter ones is NaN.

    Example:
        >>> stack_series([np.array([[1.0, 2.0, 3.0]]), np.array([[4.0]])]).tolist()
        [[[1.0, 2.0, 3.0]], [[4.0, nan, nan]]]
    """
    arrays = [np.asarray(one) for one in series]
    for place, one in enumerate(arrays):
        if one.ndim != 2 or one.size == 0 or one.dtype.kind not in "biuf":
            got = f"a series of shape {one.shape} and {one.dtype} at {place}"
            raise OrdinateError("X", got, "numbers (channels, length)")
        if len(one) != len(arrays[0]):
            raise OrdinateError("X", f"series of {len(arrays[0])} and of {counted(len(one), 'channel')}", "one number")
    dtype = np.result_type(np.float32, *{one.dtype for one in arrays})
    stacked = np.full((len(arrays), len(arrays[0]), max(one.shape[1] for one in arrays)), np.nan, dtype)
    for place, one in enumerate(arrays):
        stacked[place, :, : one.shape[1]] = one
    return stacked


def read_ts(path: str | Path) -> tuple[NDArray[np.float64], np.ndarray]:
    r"""Read series, X (n, channels, length), and their labels, y (n,): continuous targets or classes.

    A header of lines ``@name value`` ends with ``@data``; then every line is a series: its channels, separated by
    colons, of numbers separated by commas, and after the last colon its label. A ``?`` is a missing point; these, and
    the end of series that are shorter than the longest, are NaN. Classes, of ``@classLabel true``, are text unless all
    of them are numbers.

    Raises:
        OrdinateError: the file is not there, or it is not what its header says; names the line.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".ts") as file:
        ...     _ = file.write("@equalLength false\n@missing true\n@data\n1,?,3:0.5\n4,5:0.7\n")
        ...     file.flush()
        ...     X, y = read_ts(file.name)
        >>> X.tolist(), y.tolist()
        ([[[1.0, nan, 3.0]], [[4.0, 5.0, nan]]], [0.5, 0.7])
    """
    path = Path(path)
    try:
        lines = path.read_text("utf-8-sig", errors="replace").splitlines()  # Comments may be in any encoding.
    except OSError as error:
        raise OrdinateError(path, problem=f"could not be read: {error.strerror}") from error
    header: dict[str, str] = {}
    series: list[list[NDArray[np.float64]]] = []
    labels: list[str] = []
    classes: list[str] | None = None
    in_data = False
    for number, text in enumerate(lines, start=1):
        line, where = text.strip(), f"{path}, line {number}"
        if not line or line.startswith("#"):
            continue
        if in_data:
            *channels, label = (part.strip() for part in line.split(":"))
            if not channels:
                expected = "channels and a target separated by colons"
                raise OrdinateError(where, problem="holds no colon", expected=expected)
            series.append([_numbers(channel, where) for channel in channels])
            labels.append(label)
            _check_label(label, classes, where)
            _check_series(series, header, where)
        elif line.lower() == "@data":
            in_data = True
        elif line.startswith("@"):
            name, _, value = line[1:].partition(" ")
            header[name.lower()] = value.strip().lower()
            _check_header(name.lower(), header[name.lower()], where)
            if name.lower() == "classlabel" and header["classlabel"] != "false":
                classes = value.split()[1:]
        else:
            expected = "a line of the header, such as @missing false, or @data"
            raise OrdinateError(where, expected=expected, hint=f"got {line!r}")
    if not series:
        raise OrdinateError(path, problem="holds no series", expected="@data and one line per series below it")
    # The channels of a series may also differ in length.
    X = stack_series([stack_series([channel[None] for channel in one])[:, 0] for one in series])
    try:
        return X, np.array(labels, dtype=np.float64)
    except ValueError:
        return X, np.array(labels, dtype=object)


def _numbers(text: str, where: str, what: str = "a point") -> NDArray[np.float64]:
    values = [part.strip() for part in text.split(",")]
    there = np.array([value != "?" for value in values])
    numbers = np.full(len(values), np.nan)
    try:
        numbers[there] = [float(value) for value in values if value != "?"]
    except ValueError as error:
        raise OrdinateError(where, problem=f"{what} is no number: {error}") from error
    if not np.isfinite(numbers[there]).all():
        raise OrdinateError(where, problem=f"{what} is not finite", expected="finite numbers, or ? for a missing point")
    return numbers


def _check_label(label: str, classes: Sequence[str] | None, where: str) -> None:
    if classes is None:
        if "," in label or label == "?":
            raise OrdinateError(where, f"{label!r} as the target", "one number after the last colon")
        _numbers(label, where, what="the target")
    elif label not in classes:
        raise OrdinateError(where, f"the class {label!r}", f"one of @classLabel: {', '.join(classes)}")


def _check_header(name: str, value: str, where: str) -> None:
    if name == "timestamps" and value != "false":
        expected = "series of evenly spaced points: @timeStamps false"
        raise OrdinateError(where, problem="holds time stamps", expected=expected)
    if name == "classlabel" and value != "false" and (not value.startswith("true ") or len(value.split()) < 3):
        raise OrdinateError(where, value, "@classLabel false, or true and two or more classes")
    if name == "targetlabel" and value != "true":
        raise OrdinateError(where, problem="holds no targets", expected="@targetLabel true")
    if name in ("dimensions", "serieslength") and not (value.isdecimal() and int(value)):
        raise OrdinateError(where, value, f"a whole number above 0 for @{name}")


def _check_series(series: Sequence[Sequence[NDArray[np.float64]]], header: dict[str, str], where: str) -> None:
    """Hold the last series to the header and to the first one."""
    last, lengths = series[-1], {len(channel) for channel in series[-1]}
    channels = int(header.get("dimensions", len(series[0])))
    if header.get("univariate") == "true":
        channels = 1
    if len(last) != channels:
        raise OrdinateError(where, problem=f"has {counted(len(last), 'channel')}", expected=channels)
    if header.get("missing") == "false" and any(np.isnan(channel).any() for channel in last):
        raise OrdinateError(where, problem="has a missing point, and the header says @missing false")
    if header.get("equallength", "true") == "true":
        length = int(header.get("serieslength", len(series[0][0])))
        if lengths != {length}:
            problem = f"has {min(lengths)} to {counted(max(lengths), 'point')} per channel"
            raise OrdinateError(where, problem=problem, expected=length)
