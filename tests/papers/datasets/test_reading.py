"""How the papers' data sets are read and split."""

import numpy as np
import pandas as pd
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets import reading
from ordinate_papers.datasets.catalogue import TABLE_SETS
from ordinate_papers.datasets.reading import digest, load, unavailable, word_vectors
from ordinate_papers.datasets.tuab import read_tuab
from tests.papers.datasets import trees

CAR = TABLE_SETS["car"].reading


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """An empty folder of sets."""
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def car(data):
    (data / "uci_ordinal").mkdir()
    rng = np.random.default_rng(0)
    levels = CAR["levels"]
    frame = pd.DataFrame({name: rng.choice(of, 100) for name, of in levels.items()})
    frame["class"] = rng.choice(CAR["ranks"], 100)
    frame.to_csv(data / "uci_ordinal" / "car.csv.gz", index=False)
    return frame


def write_ts(path, series, targets):
    path.parent.mkdir(exist_ok=True)
    rows = [f"{','.join(map(str, one))}:{target}" for one, target in zip(series, targets, strict=True)]
    path.write_text("@timeStamps false\n@univariate true\n@targetLabel true\n@data\n" + "\n".join(rows) + "\n")


def test_ranks_follow_the_order_of_the_classes(car):
    _, y, _ = load("car")
    assert y.tolist() == [CAR["ranks"].index(label) for label in car["class"]]


def test_splits_are_drawn_by_seed_and_leave_nothing_out(car):
    _, _, first = load("car", 0)
    _, _, again = load("car", 0)
    _, _, other = load("car", 1)
    assert first.train.tolist() == again.train.tolist() != other.train.tolist()
    assert sorted([*first.train, *first.validation, *first.test]) == list(range(100))
    assert len(first.train) == 70


def test_series_keep_the_owners_split_as_ts_and_as_npz(data):
    train, test = np.arange(12.0).reshape(4, 3), np.arange(6.0).reshape(2, 3) + 100
    write_ts(data / "tser" / "Covid3Month_TRAIN.ts", train, [0.1, 0.2, 0.3, 0.4])
    write_ts(data / "tser" / "Covid3Month_TEST.ts", test, [0.5, 0.6])
    X, y, split = load("covid3month")
    np.savez(
        data / "tser" / "FloodModeling1.npz", X_train=train[:, None], y_train=y[:4], X_test=test[:, None], y_test=y[4:]
    )
    same_X, same_y, same_split = load("floodmodeling1")
    np.testing.assert_array_equal(X[split.test][:, 0], test)
    np.testing.assert_array_equal(X, same_X)
    np.testing.assert_array_equal(y, same_y)
    assert split.train.tolist() == same_split.train.tolist() == [0, 1, 2, 3]


def test_images_train_on_validation_where_the_paper_does(data):
    (data / "retinamnist").mkdir()
    arrays = {f"{part}_images": np.zeros((n, 2, 2, 3), np.uint8) for part, n in (("train", 3), ("val", 1), ("test", 2))}
    arrays |= {f"{part}_labels": np.arange(n)[:, None] for part, n in (("train", 3), ("val", 1), ("test", 2))}
    np.savez(data / "retinamnist" / "retinamnist.npz", **arrays)
    X, y, split = load("retinamnist")
    assert X.shape == (6, 3, 2, 2)
    assert y.tolist() == [0, 1, 2, 0, 0, 1]
    assert split.train.tolist() == [0, 1, 2, 3]
    assert split.test.tolist() == [4, 5]


def sizes(split):
    return len(split.train), len(split.validation), len(split.test)


def test_sentences_keep_the_authors_split(data):
    trees.plant_pairs(data)
    X, y, split = load("stsb_dir", 3)
    assert list(X) == ["sentence1", "sentence2"]
    assert sizes(split) == (40, 8, 8)
    shared = [len(set(first.split()) & set(second.split())) for first, second in X.to_numpy()]
    assert y.tolist() == shared


def test_sentences_take_vectors_of_words_the_papers_first(data):
    trees.plant_pairs(data, vectors=None)
    assert unavailable("stsb_dir") == (
        "stsb_dir: $ORDINATE_DATA holds no vectors of words, expected GloVe's as glove.840B.300d.txt or "
        "glove100_subset/*.npz"
    )
    without = digest("stsb_dir")
    (data / "glove100_subset").mkdir()
    (data / "glove100_subset" / "some.npz").write_bytes(b"vectors")
    assert unavailable("stsb_dir") is None
    assert word_vectors() == "glove100_subset/some.npz"
    assert digest("stsb_dir") != without
    (data / "glove.840B.300d.txt").write_text("a 1 2\n")
    assert word_vectors() == "glove.840B.300d.txt"


def test_recordings_are_those_of_their_reader_split_by_seed(data):
    trees.plant_recordings(data)
    X, y, split = load("tuab", 5, start=1.0)
    read = read_tuab(data / "tuab", start=1.0, seed=5)
    np.testing.assert_array_equal(X, read.samples)
    assert y.tolist() == list(range(20, 40))
    assert sizes(split) == (18, 0, 2)
    assert [read.splits[row] for row in split.test] == ["test", "test"]
    assert any(load("tuab", seed, start=1.0)[2].test.tolist() != split.test.tolist() for seed in range(3))


def test_a_subject_is_in_one_part(data):
    subjects = [f"subject {place % 12}" for place in range(trees.SUBJECTS)]
    trees.plant_matrices(data, group=subjects)
    split = load("hcp_aging", 1)[2]
    parts = [{subjects[row] for row in rows} for rows in (split.train, split.validation, split.test)]
    assert [len(part) for part in parts] == [8, 2, 2]  # 0.695 and 0.848 of 12 subjects, rounded
    assert len(set.union(*parts)) == 12


def test_volumes_are_files_with_ages_split_by_subject(data):
    trees.plant_volumes(data)
    X, y, split = load("uk_biobank", 1)
    assert y[:3].tolist() == [42, 43, 44]
    assert X[[2]].paths[0].endswith("uk_biobank/1000002_20252_2_0/T1/T1_brain_to_MNI.nii.gz")
    assert sizes(split) == (19, 3, 2)  # 0.800 and 0.900 of 24, rounded
    (data / "uk_biobank" / "labels.csv").unlink()
    assert unavailable("uk_biobank") == "uk_biobank: not in $ORDINATE_DATA"


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("tuab", "mne", "eeg"), ("uk_biobank", "monai", "volumes"), ("koa", "timm", "images")]
)
def test_what_a_kind_of_data_takes_is_named_where_it_lacks(name, module, extra, monkeypatch):
    monkeypatch.setattr(reading, "find_spec", lambda package: None if package == module else package)
    assert unavailable(name) == f"{name}: needs {module}, which pip install 'ordinate[{extra}]' adds"
    assert unavailable("hcp_aging") == "hcp_aging: not in $ORDINATE_DATA"


def test_the_digest_follows_the_content(data, car):
    before = digest("car")
    car.iloc[::-1].to_csv(data / "uci_ordinal" / "car.csv.gz", index=False)
    assert before != digest("car")
    assert digest("nursery") == ""


@pytest.mark.parametrize("name", [name for name in TABLE_SETS if name != "car"])
def test_what_is_not_here_says_why(name):
    reason = unavailable(name)
    assert reason.startswith(f"{name}: ")
    with pytest.raises(OrdinateError) as error:
        load(name)
    assert str(error.value) == reason
