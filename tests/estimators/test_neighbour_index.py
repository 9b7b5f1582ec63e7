"""A search finds the nearest by cosine, whatever looks for candidates, and survives a file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from torch import nn

from ordinate import load
from ordinate.errors import OrdinateError
from ordinate.estimators import neighbour_index
from ordinate.estimators.neighbour_index import MORE, NeighbourIndex
from tests.estimators.examples import cloc, draw_frame, draw_table, labels_for, otd, ranks_of, supcr

BACKENDS = ["faiss", "scikit-learn"]


class Itself(BaseEstimator):
    """An estimator whose embeddings are its samples."""

    encoder_ = nn.Linear(1, 1)

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def transform(self, X):
        return np.asarray(X, dtype=np.float64)


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    if request.param == "faiss":
        pytest.importorskip("faiss")
    else:
        monkeypatch.setattr(neighbour_index, "find_spec", lambda _: None)
    return request.param


def search_by_brute_force(queries, embeddings, k):
    """Cosines and rows of the k nearest, one pair at a time; of equally near rows the first."""
    found = []
    for query in queries:
        cosines = []
        for row in embeddings:
            norms = np.linalg.norm(query) * np.linalg.norm(row)
            cosines.append(round(float(query @ row / norms), 12) if norms > 0 else 0.0)
        order = sorted(range(len(cosines)), key=lambda row: (-cosines[row], row))[:k]
        found.append([(cosines[row], row) for row in order])
    return np.array(found)[..., 0], np.array(found)[..., 1].astype(int)


def assert_finds_the_nearest(queries, embeddings, k):
    similarity, rows = search_by_brute_force(queries, embeddings, k)
    found = NeighbourIndex(Itself(), embeddings).search(queries, k)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.similarity, similarity, rtol=0, atol=2e-12)


@pytest.mark.parametrize("k", [1, 10, 200])
def test_the_nearest_are_those_of_brute_force(k, backend):
    random = np.random.default_rng(0)
    assert_finds_the_nearest(random.normal(size=(20, 5)), random.normal(size=(200, 5)), k)


def test_what_float32_cannot_tell_apart_is_decided_in_float64(backend):
    random = np.random.default_rng(0)
    embeddings = np.ones(4) + 1e-7 * random.normal(size=(150, 4))  # a rank that has collapsed
    assert_finds_the_nearest(np.ones((3, 4)) + 1e-7 * random.normal(size=(3, 4)), embeddings, k=5)


@pytest.mark.parametrize("backend_name", BACKENDS)
@given(rows=st.lists(st.tuples(*[st.integers(-1, 1)] * 2), min_size=1, max_size=3 * MORE), k=st.integers(1, 5))
def test_equally_near_samples_are_found_from_the_first(backend_name, rows, k):
    with pytest.MonkeyPatch.context() as patch:
        if backend_name != "faiss":
            patch.setattr(neighbour_index, "find_spec", lambda _: None)
        queries = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [0.0, 0.0]])
        assert_finds_the_nearest(queries, np.array(rows, dtype=float), min(k, len(rows)))


@pytest.mark.parametrize("make", [cloc, otd, supcr], ids=lambda make: make.__name__)
def test_training_samples_find_themselves_with_their_labels(make, backend):
    frame, target = draw_frame()
    labels = labels_for(make, target)
    model = make().fit(frame, labels)
    index = NeighbourIndex.build(model, frame, labels)
    found = index.search(frame, k=3)
    assert len(index) == 48
    assert found.rows[:, 0].tolist() == list(range(48))
    np.testing.assert_array_equal(found.labels, np.asarray(labels)[found.rows])
    np.testing.assert_allclose(found.similarity[:, 0], 1, rtol=0, atol=1e-12)
    assert (np.diff(found.similarity) <= 0).all()


def test_samples_without_labels_are_found_without():
    assert NeighbourIndex(Itself(), np.eye(3)).search(np.eye(3), k=2).labels is None


@pytest.fixture(scope="module")
def fitted():
    X, target = draw_table()
    return otd().fit(X, ranks_of(target))


LABELS = {
    "numbers": np.arange(48) / 7,
    "text": np.array(["mild", "grave"] * 24),
    "several": np.arange(96).reshape(48, 2),
    "none": None,
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_a_loaded_index_finds_the_same(labels, fitted, tmp_path, backend):
    X = draw_table()[0]
    index = NeighbourIndex.build(fitted, X, labels)
    index.save(tmp_path / "knees.index")
    fitted.save(tmp_path / "model")
    loaded = NeighbourIndex.load(tmp_path / "knees.index", load(tmp_path / "model"))
    expected, found = (each.search(draw_table(seed=1)[0], k=4) for each in (index, loaded))
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.similarity, expected.similarity)
    assert (found.labels is None) == (labels is None)
    if labels is not None:
        np.testing.assert_array_equal(found.labels, expected.labels)
    assert {path.name for path in tmp_path.iterdir()} == {"knees.index", "model"}


def test_every_flipped_bit_of_an_index_is_noticed(fitted, tmp_path):
    path = tmp_path / "index"
    NeighbourIndex.build(fitted, *draw_table()).save(path)
    content = path.read_bytes()
    for position in np.random.default_rng(0).integers(0, len(content), 40):
        changed = bytearray(content)
        changed[position] ^= 1
        path.write_bytes(changed)
        with pytest.raises(OrdinateError, match=r"index: |estimator: "):
            NeighbourIndex.load(path, fitted)


def test_an_index_of_another_estimator_is_refused(fitted, tmp_path):
    X, target = draw_table()
    NeighbourIndex.build(fitted, X).save(tmp_path / "index")
    with pytest.raises(OrdinateError, match=r"estimator: has another encoder than the one that .*index was built with"):
        NeighbourIndex.load(tmp_path / "index", otd(random_state=1).fit(X, ranks_of(target)))


@pytest.mark.parametrize("content", [None, b"", b"\x80\x04N.", b"{}"], ids=["no file", "empty", "pickle", "json"])
def test_a_file_that_is_no_index_is_refused(content, fitted, tmp_path):
    if content is not None:
        (tmp_path / "index").write_bytes(content)
    with pytest.raises(OrdinateError, match=r"index: .* is damaged or no index"):
        NeighbourIndex.load(tmp_path / "index", fitted)


def test_a_file_that_exists_is_kept(fitted, tmp_path):
    (tmp_path / "index").write_text("kept")
    with pytest.raises(OrdinateError, match=r"path: .*index exists, expected a new file"):
        NeighbourIndex.build(fitted, draw_table()[0]).save(tmp_path / "index")
    assert (tmp_path / "index").read_text() == "kept"


def test_what_cannot_be_used_is_named(tmp_path):
    with pytest.raises(OrdinateError, match="labels: got 2 for 3 samples, expected one per sample"):
        NeighbourIndex(Itself(), np.eye(3), [0, 1])
    with pytest.raises(OrdinateError, match=r"embeddings: got shape \(3,\), expected finite \(m, d\)"):
        NeighbourIndex(Itself(), np.ones(3))
    with pytest.raises(OrdinateError, match="k: got 4, expected a whole number from 1 to 3"):
        NeighbourIndex(Itself(), np.eye(3)).search(np.eye(3), k=4)
    index = NeighbourIndex(Itself(), np.eye(3), np.array(["2020", "2021", "2022"], dtype="datetime64[Y]"))
    with pytest.raises(OrdinateError, match="labels: got labels that JSON cannot hold, expected numbers or text"):
        index.save(tmp_path / "index")
    assert list(tmp_path.iterdir()) == []
