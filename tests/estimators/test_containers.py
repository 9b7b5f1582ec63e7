"""Samples in the containers of other libraries are the samples that they hold."""

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy.sparse import coo_array, csr_matrix
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from ordinate.errors import OrdinateError
from tests.estimators.examples import cloc, draw_table, ranks_of, supcr

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)
FRAME = pd.DataFrame(X, columns=list("abc")).assign(
    colour=np.where(X[:, 1] > 0, "red", "blue"),
    size=pd.Categorical(np.where(X[:, 2] > 0, "big", "small"), categories=["small", "big"], ordered=True),
)
SIZES = pl.Enum(["small", "big"])


class Stream(IterableDataset):
    def __iter__(self):
        return zip(torch.from_numpy(X), torch.from_numpy(RANKS), strict=True)


TABLES = {
    "polars": lambda: pl.from_pandas(FRAME),
    "polars, an Enum": lambda: pl.from_pandas(FRAME).with_columns(pl.col("size").cast(pl.String).cast(SIZES)),
    "pyarrow": lambda: pa.Table.from_pandas(FRAME),
    "datasets": lambda: datasets.Dataset.from_pandas(FRAME),
}
LABELLED = {
    "a Dataset": lambda: TensorDataset(torch.from_numpy(X), torch.from_numpy(RANKS)),
    "a DataLoader": lambda: DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(RANKS)), batch_size=7),
    "a stream": Stream,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_of_another_library_is_the_same_table_in_pandas(table):
    expected = cloc().fit(FRAME, RANKS)
    model = cloc().fit(table(), RANKS)
    assert model.feature_names_in_.tolist() == list(FRAME)
    np.testing.assert_array_equal(model.predict_proba(table()), expected.predict_proba(FRAME))


def test_dictionaries_as_json_holds_them_are_rows_of_a_table():
    model = cloc().fit(FRAME, RANKS)
    np.testing.assert_array_equal(model.predict_proba(FRAME.to_dict("records")), model.predict_proba(FRAME))
    turned = [dict(reversed(row.items())) for row in FRAME.drop(columns="c").to_dict("records")]
    turned[0] |= {"c": 0.0, "unknown": 1}
    expected = FRAME.assign(c=[0.0] + [None] * (len(FRAME) - 1))
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(expected))
    np.testing.assert_array_equal(model.explain(turned[:2], FRAME), model.explain(expected[:2], FRAME))
    with pytest.raises(OrdinateError, match="X: lacks the columns c, colour, size"):
        model.predict([{"a": 1.0, "b": 2.0}])


@pytest.mark.parametrize("kind", [csr_matrix, coo_array])
def test_a_sparse_matrix_is_the_dense_one(kind):
    dense = np.where(X > 0, X, 0)
    expected = supcr().fit(dense, TARGET).predict(dense)
    np.testing.assert_array_equal(supcr().fit(kind(dense), TARGET).predict(kind(dense)), expected)


@pytest.mark.parametrize("samples", LABELLED.values(), ids=LABELLED)
def test_samples_that_bring_their_labels_are_those_of_an_array(samples):
    expected = cloc().fit(X, RANKS)
    model = cloc().fit(samples())
    np.testing.assert_array_equal(model.predict_proba(samples()), expected.predict_proba(X))
    assert model.score(X, RANKS) == expected.score(X, RANKS)


def test_a_loader_without_batches_is_an_error():
    with pytest.raises(OrdinateError, match="X: got a DataLoader without batches, expected samples"):
        cloc().fit(DataLoader(TensorDataset(torch.zeros(0, 3), torch.zeros(0))))
