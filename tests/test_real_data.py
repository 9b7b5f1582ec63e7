"""The estimators on real data, which `ORDINATE_DATA` leads to."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from ordinate import OTDClassifier, SupCRRegressor, SupReMixRegressor
from ordinate.metrics import is_rank_ordered, r2, rank_cosine_matrix
from ordinate_papers.protocols.classifiers import knn_error

DATA = os.environ.get("ORDINATE_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="ORDINATE_DATA does not say where the real data is")


def test_otd_orders_the_ranks_of_balance_scale_and_beats_the_neighbours_of_its_features():
    frame = pd.read_csv(Path(DATA) / "uci_ordinal" / "balance_scale.csv.gz")
    X, y = frame.drop(columns="class"), frame["class"].map({"L": 0, "B": 1, "R": 2}).to_numpy()
    order = np.random.default_rng(100).permutation(len(y))
    train, test = order[:437], order[437:]
    model = OTDClassifier(epochs=40, random_state=0).fit(X.iloc[train], y[train])
    embedded = model.transform(X)
    features = StandardScaler().fit(X.iloc[train]).transform(X)
    raw = KNeighborsClassifier(3).fit(features[train], y[train]).score(features[test], y[test])
    assert knn_error(embedded[train], y[train], embedded[test], y[test]) < (1 - raw) / 2
    assert is_rank_ordered(rank_cosine_matrix(embedded[test], y[test], 3))


@pytest.mark.typical("SupCRRegressor")
@pytest.mark.parametrize("make", [SupCRRegressor, SupReMixRegressor])
def test_the_regressors_predict_the_sound_of_airfoils(make):
    frame = pd.read_csv(Path(DATA) / "uci_airfoil" / "airfoil_self_noise.csv.gz")
    X, y = frame.drop(columns="sound_pressure_db"), frame["sound_pressure_db"].to_numpy()
    order = np.random.default_rng(100).permutation(len(y))
    train, test = order[:1353], order[1353:]
    model = make(epochs=(20, 20), random_state=0).fit(X.iloc[train], y[train])
    assert np.abs(model.predict(X.iloc[test]) - y[test]).mean() < 1.7  # k-NN on its features: 1.5; the mean: 5.6


@pytest.mark.thorough
def test_supcr_learns_from_series():
    data = np.load(Path(DATA) / "tser" / "FloodModeling1.npz")
    model = SupCRRegressor(epochs=(8, 20), batch_size=64, random_state=0).fit(data["X_train"], data["y_train"])
    assert r2(data["y_test"], model.predict(data["X_test"])) > 0.5
