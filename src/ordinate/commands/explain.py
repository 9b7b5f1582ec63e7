"""``ordinate explain``: the columns that a saved model predicts from."""

import pandas as pd

from ordinate.commands.report import read_samples
from ordinate.commands.split_file import read_split
from ordinate.commands.table_file import write_table
from ordinate.data.tables.parquet_table import in_memory
from ordinate.errors import OrdinateError
from ordinate.estimators import load
from ordinate.estimators.importance import column_importance
from ordinate.report.text import table


def explain(model: str, data: str, target: str | None, *, repeats: int = 10, out: str | None = None) -> None:
    """Print the permutation importance of every column, or write it to ``out``; the rows are those of the report."""
    estimator = load(model)
    samples = read_samples(estimator, model, data, target or read_split(model)["target"])
    X, y = samples.take(samples.measured)
    X = in_memory(X)
    if not isinstance(X, pd.DataFrame):
        raise OrdinateError(data, problem="holds no table with columns", expected="a csv or parquet file")
    found = column_importance(estimator, X, y, repeats=repeats)
    if out is not None:
        write_table([found], out)
    seen = "" if samples.trained is not None else ", some of which the model may have been trained on"
    print(f"rise of the mean absolute error when a column is shuffled, on {len(y)} samples{seen}, with 95% intervals\n")
    rows = [[str(name), f"{mean:.4f}", f"{low:.4f} to {high:.4f}"] for name, mean, low, high in found.to_numpy()]
    print(table(["column", "importance", "interval"], rows))
