"""``ordinate search``: the samples of a data set nearest to each query in a model's embedding."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.batches import FileOfSamples, columns_of, names_of_samples, with_progress
from ordinate.commands.split_file import read_split
from ordinate.commands.table_file import write_table
from ordinate.counts import counted
from ordinate.data.images.reader import ImageReader
from ordinate.data.modality import Request
from ordinate.data.numbers import plain_text
from ordinate.data.paths import reading, require_names
from ordinate.data.registry import modality_of_files
from ordinate.data.rows import BatchedSamples, Samples, take
from ordinate.data.streamed import loaded
from ordinate.errors import OrdinateError
from ordinate.estimators.loading import load
from ordinate.metrics.inputs import check_neighbours
from ordinate.model.batches import map_batches, read_unlabelled, reading_of, trained_columns
from ordinate.model.model import Model
from ordinate.model.neighbour_index import NeighbourIndex, Neighbours
from ordinate.report.text import table

MOST_SHOWN = 100  # A page shows at most this many queries.


def search(model: str, query: str, among: str, target: str | None, k: int, out: str | None) -> None:
    """Print the k samples of ``among`` nearest to every sample of ``query``, or write them to ``out``.

    Near are samples whose embeddings are similar as the model's loss compares them: by the cosine, or by distance.
    Rows of a table are named by the column that identifies them, if training left out one, and otherwise by their
    numbers from 0; images are named by their paths. ``target`` is the column of the labels in ``among``, or else that
    of training; images in one folder per rank have labels without it. A missing label stays empty. ``among`` is read in
    batches, of which only the embeddings are kept. Of images, a file ``out`` that ends in ``.html`` shows the first
    queries with their neighbours.
    """
    fitted = load(model).fitted
    is_page = out is not None and out.lower().endswith(".html")
    if is_page and not isinstance(fitted.reader, ImageReader):
        raise OrdinateError("out", problem=f"{out} would show pictures", expected="a csv or parquet file")
    usual = fitted.target if isinstance(fitted.target, str) else None
    references, labels = _references(among, target, usual, fitted)
    check_neighbours(k, len(references))
    file = FileOfSamples(fitted, query)
    queries = file.read()
    identity = read_split(model)["identity"]
    asked = np.concatenate([embeddings for _, embeddings in map_batches(fitted, Model.transform, queries)])
    embeddings = _embed(fitted, references, among, target)
    found = NeighbourIndex(fitted, embeddings, labels).nearest(asked, k)
    name, sign = _measure(fitted)
    frame = pd.DataFrame(
        {
            "query": np.repeat(names_of_samples(file.samples, identity), k),
            "place": np.tile(np.arange(1, k + 1), len(queries)),
            "neighbour": names_of_samples(references, identity)[found.rows.ravel()],
            name: sign * found.similarity.ravel(),
        }
    )
    if found.labels is not None:
        frame.insert(3, "label", found.labels.ravel())
    if is_page:
        _write_page(fitted, file.samples, references, found, str(out))
    elif out is None:
        text = frame.assign(**{name: frame[name].map("{:z.4f}".format)})
        shown = [["" if pd.isna(cell) else str(cell) for cell in row] for row in text.to_numpy(dtype=object)]
        print(table(list(text.columns), shown))
    else:
        write_table([frame], out)
        print(f"{counted(k, 'neighbour')} of {counted(len(queries), 'query', 'queries')}: {out}")


def _measure(fitted: Model) -> tuple[str, int]:
    """Return what a model's similarity is called, and the sign with which it is shown."""
    return ("similarity", 1) if fitted.similarity == "cosine" else ("distance", -1)


def _write_page(fitted: Model, samples: Samples, references: Samples, found: Neighbours, out: str) -> None:
    """Write the page of the first queries, with their predictions, and of their neighbours, with their labels."""
    from ordinate.report.neighbours import Picture, write_neighbours

    count, k = min(MOST_SHOWN, len(found.rows)), found.rows.shape[1]
    asked = take(samples, np.arange(count))
    texts = [f"predicted {plain_text(label)}" for label in fitted.predict(asked)]
    queries = map(Picture, _pixels(fitted, asked), map(str, names_of_samples(samples, ())[:count]), texts)
    rows = found.rows[:count].ravel()
    labels = [""] * len(rows)
    if found.labels is not None:
        known = found.labels[:count].ravel()
        labels = ["" if pd.isna(label) else f"label {plain_text(label)}, " for label in known]
    name, sign = _measure(fitted)
    near_by = (f"{name} {sign * value:z.3g}" for value in found.similarity[:count].ravel())
    labels = [f"{label}{value}" for label, value in zip(labels, near_by, strict=True)]
    names = map(str, names_of_samples(references, ())[rows])
    pictures = list(map(Picture, _pixels(fitted, take(references, rows, renumber=True)), names, labels))
    near = [pictures[start : start + k] for start in range(0, len(pictures), k)]
    write_neighbours(list(queries), near, out)
    print(f"{counted(count, 'query', 'queries')} with {counted(k, 'neighbour')} each: {out}")


def _pixels(fitted: Model, images: Samples) -> NDArray[np.uint8]:
    """Return images (n, c, h, w) as the model reads them."""
    return loaded(fitted.read(images)).numpy()


def _references(
    data: str, target: str | None, usual: str | None, fitted: Model
) -> tuple[Samples, pd.Series | pd.DataFrame | None]:
    """Return the samples to search, and their labels, None without any; ``usual`` is the target of the model."""
    modality = modality_of_files(data, as_table=bool(fitted.feature_names_in))
    how = reading_of(fitted, target or usual)
    if modality.holds_arrays:
        samples = read_unlabelled(data, fitted, target=target or usual)
        if hasattr(samples, "columns"):  # The label is one of the columns.
            if target is None and usual in samples.columns:
                target = usual
            if target is not None:
                require_names(samples.columns, [target], Path(data))
                return samples, pd.concat(columns_of(samples, [target], [target]), ignore_index=True)[target]
            return samples, None
    for name in (usual, None) if target is None else (target,):
        try:
            with reading(data):
                labelled = modality.read_labelled(data, Request(name, say=lambda _: None, how=how))
        except OrdinateError:
            if target is not None:
                raise
            continue
        if usual not in (None, name) and pd.Series(labelled.labels).name is not None:
            break  # The only column of a labels.csv, which is not the label of the model.
        return labelled.samples, labelled.labels
    return read_unlabelled(data, fitted, target=target or usual), None


def _embed(fitted: Model, references: Samples, data: str, target: str | None) -> NDArray[np.float64]:
    """Return the embeddings of the samples to search, which are read in batches."""
    if hasattr(references, "columns") and not fitted.feature_names_in:
        references = references[[name for name in references.columns if name != target]]
    batches = BatchedSamples(trained_columns(fitted, references, data), fitted.reader.read_at_once)
    results = with_progress(map_batches(fitted, Model.transform, batches), len(references))
    return np.concatenate([embeddings for _, embeddings in results])
