"""A kind of data added through public names alone: strands of DNA, as a list of strings or a FASTA file."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import ordinate
from ordinate import CLOCClassifier, OrdinateError, SupCRRegressor
from ordinate.cli import main
from ordinate.data import Labelled, Modality, Reader, modalities, register_modality, registry

pytestmark = pytest.mark.usefixtures("unpainted")
BASES = "ACGT"


class StrandReader(Reader):
    """Turns strands into channels, one per base; what lies past the length of the training strands is left out."""

    kind = "dna"

    def __init__(self, length):
        self.length = length
        self.notes = []

    def transform(self, X):
        batch = np.zeros((len(X), len(BASES), self.length), dtype=np.float32)
        for place, strand in enumerate(X):
            for position, base in enumerate(strand[: self.length]):
                batch[place, BASES.index(base), position] = 1
        return batch

    @property
    def sample_shape(self):
        return len(BASES), self.length

    def to_dict(self):
        return {"length": self.length}

    @classmethod
    def from_dict(cls, state):
        return cls(**state)


class Strands(Modality):
    name = "strands of DNA"
    expected = "strands of DNA: n strings of A, C, G and T"
    readers = (StrandReader,)

    def recognises(self, X, options=None):
        return isinstance(X, list) and all(isinstance(x, str) and set(x) <= set(BASES) for x in X)

    def fit(self, X, options, *, encoder, progress):
        return StrandReader(max(map(len, X))), X

    def opens(self, path):
        return Path(path).suffix == ".fasta"

    def read_labelled(self, path, request):
        lines = Path(path).read_text().split()
        labels = [int(line.removeprefix(">")) for line in lines[::2]]
        return Labelled(lines[1::2], pd.Series(labels, name="grade"))


def draw(n=30, seed=0):
    """Strands of 12 bases, and how many of each are G or C, in three ranks."""
    random = np.random.default_rng(seed)
    strands = ["".join(random.choice(list(BASES), 12, p=p)) for p in random.dirichlet(np.ones(4), n)]
    counts = [sum(base in "GC" for base in strand) for strand in strands]
    return strands, np.digitize(counts, [4, 8])


X, Y = draw()


@pytest.fixture(autouse=True)
def _dna(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [])
    register_modality(Strands())


@pytest.mark.parametrize("make", [CLOCClassifier, SupCRRegressor])
def test_samples_are_fitted_predicted_saved_and_loaded(make, tmp_path):
    epochs = {"epochs": (2, 2)}
    model = make(**epochs, embedding_dim=4, batch_size=16, random_state=0)
    predicted = clone(model).fit(X, Y).predict(X)
    model.fit(X, Y).save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), predicted)
    np.testing.assert_array_equal(loaded.transform(X[:3] + X[:3])[:3], model.transform(X)[:3])
    assert loaded.n_features_in_ == len(BASES)
    with pytest.raises(OrdinateError, match=r"^X: got series, expected strands of DNA"):
        loaded.predict(np.zeros((2, 4, 12)))


def test_the_commands_read_its_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("strands.fasta").write_text("".join(f">{y}\n{x}\n" for x, y in zip(X, Y, strict=True)))
    assert (
        main(["fit", "strands.fasta", "--method", "cloc", "--epochs", "2", "--no-report", "--quiet", "--out", "model"])
        == 0
    )
    assert "30 samples of strands of DNA, 3 ranks" in capsys.readouterr().out
    assert main(["predict", "model", "strands.fasta", "--out", "predicted.csv"]) == 0
    assert pd.read_csv("predicted.csv")["prediction"].tolist() == ordinate.load("model").predict(X).tolist()
    assert main(["report", "model", "strands.fasta", "--out", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert "samples of shape 4 x 12" in page
    assert sum(strand in page for strand in set(X)) == 6  # those that were held out
    assert main(["export", "model", "--format", "torch"]) == 2
    assert "export: got a model of strands of DNA, expected one of" in capsys.readouterr().err
    assert main(["fit", "strands.fasta", "--drop", "a", "--out", "other"]) == 2
    assert "--drop: is for a table, and strands.fasta holds strands of DNA" in capsys.readouterr().err


def test_its_name_and_the_kinds_of_its_readers_are_its_own():
    with pytest.raises(OrdinateError, match=r"^modality: got 'strands of DNA'"):
        register_modality(Strands())


def test_a_model_of_an_unknown_kind_of_data_is_refused(tmp_path, monkeypatch):
    CLOCClassifier(epochs=(1, 1), embedding_dim=4, random_state=0).fit(X, Y).save(tmp_path / "model")
    monkeypatch.setattr(registry, "_registered", [])
    with pytest.raises(OrdinateError, match=r"^model: got a reader of 'dna', expected a kind of data that register"):
        ordinate.load(tmp_path / "model")


def test_the_built_in_kinds_have_names_parameters_and_readers_of_their_own():
    built_in = modalities()[1:]
    assert {modality.name for modality in built_in} == {"tables", "images", "series", "text", "volumes"}
    kinds = [reader.kind for modality in built_in for reader in modality.readers]
    assert len(set(kinds)) == len(kinds) == 6
