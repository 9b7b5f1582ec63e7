"""Regressors for rare targets: Balanced MSE and ConR."""

import math

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate.estimators.plain import EndToEndRegressor
from ordinate_papers.estimators import BalancedMSERegressor, ConRRegressor
from ordinate_papers.methods.imbalance import Imbalance
from tests.estimators.examples import Make, draw_table
from tests.model.test_saving import save_and_load

X, TARGET = draw_table()
balanced_mse, conr = Make(BalancedMSERegressor, epochs=4), Make(ConRRegressor, epochs=4)
for_both = pytest.mark.parametrize("make", [balanced_mse, conr], ids=lambda make: make.__name__)


@for_both
@pytest.mark.parametrize("target", [TARGET, np.stack([TARGET, -TARGET], axis=1)], ids=["one target", "two"])
def test_targets_are_learned_and_kept_over_a_save(make, target, tmp_path):
    epochs, learning_rate = (150, 0.01) if make is balanced_mse else (40, 0.02)
    model = make(epochs=epochs, learning_rate=learning_rate, patience=None, validation_fraction=0.0).fit(X, target)
    errors = np.abs(model.predict(X) - target)
    assert np.median(errors) < 0.2 * target.std()  # Balanced MSE moves the outermost predictions farther out.
    loaded = save_and_load(model, tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.get_params() == model.get_params()


@for_both
def test_the_same_seed_gives_the_same_model_and_another_unit_the_same_fit(make):
    first, again, scaled = make().fit(X, TARGET), make().fit(X, TARGET), make().fit(X, 64 * TARGET)
    np.testing.assert_array_equal(first.predict(X), again.predict(X))
    np.testing.assert_allclose(scaled.predict(X), 64 * first.predict(X), rtol=1e-4, atol=1e-3)


def test_conr_of_weight_0_is_plain_regression():
    plain = Make(EndToEndRegressor, epochs=4)().fit(X, TARGET)
    np.testing.assert_allclose(conr(weight=0.0).fit(X, TARGET).predict(X), plain.predict(X), rtol=0, atol=1e-6)
    assert not np.allclose(conr(window=0.5).fit(X, TARGET).predict(X), plain.predict(X), rtol=0, atol=1e-3)


def test_weights_of_rare_targets_change_conr():
    options = {"window": 0.5, "imbalance": Imbalance(lds="inverse")}
    weighted = conr(**options).fit(X, TARGET)
    assert not np.allclose(weighted.predict(X), conr(window=0.5).fit(X, TARGET).predict(X), rtol=0, atol=1e-3)


def test_the_noise_is_learned():
    model = balanced_mse(noise=0.3, epochs=20, learning_rate=0.01).fit(X, TARGET)
    assert abs(model.method_.head.log_noise.item() - math.log(0.3)) > 0.01


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [(balanced_mse, "noise", 0.0), (conr, "window", -1.0), (conr, "temperature", 0.0), (conr, "weight", float("nan"))],
)
def test_a_setting_outside_its_range_is_refused(make, name, value):
    with pytest.raises(OrdinateError, match=f"{name}: got {value}"):
        make(**{name: value}).fit(X, TARGET)
