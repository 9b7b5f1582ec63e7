"""Regressors trained end to end are scikit-learn's, save, load and resume, and read all kinds of data."""

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate.estimators.plain import EndToEndRegressor
from ordinate.options import head_losses
from ordinate_papers.extension import ON_BINS
from tests.estimators.conformity import parametrize_with_essential_checks, run_check
from tests.estimators.examples import SMALL, draw_series, draw_table, in_groups, supcr, supremix
from tests.model.test_saving import assert_same_model, save_and_load

X, TARGET = draw_table()
for_every_loss = pytest.mark.parametrize("loss", head_losses())
for_every_binned_loss = pytest.mark.parametrize("loss", ON_BINS)


def end_to_end(**options):
    return EndToEndRegressor(**in_groups(EndToEndRegressor, {**SMALL, "epochs": 4, **options}))


@parametrize_with_essential_checks([EndToEndRegressor(epochs=20)])
def test_scikit_learn_checks_the_estimator(estimator, check):
    run_check(estimator, check)


@pytest.mark.typical("l1", "dldl_v2", "corn")
@for_every_loss
def test_several_targets_are_predicted_each_in_its_units(loss):
    X, target = draw_table(96)
    targets = np.stack([target, 100 + 20 * X[:, 2]], axis=1)
    model = end_to_end(loss=loss, epochs=40, learning_rate=0.05, batch_size=96).fit(X, targets)
    error = np.abs(model.predict(X) - targets).mean(0)
    assert (error < 0.4 * np.abs(targets - np.median(targets, 0)).mean(0)).all()


@for_every_loss
def test_a_loaded_model_is_the_saved_one(loss, tmp_path):
    model = end_to_end(loss=loss, bin_size=0.25).fit(X, TARGET)
    loaded = save_and_load(model, tmp_path / "model")
    assert_same_model(loaded, model, draw_table(seed=1)[0])
    assert loaded.get_params() == model.get_params()


def test_series_are_read(tmp_path):
    X, target = draw_series()
    model = end_to_end(loss="dldl_v2", epochs=1).fit(X, target)
    assert_same_model(save_and_load(model, tmp_path / "model"), model, draw_series(seed=1)[0])


def fit(**options):
    return end_to_end(epochs=9, validation_fraction=0.3, **options).fit(X, TARGET)


def test_bins_follow_from_the_training_samples_and_targets_outside_them_do_no_harm():
    ages = np.round(40 + 10 * TARGET)
    beyond = (X, ages + 1000)
    model = end_to_end(loss="dex").fit(X, ages, validation=beyond)
    assert model.predictor_.linears[0].out_features == ages.max() - ages.min() + 1
    assert all(np.isfinite(entry["val_loss"]) for entry in model.history_)
    assert ages.min() <= model.predict(X).min() <= model.predict(X).max() <= ages.max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"loss": "l3"},
            "loss: got 'l3', expected one of 'l1', 'mse', 'huber', 'dex', 'dldl_v2', 'or', 'corn'",
        ),
        ({"loss": "or", "bin_size": 0}, "bin_size: got 0, expected a finite number above 0"),
        ({"loss": "or", "bin_size": (1.0, 1.0)}, "bin_size: got 2 sizes for targets of 1 dimension"),
        ({"epochs": (2, 2)}, r"epochs: got \(2, 2\)"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(options, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        end_to_end(**options).fit(X, TARGET)


# the same heads on a representation


@pytest.mark.pairwise
@for_every_binned_loss
@pytest.mark.parametrize("scheme", ["linear_probe", "fine_tune", "regularise"])
@pytest.mark.parametrize("make", [supcr, supremix], ids=["supcr", "supremix"])
def test_a_loaded_model_with_a_head_on_bins_is_the_saved_one(make, scheme, loss, tmp_path):
    model = make(head="linear", head_loss=loss, bin_size=0.25, scheme=scheme, epochs=(2, 2)).fit(X, TARGET)
    loaded = save_and_load(model, tmp_path / "model")
    assert_same_model(loaded, model, draw_table(seed=1)[0])
    assert type(loaded.predictor_).__name__ == ON_BINS[loss]
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("head", ["ridge", "neighbours", "auto"])
def test_a_representation_whose_trained_head_is_on_bins_may_be_read_by_another(head, tmp_path):
    model = supcr(head=head, head_loss="dldl_v2").fit(X, TARGET)
    assert set(model.head_scores_) == ({"linear", "ridge", "neighbours"} if head == "auto" else {head})
    assert_same_model(save_and_load(model, tmp_path / "model"), model, X)


@pytest.mark.typical("dldl_v2", "corn")
@for_every_binned_loss
def test_a_head_on_bins_of_a_frozen_encoder_learns(loss):
    X, target = draw_table(96)
    model = supcr(head="linear", head_loss=loss, epochs=(10, 30), batch_size=96, learning_rate=0.02).fit(X, target)
    assert model.score(X, target) > 0.7
