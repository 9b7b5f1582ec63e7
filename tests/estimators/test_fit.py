"""What a fit promises whatever the method: it learns, it is reproducible, and it leaves no trace elsewhere."""

import random

import numpy as np
import pandas as pd
import pytest
import torch

from ordinate.estimators.target_regressor import best_head
from tests.estimators.examples import (
    cloc,
    draw_frame,
    draw_series,
    draw_table,
    for_every_classifier,
    for_every_estimator,
    for_every_regressor,
    labels_for,
    otd,
    ranks_of,
    supcr,
)

X, TARGET = draw_table()


@for_every_estimator
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(make):
    labels = labels_for(make, TARGET)
    first, again, other = (make(random_state=seed).fit(X, labels).method_.state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(first[name], again[name]) for name in first)
    learned = [name for name in first if name.endswith("weight")]
    assert not any(torch.equal(first[name], other[name]) for name in learned)


@for_every_estimator
def test_a_second_fit_starts_anew(make):
    labels = labels_for(make, TARGET)
    model = make().fit(X, labels)
    first, history = model.transform(X), model.history_
    model.fit(X, labels)
    assert (model.transform(X) == first).all()
    assert model.history_ == history


@for_every_estimator
def test_a_fit_chunk_by_chunk_is_the_plain_fit(make):
    labels = labels_for(make, TARGET)
    # by SGD: Adam magnifies rounding where a gradient is zero
    sgd = {"optimizer": "sgd", "learning_rate": 0.05}
    plain, chunked = (make(chunk_size=size, **sgd).fit(X, labels) for size in (None, 5))
    assert chunked.method_.chunk_size == 5
    embeddings, expected = (model.transform(X) - model.transform(X).mean(axis=0) for model in (chunked, plain))
    np.testing.assert_allclose(embeddings, expected, rtol=0, atol=1e-6)


@for_every_estimator
def test_a_fit_leaves_every_random_state_as_it_was_and_does_not_depend_on_it(make):
    labels = labels_for(make, TARGET)
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)
    first = make().fit(X, labels).transform(X)
    drawn = torch.rand(1).item(), np.random.random(), random.random()  # noqa: NPY002
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)
    assert drawn == (torch.rand(1).item(), np.random.random(), random.random())  # noqa: NPY002
    assert (make().fit(X, labels).transform(X) == first).all()  # whatever the state was


@for_every_estimator
def test_a_fit_leaves_its_arguments_as_they_were(make):
    frame, target = draw_frame()
    labels = labels_for(make, target)
    kept, kept_labels = frame.copy(), labels.copy()
    make().fit(frame, labels).predict(frame)
    pd.testing.assert_frame_equal(frame, kept)
    assert (labels == kept_labels).all()


@for_every_estimator
def test_progress_is_shown_on_stderr_when_asked_for(make, capfd):
    model = make(verbose=1).fit(X, labels_for(make, TARGET))
    out, err = capfd.readouterr()
    assert out == ""
    assert f"{model.n_iter_}/{model.n_iter_}" in err


@for_every_estimator
def test_an_embedding_does_not_depend_on_the_samples_beside_it(make):
    model = make().fit(X, labels_for(make, TARGET))
    np.testing.assert_allclose(model.transform(X[:1]), model.transform(X)[:1], rtol=0, atol=1e-12)


@for_every_classifier
def test_ranks_that_are_easy_are_learned(make):
    ranks = ranks_of(TARGET)
    options = {"epochs": (10, 10)} if make is cloc else {"epochs": 15}
    model = make(**options, learning_rate=0.02, weight_decay=0.0, decision="mode").fit(X, ranks)
    assert model.score(X, ranks) > 0.9
    held_out, target = draw_table(seed=1)
    assert np.abs(model.predict(held_out) - np.digitize(target, np.quantile(TARGET, [1 / 3, 2 / 3]))).mean() < 0.3


@for_every_regressor
def test_targets_that_are_easy_are_learned(make):
    model = make(epochs=(15, 15), learning_rate=5e-3, head="linear").fit(X, TARGET)
    held_out, target = draw_table(seed=1)
    assert model.score(X, TARGET) > 0.9
    assert model.score(held_out, target) > 0.6


def test_margins_are_as_many_as_boundaries_and_fixed_ones_stay():
    model = cloc(critical_margins={(1, 2): 1.25}, margin_floor=1.0).fit(X, ranks_of(TARGET, 5))
    assert model.margins_.shape == (4,)
    assert model.margins_[1] == 1.25
    assert (model.margins_ > 1.0).all()


def test_the_head_is_the_one_that_predicts_the_validation_samples_best():
    model = supcr(validation_fraction=0.3).fit(X, TARGET)
    assert model.head_name_ == min(model.head_scores_, key=model.head_scores_.get)
    held_out, target = draw_table(seed=1)
    model = supcr().fit(X, TARGET, validation=(held_out, target))
    assert model.head_scores_[model.head_name_] == pytest.approx(
        np.abs(model.predict(held_out) - target).mean(), abs=1e-6
    )
    single = supcr(validation_fraction=0.0).fit(X, TARGET)
    assert (single.head_name_, single.head_scores_) == ("ridge", {})


