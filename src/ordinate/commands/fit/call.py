"""``ordinate.fit``: what the command ``ordinate fit`` trains, as a function."""

import html
import io
import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from ordinate.commands.config_file import options_in
from ordinate.commands.early_checks import check_fit
from ordinate.commands.fit.command import train_and_save
from ordinate.commands.fit.write import REPORT
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.load import RECORDS, FilesOfFit, load
from ordinate.data.labels_file import path_column, with_absolute_paths
from ordinate.data.paths import first_named, require_unique
from ordinate.errors import OrdinateError, did_you_mean
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.model.held_out import HeldOut
from ordinate.optional import optional


def fit(
    data: str | Path | pd.DataFrame,
    target: str | Sequence[str] | None = None,
    *,
    method: str | None = None,
    order: Sequence[object] | None = None,
    group: str | None = None,
    drop: Sequence[str] | None = None,
    epochs: int | None = None,
    time_limit: float | None = None,
    out: str | Path | None = None,
    verbose: int = 1,
    **options: Any,
) -> EmbeddingEstimator:
    """Train the model that suits the data, as ``ordinate fit`` does, and return it.

    A fifth of the samples is held out: their metrics are printed, and ``predict_interval`` is calibrated with them.

    Args:
        data: Table, of which a column may name images, or path of a file or folder that ``ordinate fit`` reads.
        target: Column of the label, or several of continuous targets; None where the data say which it is.
        method: ``"blend"``, ``"cloc"`` or another method of the command; None compares those that suit the label.
        order: Ranks from the lowest to the highest, for labels that are text or fractions.
        group: Column of groups, such as patients, that stay on one side of a split.
        drop: Columns to leave out.
        epochs: Epochs of training; None for the method's default.
        time_limit: Seconds within which to finish; None for the limit of the command.
        out: New folder in which the model is saved with its metrics and a report; None saves nothing.
        verbose: 0 prints nothing, 1 prints what the command prints.
        options: Other options of the command by name, with underscores, such as ``task="continuous"``,
            ``split="part"``, ``weight="count"`` or ``seed=1``; settings of the estimator, such as ``temperature=0.5``;
            and those of groups, such as ``training={"learning_rate": 0.001}``.

    Returns:
        The fitted estimator, such as :class:`~ordinate.BlendClassifier`.

    Raises:
        OrdinateError: data, labels or options that cannot be used.

    Example:
        >>> import numpy as np
        >>> random = np.random.default_rng(0)
        >>> table = pd.DataFrame(random.normal(size=(60, 2)), columns=["size", "age"])
        >>> table["grade"] = np.digitize(table["size"], [-0.5, 0.5])
        >>> model = fit(table, "grade", method="cloc", epochs=2, verbose=0)
        >>> model.predict(table[["size", "age"]]).shape
        (60,)
    """
    _check_arguments(data, target, time_limit, {"group": group, "drop": drop, **options})
    named = {"method": method, "order": order, "group": group, "drop": drop, "epochs": epochs}
    options |= {name: value for name, value in named.items() if value is not None}
    with TemporaryDirectory(prefix="ordinate-") as kept:
        folder = Path(kept) / "model" if out is None else Path(out)
        path = str(data)
        if isinstance(data, pd.DataFrame):
            optional("pyarrow", "parquet", "a DataFrame in ordinate.fit")
            path = str(Path(kept) / "data.parquet")
            with_absolute_paths(data).to_parquet(path, index=False)
        wanted = {"quiet": verbose == 0, "no_report": out is None, **options, "data": path, "out": str(folder)}
        if target is not None:
            wanted["target"] = target if isinstance(target, str) else list(target)
        if time_limit is not None:
            wanted["time_limit"] = time_limit / 60
        try:
            given = FitOptions.of(options_in(wanted, FitOptions))
            check_fit(given)
            with silence() if verbose == 0 else _named_data(path, data):
                train_and_save(given)
        except OrdinateError as error:
            error = _with_option_meant(error, options).of(_in_python(error.argument))
            if isinstance(data, pd.DataFrame):
                error = error.naming(path, "data")
            raise error from None
        if isinstance(data, pd.DataFrame):
            _forget_path(folder, path)
        model: EmbeddingEstimator = load(folder)
        model.held_out_ = HeldOut.read(folder)
        if isinstance(data, pd.DataFrame):
            model.data_of_fit_ = FilesOfFit.of(folder).of_table(path, model.fitted)
    return model


