"""Weights of samples and of classes: what they mean in fit and score, and that scikit-learn passes them on."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinate import ImageOptions
from ordinate.adapters.lightning import LightningData
from ordinate.errors import OrdinateError
from ordinate.estimators.plain import CrossEntropyClassifier
from ordinate.estimators.samples import relative_weights
from ordinate.heads.linear import fit_ridge
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.model.export import export_model
from ordinate_papers.estimators.gol import GOLClassifier
from ordinate_papers.estimators.mwr import MWRClassifier
from ordinate_papers.estimators.poe import POEClassifier
from ordinate_papers.estimators.representation import RepresentationClassifier
from tests.estimators.examples import (
    SMALL,
    Make,
    cloc,
    draw_table,
    for_every_classifier,
    for_every_estimator,
    for_every_regressor,
    labels_for,
    otd,
    ranks_of,
    supcr,
)
from tests.model.test_saving import assert_same_model, save_and_load

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)
WEIGHTS = np.random.default_rng(0).integers(0, 4, 48).astype(float)
KEPT = WEIGHTS > 0


cross_entropy = Make(CrossEntropyClassifier, epochs=6)


@for_every_estimator
def test_equal_weights_are_as_good_as_none_and_only_ratios_matter(make):
    labels = labels_for(make, TARGET)
    plain, equal = make().fit(X, labels), make().fit(X, labels, np.full(48, 0.3))
    assert (plain.transform(X) == equal.transform(X)).all()
    weighted, scaled = (make().fit(X, labels, factor * (1 + WEIGHTS)) for factor in (1, 7.3))
    np.testing.assert_allclose(weighted.transform(X), scaled.transform(X), rtol=0, atol=1e-3)
    assert np.abs(weighted.transform(X) - plain.transform(X)).max() > 5e-3


@for_every_estimator
@pytest.mark.parametrize("fraction", [0.0, 0.25])
def test_a_sample_of_weight_0_is_as_if_it_were_not_there(make, fraction):
    labels, groups = labels_for(make, TARGET), np.arange(48) % 12
    model = make(validation_fraction=fraction).fit(X, labels, WEIGHTS, groups=groups)
    without = make(validation_fraction=fraction).fit(X[KEPT], labels[KEPT], WEIGHTS[KEPT], groups=groups[KEPT])
    assert (model.predict(X) == without.predict(X)).all()
    assert (model.transform(X) == without.transform(X)).all()


@for_every_classifier
def test_a_heavy_class_is_predicted_more_often(make):
    labels = np.random.default_rng(1).integers(0, 2, 48)  # of which X says nothing
    epochs = {"epochs": (2, 2)} if make is cloc else {"epochs": 4}
    heavy = [make(class_weight={label: 20.0}, learning_rate=0.03, **epochs).fit(X, labels) for label in (0, 1)]
    assert min((model.predict(X) == label).mean() for label, model in enumerate(heavy)) > 0.6


@for_every_classifier
def test_class_weights_are_sample_weights(make):
    by_class = make(class_weight={0: 1.0, 1: 2.0, 2: 5.0}).fit(X, RANKS, 1 + WEIGHTS)
    by_sample = make().fit(X, RANKS, (1 + WEIGHTS) * np.array([1.0, 2.0, 5.0])[RANKS])
    assert (by_class.predict_proba(X) == by_sample.predict_proba(X)).all()
    y = np.where(RANKS == 2, 1, RANKS)
    balanced, weighted = make(class_weight="balanced").fit(X, y), make().fit(X, y, 1 / np.bincount(y)[y])
    np.testing.assert_allclose(balanced.transform(X), weighted.transform(X), rtol=0, atol=1e-3)


@for_every_estimator
def test_score_is_weighted(make):
    labels = labels_for(make, TARGET)
    model = make().fit(X, labels)
    new = 0.8 * X  # Neighbours are right on samples of training.
    assert model.score(new, labels, WEIGHTS) == pytest.approx(model.score(new[KEPT], labels[KEPT], WEIGHTS[KEPT]))
    assert model.score(new, labels, WEIGHTS) != model.score(new, labels)


@for_every_regressor
def test_validation_samples_and_heads_are_weighted(make):
    light = np.where(np.arange(48) < 24, 1e-9, 1.0)
    model = make().fit(X, TARGET, validation=(X, TARGET, light))
    heavy = make().fit(X, TARGET, validation=(X[24:], TARGET[24:]))
    assert model.head_scores_ == pytest.approx(heavy.head_scores_, rel=1e-5)
    assert model.history_[-1]["val_mae"] == pytest.approx(heavy.history_[-1]["val_mae"], rel=1e-5)


def test_ridge_is_that_of_scikit_learn_on_repeated_samples():
    embeddings, targets = torch.from_numpy(X), torch.from_numpy((TARGET + 0.3 * TARGET**2)[:, None])
    repeated = np.repeat(np.arange(48), 1 + WEIGHTS.astype(int))
    expected = Ridge(1e-6).fit(X[repeated], targets.numpy()[repeated]).predict(X)
    weighted, plain = (
        np.abs(fit_ridge(embeddings, targets, weights)(embeddings).detach().numpy().ravel() - expected.ravel()).max()
        for weights in (relative_weights(1 + WEIGHTS).double(), None)
    )
    assert weighted < 0.2 * plain
    line = torch.from_numpy(X @ [[1.0], [2.0], [3.0]])
    line[0] += 100  # far off, and of next to no weight
    heavy = torch.ones(48, dtype=torch.float64)
    heavy[0] = 1e-12
    torch.testing.assert_close(fit_ridge(embeddings, line, heavy)(embeddings)[1:], line[1:], rtol=0, atol=1e-3)


def test_neighbours_count_by_their_weights():
    places = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    mean = NeighbourMean(places, torch.tensor([[10.0], [20.0]]), k=2, weights=torch.tensor([3.0, 1.0]))
    assert mean(torch.tensor([[0.5], [0.25]])).ravel().tolist() == pytest.approx([12.5, 11.0])
    circle = torch.tensor([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]], dtype=torch.float64)
    vote = NeighbourVote(circle, torch.tensor([0, 0, 1]), 2, 3, weights=torch.tensor([1.0, 1.0, 6.0]).double())
    torch.testing.assert_close(vote(circle[:1]), torch.tensor([[0.25, 0.75]]).double(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("make", [otd, lambda: supcr(head="neighbours"), lambda: supcr(head="ridge")])
def test_a_weighted_model_is_saved_loaded_and_exported(make, tmp_path):
    model = make().fit(X, RANKS, 1 + WEIGHTS)
    assert_same_model(model, save_and_load(model, tmp_path), X)
    export_model(model.fitted, tmp_path / "graph.pt2")  # which checks the graph against the model


def test_views_of_an_image_have_its_weight():
    images = np.random.default_rng(0).integers(0, 255, (24, 1, 16, 16), dtype=np.uint8)
    images[:, :, :8] = (np.arange(24) * 10)[:, None, None, None]
    weights = 1.0 + np.arange(24) % 3
    options = {"epochs": (1, 1), "embedding_dim": 8, "batch_size": 8, "data": ImageOptions(size=(16, 16), workers=0)}
    options["encoder"] = "test_resnet"
    model = supcr(**options).fit(images, np.arange(24.0), weights)
    assert np.isfinite(model.predict(images)).all()
    module = LightningData(supcr(**options, validation_fraction=0.0), images, np.arange(24.0), weights)
    _, y, drawn = module.train_dataloader().dataset[0, [3, 5]]
    rows = y[:, 0] + module.labels.offset[0]
    assert rows.tolist() == [3.0, 3.0, 5.0, 5.0]
    assert drawn.tolist() == [(1.0 + row % 3) / weights.mean() for row in (3, 3, 5, 5)]


def test_a_fit_resumes_from_a_checkpoint_of_the_same_weights_alone(tmp_path):
    first = cloc(checkpoint_dir=tmp_path).fit(X, RANKS, 1 + WEIGHTS)
    again = cloc(checkpoint_dir=tmp_path).fit(X, RANKS, 1 + WEIGHTS)
    assert (first.transform(X) == again.transform(X)).all()
    with pytest.raises(OrdinateError, match=r"checkpoint_dir: .* other data or settings"):
        cloc(checkpoint_dir=tmp_path).fit(X, RANKS, 2 + WEIGHTS)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-WEIGHTS, "sample_weight: got -3, expected numbers of at least 0"),
        (np.full(48, np.nan), "sample_weight: got NaN or infinity, expected finite numbers"),
        (np.full(48, np.inf), "sample_weight: got NaN or infinity, expected finite numbers"),
        (WEIGHTS[:-1], r"sample_weight: got shape \(47,\), expected \(48,\), one per sample"),
        (["heavy"] * 48, r"sample_weight: got list, expected \(48,\) numbers"),
        ((X, RANKS), r"sample_weight: got tuple, .*; validation samples are given as validation="),
        (np.zeros(48), "sample_weight: got zero for every sample, expected some above 0"),
        (RANKS > 0, r"sample_weight: got 0 for every sample of the classes \[0\], expected some above 0 in every cl"),
    ],
)
def test_weights_that_cannot_be_are_refused(weights, message):
    with pytest.raises(OrdinateError, match=message):
        cloc().fit(X, RANKS, weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("even", "class_weight: got 'even', expected None, 'balanced' or {label: weight}"),
        ({0: 0}, r"class_weight\[0\]: got 0, expected a finite number above 0"),
        ({7: 1.0}, r"class_weight: got the labels \[7\], expected labels of \[0, 1, 2\]"),
    ],
)
def test_class_weights_that_cannot_be_are_refused(weights, message):
    with pytest.raises(OrdinateError, match=message):
        cloc(class_weight=weights).fit(X, RANKS)


def test_a_method_for_which_weights_have_no_meaning_says_so():
    options = {**SMALL, "epochs": 2}
    for model in (GOLClassifier(**options), RepresentationClassifier(loss="siamese", **options)):
        with pytest.raises(OrdinateError, match=r"sample_weight: got weights, expected None; .*none of which is the"):
            model.fit(X, RANKS, 1 + WEIGHTS)
        with pytest.raises(OrdinateError, match="class_weight: got 'balanced', expected None"):
            model.set_params(class_weight="balanced").fit(X, RANKS)
    for model in (
        POEClassifier(**options),
        MWRClassifier(**options),
        RepresentationClassifier(loss="supcr", **options),
    ):
        assert (model.fit(X, RANKS, 1 + WEIGHTS).transform(X) != model.fit(X, RANKS).transform(X)).any()


@pytest.mark.parametrize("make", [otd, supcr], ids=["otd", "supcr"])
def test_scikit_learn_passes_weights_on_where_they_are_requested(make):
    labels, groups = labels_for(make, TARGET), np.arange(48) % 6
    weights = pd.Series(1 + WEIGHTS)
    with config_context(enable_metadata_routing=True):
        model = make().set_fit_request(sample_weight=True, groups=True).set_score_request(sample_weight=True)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model), {f"{_name(model)}__embedding_dim": [4]}, cv=GroupKFold(2)
        )
        search.set_params(estimator__standardscaler=StandardScaler().set_fit_request(sample_weight=True))
        search.fit(X, labels, sample_weight=weights, groups=groups)
        scores = cross_validate(model, X, labels, cv=GroupKFold(2), params={"sample_weight": weights, "groups": groups})
    train, test = next(GroupKFold(2).split(X, labels, groups))
    expected = make().fit(X[train], labels[train], weights[train], groups=groups[train])
    assert scores["test_score"][0] == expected.score(X[test], labels[test], weights[test])
    scaler = StandardScaler().fit(X, sample_weight=weights)
    alone = make(embedding_dim=4).fit(scaler.transform(X), labels, weights, groups=groups)
    assert (search.predict(X) == alone.predict(scaler.transform(X))).all()


def _name(model):
    return type(model).__name__.lower()


@pytest.mark.parametrize(
    "ensemble",
    [
        lambda: AdaBoostClassifier(cross_entropy(), n_estimators=3, random_state=0),
        lambda: BaggingClassifier(cloc(), n_estimators=2, random_state=0),
        lambda: VotingClassifier([("cloc", cloc()), ("otd", otd())], voting="soft"),
        lambda: CalibratedClassifierCV(cloc(), cv=2),
    ],
    ids=["AdaBoost", "Bagging", "Voting", "Calibrated"],
)
def test_an_ensemble_weighs_the_samples_of_its_members(ensemble):
    model = ensemble().fit(X, RANKS, sample_weight=1 + WEIGHTS)
    assert model.predict_proba(X).shape == (48, 3)
    assert (model.predict_proba(X) != ensemble().fit(X, RANKS).predict_proba(X)).any()