@for_every_estimator
def test_validation_samples_are_not_trained_on(make):
    held_out, target = draw_table(seed=1)
    ranks = np.digitize(target, np.quantile(TARGET, [1 / 3, 2 / 3]))
    watched = ranks if make in (cloc, otd) else target
    options = {} if make in (cloc, otd) else {"head": "linear", "validation_fraction": 0.0}
    labels = labels_for(make, TARGET)
    alone, beside = make(**options).fit(X, labels), make(**options).fit(X, labels, validation=(held_out, watched))
    assert (alone.transform(X) == beside.transform(X)).all()
    assert "val_loss" in beside.history_[-1]
    assert "val_loss" not in alone.history_[-1]


@for_every_estimator
def test_validation_data_passes_the_same_checks_as_training_data(make):
    held_out, target = draw_table(n=8, seed=1)
    labels = labels_for(make, target)
    with pytest.raises(ValueError, match="y: got 7 labels for 8 samples"):
        make().fit(X, labels_for(make, TARGET), validation=(held_out, labels[:7]))
    with pytest.raises(ValueError, match="2 features"):
        make().fit(X, labels_for(make, TARGET), validation=(held_out[:, :2], labels))


def test_patience_ends_a_fit_early_and_keeps_the_best_weights():
    held_out, target = draw_table(seed=1)
    ranks = np.digitize(target, np.quantile(TARGET, [1 / 3, 2 / 3]))
    options = {"epochs": (2, 200), "patience": 4, "learning_rate": 0.03, "weight_decay": 0.0, "batch_size": 16}
    model = cloc(**options).fit(X, ranks_of(TARGET), validation=(held_out, ranks))
    second = [entry["val_loss"] for entry in model.history_ if entry["stage"] == 1]
    assert len(second) < 200
    assert int(np.argmin(second)) == len(second) - 5
    with torch.no_grad():
        logged = model.method_.validate_embeddings(torch.from_numpy(model.transform(held_out)), torch.from_numpy(ranks))
    assert logged["val_loss"].item() == pytest.approx(min(second), abs=1e-5)


@pytest.mark.parametrize("head", ["linear", "ridge", "neighbours"])
def test_several_targets_are_predicted_together(head):
    targets = np.stack([TARGET, -2 * TARGET, X[:, 2]], axis=1)
    model = supcr(head=head, epochs=(3, 10), learning_rate=0.02).fit(X, targets)
    assert model.predict(X).shape == (48, 3)
    assert model.score(X, targets) > 0.3


def test_one_column_of_targets_stays_a_column():
    assert supcr().fit(X, TARGET[:, None]).predict(X).shape == (48, 1)


@for_every_regressor
def test_a_shift_of_the_targets_shifts_the_predictions(make):
    """Targets such as seconds since 1970 differ less than float32 resolves, unless they are centred first."""
    plain = make().fit(X, TARGET).predict(X)
    np.testing.assert_allclose(make().fit(X, TARGET + 2.0**30).predict(X) - 2.0**30, plain, rtol=0, atol=1e-2)


@pytest.mark.typical("1e-30-supcr", "1e+30-supremix")
@for_every_regressor
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_targets_of_any_scale_are_predicted_in_that_scale(make, scale):
    model = make(epochs=(10, 10), learning_rate=1e-2, head="linear").fit(X, TARGET * scale)
    assert model.score(X, TARGET * scale) > 0.9


@for_every_estimator
def test_series_with_missing_points_are_read(make):
    series, target = draw_series()
    model = make(batch_size=32).fit(series, labels_for(make, target))
    assert model.transform(series).shape == (32, 8)
    assert model.predict(series).shape == (32,)
    assert np.isfinite(model.transform(np.full((1, 2, 20), np.nan))).all()
    assert model.n_features_in_ == 2


def test_neighbours_and_ridge_keep_a_part_of_many_samples(monkeypatch):
    for module in ("otd", "target_regressor"):
        monkeypatch.setattr(f"ordinate.estimators.{module}.MOST_EMBEDDED", 20)
    ranks = ranks_of(TARGET)
    classifier = otd(validation_fraction=0, n_neighbors=3).fit(X, ranks)
    assert np.bincount(classifier.predictor_.vote.ranks).tolist() == [6, 6, 6]
    regressor = supcr(head="neighbours", validation_fraction=0).fit(X, TARGET)
    assert len(regressor.predictor_.targets) == 20
    assert np.isfinite(supcr(head="ridge", validation_fraction=0).fit(X, TARGET).predict(X)).all()


def test_regressors_stop_on_tables_with_validation_samples_unless_they_train_as_their_paper():
    X, target = draw_table(40)
    series = np.random.default_rng(0).normal(size=(40, 1, 16))
    assert supcr().fit(X, target).method_.stages[0].patience == 50
    for model in (
        supcr().fit(series, target),
        supcr(validation_fraction=0.0).fit(X, target),
        supcr(optimization="paper").fit(X, target),
        supcr(patience=None).fit(X, target),
    ):
        assert model.method_.stages[0].patience is None


def test_ridge_is_the_head_unless_another_is_better_by_a_standard_error():
    ridge = torch.tensor([1.0, 2.0, 3.0, 2.0])
    scattered = ridge + torch.tensor([0.5, -0.6, 0.4, -0.5])
    assert best_head({"linear": scattered, "ridge": ridge}) == "ridge"
    assert best_head({"linear": scattered, "ridge": ridge}, torch.tensor([0.1, 1.0, 0.1, 1.0])) == "linear"
    assert best_head({"linear": ridge - 0.1, "ridge": ridge, "neighbours": ridge - 0.2}) == "neighbours"
    assert best_head({"linear": ridge, "ridge": scattered}, usual="linear") == "linear"
