"""``ordinate predict``: predictions of a saved model for every row of a file."""

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.batches import FileOfSamples
from ordinate.commands.csv_text import with_digits
from ordinate.commands.labels import parse_costs, parse_decision
from ordinate.commands.split_file import read_split
from ordinate.commands.table_file import write_table
from ordinate.counts import counted
from ordinate.decisions.conformal import least_samples
from ordinate.errors import OrdinateError, warn
from ordinate.estimators.loading import load
from ordinate.model.held_out import HeldOut
from ordinate.model.model import Model


def predict(
    model: str,
    data: str,
    *,
    coverage: float | None,
    by_rank: bool = False,
    decision: str | None = None,
    costs: str | None,
    skip_unreadable: bool = False,
    keep_columns: Sequence[str] = (),
    out: str | None,
) -> None:
    """Write the predictions to ``out``, or print them; the arguments are the options of the command line."""
    if by_rank and coverage is None:
        raise OrdinateError("--by-rank", expected="--coverage SHARE, which it modifies")
    fitted = load(model).fitted
    samples = FileOfSamples(fitted, data, skip_unreadable)
    fitted.reader.way_out = "; --skip-unreadable leaves them out"
    classes = None if fitted.classes is None else fitted.classes.tolist()
    chosen = parse_decision(decision, parse_costs(costs, classes), classes)
    if chosen is not None:
        fitted = fitted.deciding_by(chosen)
    held_out, calibration = None, None
    if coverage is not None:
        held_out = HeldOut.read(model)
        calibration = held_out.calibrate(coverage, by_rank=by_rank)
        if by_rank:
            _note_on_few(fitted, held_out, coverage)
    kept = read_split(model)
    targets = kept["target"] if isinstance(kept["target"], list) else None
    others = 0  # Predictions that are not the most probable rank.

    def parts() -> Iterator[pd.DataFrame]:
        nonlocal others
        results = samples.results(Model.predict_numbers, samples.read())
        for names, predicted in samples.named(results, kept["identity"], keep_columns):
            frame = _table(fitted, predicted, targets)
            if chosen is None and isinstance(fitted.rule, str):  # Of the mode there are none.
                others += int((fitted.decide(predicted) != predicted.argmax(1)).sum())
            if held_out is not None and calibration is not None:
                lower, upper = held_out.sets(fitted, predicted, calibration)
                frame = frame.assign(**_columns("lower", lower, targets), **_columns("upper", upper, targets))
            twice = names.columns.intersection(frame.columns)
            if len(twice):
                raise OrdinateError("--keep-columns", f"{twice[0]!r}, a column of the predictions", "other columns")
            yield names.join(frame)

    with samples.telling():
        rows = write_table(parts(), out)
    if out is not None:
        print(f"{counted(rows, 'prediction')}: {out}")
        if others:
            differ = f"{counted(others, 'prediction')} {'differs' if others == 1 else 'differ'}"
            why = "the median of the probabilities is off by less on average (--decision mode)"
            print(f"note: {differ} from the most probable grade: {why}")


def _note_on_few(fitted: Model, held_out: HeldOut, coverage: float) -> None:
    """Say which ranks too few held-out samples have for sets by rank, so that they belong to every set."""
    counts = np.bincount(held_out.labels.astype(np.int64), minlength=len(fitted.ranks))
    few = [str(rank) for rank, count in zip(fitted.ranks, counts, strict=True) if count < least_samples(coverage)]
    if few:
        needed = counted(least_samples(coverage), "held-out sample")
        warn(f"note: {coverage:.0%} by rank takes {needed} of each; {', '.join(few)} have fewer, and are in every set")


def _columns(name: str, values: NDArray[np.generic], targets: Sequence[str] | None) -> dict[str, NDArray[np.generic]]:
    """Return values (n,) as a column of this name, (n, p) as one per target, which are numbered if unnamed."""
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{target}": column for target, column in zip(targets or count(), values.T, strict=False)}


def _table(model: Model, predicted: NDArray[np.float64], targets: Sequence[str] | None) -> pd.DataFrame:
    """Return the predictions of a batch."""
    if not model.is_of_ranks:
        return pd.DataFrame(_columns("prediction", predicted, targets))
    table = pd.DataFrame({"prediction": model.as_labels(predicted)})
    for label, column in zip(model.ranks, predicted.T, strict=True):
        table[f"probability_{label}"] = with_digits(column, 6)
    return table