def _check_arguments(data: object, target: object, time_limit: object, options: Mapping[str, Any]) -> None:
    """Raise where arguments are of other types than they may be, or name columns that a DataFrame lacks."""
    if not isinstance(data, str | Path | pd.DataFrame):
        raise OrdinateError("data", type(data).__name__, "a pandas DataFrame, or the path of a file or folder")
    is_time = isinstance(time_limit, int | float) and not isinstance(time_limit, bool) and time_limit > 0
    if time_limit is not None and not is_time:
        raise OrdinateError("time_limit", repr(time_limit), "a number of seconds above 0")
    for name, value in {"target": target, **options}.items():
        if isinstance(value, pd.Series | pd.DataFrame | pd.Index):
            known = [*value.columns] if isinstance(value, pd.DataFrame) else value.name
            expected = "the name of a column" if known is None else f"its name in the data, {known!r}"
            raise OrdinateError(name, f"a {type(value).__name__}", expected)
    if target is not None and not isinstance(target, str | Sequence):
        raise OrdinateError("target", repr(target), "the name of a column, or a list of names")
    if isinstance(data, pd.DataFrame):
        require_unique(data.columns, "data")
        _check_columns(data, [target] if isinstance(target, str) else list(target or ()), options)


def _check_columns(data: pd.DataFrame, targets: Sequence[object], options: Mapping[str, Any]) -> None:
    """Raise where a DataFrame lacks a column that is named, or no label of a table is."""
    columns = list(map(str, data.columns))
    of_options = {name: options.get(name) for name in ("group", "split", "weight")}
    for argument, name in [*(("data", target) for target in targets), *of_options.items()]:
        if isinstance(name, str) and name not in columns:
            hint = did_you_mean(name, columns) or f"it has {', '.join(map(repr, columns[:20]))}"
            raise OrdinateError(argument, problem=f"no column {name!r}", hint=hint)
    if not targets and path_column(data) is None:
        raise OrdinateError("target", "none", f"the column of the label, one of {first_named(map(repr, columns), 20)}")


@contextmanager
def _named_data(path: str, data: object) -> Iterator[None]:
    """Print "data" for the path of the file that a DataFrame was written to."""
    if not isinstance(data, pd.DataFrame):
        yield
        return
    out = sys.stdout

    class Renamed(io.TextIOBase):
        def write(self, text: str) -> int:
            return out.write(text.replace(path, "data"))

        def flush(self) -> None:
            out.flush()

        def isatty(self) -> bool:
            return out.isatty()

    with redirect_stdout(Renamed()):
        yield


def _forget_path(folder: Path, path: str) -> None:
    """Name a DataFrame instead of the file that it was written to, which is removed, in the files of a model."""
    (folder / "run.toml").unlink()
    for name in (*RECORDS, REPORT):
        file = folder / name
        if file.exists():
            text = file.read_text(encoding="utf-8")
            for quoted in (repr(path), html.escape(repr(path)).replace("x27", "39")):
                text = text.replace(quoted, "data")
            file.write_text(text.replace(path, "DataFrame"), encoding="utf-8")


def _with_option_meant(error: OrdinateError, given: Iterable[str]) -> OrdinateError:
    """Return an error of a setting that there is not with the option of the command that it resembles, if it does."""
    for name in given:
        hint = did_you_mean(name, [each.name for each in fields(FitOptions)], str)
        if name in ("device", "gpu", "cuda", "cpu"):
            hint = "did you mean training={'accelerator': 'gpu'}?"
        if hint is not None and error.problem == f"there is no setting {name!r}":
            return OrdinateError(error.argument, problem=error.problem, hint=hint)
    return error


def _in_python(option: str) -> str:
    """Return the name of an argument by that of an option of the command, which may be followed by more.

    Example:
        >>> _in_python("--test-fraction"), _in_python("--set temperature"), _in_python("--weight: column 'w'")
        ('test_fraction', 'temperature', "weight: column 'w'")
    """
    if option == "--set":
        return "options"
    name = re.match(r"--(?:set )?([\w.-]+)", option)
    if name is None:
        return option
    return name[1].replace("-", "_") + option[name.end() :]


@contextmanager
def silence() -> Iterator[None]:
    """Print and log nothing."""
    logger = logging.getLogger("ordinate")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with redirect_stdout(None):
            yield
    finally:
        logger.setLevel(level)
