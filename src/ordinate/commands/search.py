"""``ordinate search``: the samples of a data set nearest to each query in a model's embedding."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.csv_file import write_csv
from ordinate.commands.model_samples import fit_to, paths_of, read_unlabelled
from ordinate.data.modality import Request
from ordinate.data.paths import reading
from ordinate.data.registry import modality_of_files
from ordinate.errors import OrdinateError
from ordinate.estimators import load
from ordinate.estimators.neighbour_index import NeighbourIndex
from ordinate.report.text import table


def search(model: str, query: str, among: str, target: str | None, k: int, out: str | None) -> None:
    """Print the k samples of ``among`` nearest to every sample of ``query``, or write them as csv to ``out``.

    Rows of a table or an array are numbered from 0; images go by their paths. ``target`` is the column of the labels
    in ``among``, which images have without it where they lie in one folder per rank.
    """
    estimator = load(model)
    references, labels = _references(among, target)
    queries = read_unlabelled(query)
    index = NeighbourIndex.build(estimator, fit_to(estimator, references, among), labels)
    found = index.search(fit_to(estimator, queries, query), k)
    columns: dict[str, Any] = {
        "query": np.repeat(_names(queries), k),
        "place": np.tile(np.arange(1, k + 1), len(found.rows)),
        "neighbour": _names(references)[found.rows.ravel()],
    }
    if found.labels is not None:
        columns["label"] = found.labels.ravel()
    frame = pd.DataFrame({**columns, "similarity": found.similarity.ravel()})
    if out is None:
        text = frame.assign(similarity=frame["similarity"].map("{:.4f}".format)).astype(str)
        print(table(list(text.columns), text.to_numpy().tolist()))
    else:
        write_csv(frame, out)
        print(f"{k} neighbours of {len(found.rows)} queries: {out}")


def _references(data: str, target: str | None) -> tuple[Any, Any]:
    """Return the samples to search, and their labels where there are any."""
    modality = modality_of_files(data)
    try:
        with reading(data):
            labelled = modality.read_labelled(data, Request(target, say=lambda _: None))
    except OrdinateError:
        if target is not None:
            raise
        return read_unlabelled(data), None
    return labelled.samples, labelled.labels


def _names(samples: Any) -> NDArray[Any]:
    paths = paths_of(samples)
    return np.arange(len(samples)) if paths is None else paths
