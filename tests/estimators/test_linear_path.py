"""Ridge regression on a table's columns beside the network: where it has a share, and that every face has it."""

import numpy as np
import pandas as pd
import pytest
import torch
from ordinate.heads.linear_path import LinearPath
from sklearn.linear_model import RidgeCV

from ordinate import BlendRegressor
from ordinate.estimators import EndToEndRegressor, contrastive_regressor, linear_columns
from ordinate.methods.imbalance import Imbalance
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from tests.estimators.examples import SMALL, draw_series, draw_table, for_every_regressor, supcr
from tests.estimators.test_persistence import assert_same_model, save_and_load

X, TARGET = draw_table(60)
NOISE = np.random.default_rng(1).normal(size=60)
BEYOND = (X[:48], TARGET[:48]), {"validation": (X[48:], TARGET[48:])}  # what is trained and what is validated on
OPTIONS = {"epochs": (6, 3), "validation_fraction": 0.2, "refit": 0}


def end_to_end(**options):
    return EndToEndRegressor(**{**SMALL, **options, "epochs": 3})


@pytest.fixture
def a_third(monkeypatch):
    """The linear model has a share of 0.3 in every linear head."""

    def third(predictions, losses, start, weights, errors_to_gain):
        assert start == {"columns": 1.0}
        return {"columns": 0.3, "embedding": 0.7}

    monkeypatch.setattr(linear_columns, "choose_shares", third)


@for_every_regressor
def test_a_head_without_the_linear_model_must_be_ahead_of_it_by_two_standard_errors(make, a_third, monkeypatch):
    """As the network in a linear head must be: on few validation samples neighbours lead by chance."""
    asked = []
    choose = contrastive_regressor.best_head
    monkeypatch.setattr(contrastive_regressor, "best_head", lambda *given: asked.append(given[2]) or choose(*given))
    training, given = BEYOND
    make(epochs=(2, 2)).fit(*training, **given)
    make(epochs=(2, 2), linear=False).fit(*training, **given)
    assert asked == [2.0, 1.0]


def ridge(model, X, y, weights=None):
    """The linear model of the columns, by scikit-learn alone."""
    x = model.read(X).numpy().astype(np.float64)
    centre = np.average(x, axis=0, weights=weights)
    scale = np.sqrt(np.average((x - centre) ** 2, axis=0, weights=weights))
    scale[scale == 0] = 1
    fitted = RidgeCV(np.logspace(-6, 4, 21)).fit((x - centre) / scale, y, weights)
    return lambda new: fitted.predict((model.read(new).numpy() - centre) / scale)


@pytest.mark.parametrize("weights", [None, np.linspace(1, 3, 48)], ids=["none", "some"])
@pytest.mark.parametrize("head", ["ridge", "linear"])
@for_every_regressor
def test_what_is_predicted_is_the_blend_and_embeddings_move_along_the_heads_direction(make, head, weights, a_third):
    (training, given) = BEYOND
    plain = make(epochs=(2, 2), head=head, linear=False).fit(*training, weights, **given)
    model = make(epochs=(2, 2), head=head).fit(*training, weights, **given)
    assert (plain.linear_shares_, model.linear_shares_) == ((), (0.3,))
    wanted = 0.7 * plain.predict(X) + 0.3 * ridge(model, *training, weights)(X)
    assert model.predict(X) == pytest.approx(wanted, rel=1e-4, abs=1e-4)
    moved = model.transform(X) - plain.transform(X)
    assert model.transform(X).shape == (60, 8)
    assert np.linalg.matrix_rank(moved, tol=1e-4 * np.abs(moved).max()) == 1
    errors = np.abs(wanted[48:] - TARGET[48:]).mean()
    assert model.head_scores_[head] == pytest.approx(errors, rel=1e-4)


def test_several_targets_move_embeddings_along_several_directions(a_third):
    both = np.stack([TARGET, X[:, 2] ** 2], 1)
    plain, model = (supcr(**OPTIONS, head="ridge", linear=linear).fit(X, both) for linear in (False, True))
    assert model.linear_shares_ == (0.3, 0.3)
    assert model.predict(X).shape == (60, 2)
    moved = model.transform(X) - plain.transform(X)
    assert np.linalg.matrix_rank(moved, tol=1e-4 * np.abs(moved).max()) == 2


def test_a_linear_truth_is_left_to_the_linear_model():
    y = TARGET + 0.3 * NOISE
    model = supcr(**OPTIONS).fit(X[:48], y[:48], validation=(X[48:], y[48:]))
    assert model.linear_shares_ == (1.0,)
    (note,) = model.notes_
    error = f"{np.abs(ridge(model, X[:48], y[:48])(X[48:]) - y[48:]).mean():.4g}"
    assert note == (
        f"mean absolute error on validation samples: ridge regression on the columns {error}, what is predicted "
        f"{error}, of which ridge regression has a share of 100%"
    )
    assert model.predict(X) == pytest.approx(ridge(model, X[:48], y[:48])(X), abs=1e-4)


def test_what_no_line_follows_is_left_to_the_network():
    X = np.random.default_rng(0).uniform(-2, 2, (160, 1))
    y = X[:, 0] ** 2
    model = supcr(**OPTIONS | {"epochs": (12, 1), "learning_rate": 0.01}).fit(X, y)
    assert sum(model.linear_shares_) < 0.2
    assert np.abs(model.predict(X) - y).mean() < 0.3 * np.abs(y - y.mean()).mean()


@pytest.mark.parametrize(
    "options",
    [
        {"linear": False},
        {"optimization": "paper"},
        {"validation_fraction": 0.0},
        {"encoder": torch.nn.Linear(3, 5)},
        {"embedding_dim": None},
        {"imbalance": Imbalance(lds="inverse", kernel_size=1)},
        {"head": "neighbours"},
        {"head": "linear", "head_loss": "dldl_v2"},
    ],
    ids="-".join,
)
def test_there_is_none_where_it_was_not_asked_for_or_has_no_place(options, a_third):
    model = supcr(**{**OPTIONS, **options}).fit(X, TARGET)
    assert not any(model.linear_shares_)
    assert not isinstance(model.encoder_, LinearPath)


def test_series_have_none(a_third):
    assert supcr(**OPTIONS).fit(*draw_series(40)).linear_shares_ == ()


def test_a_training_with_a_time_limit_has_it_too(a_third):
    with training_until(TrainingEnd(TimeBudget(1000), until=900)):
        assert supcr(**OPTIONS, head="ridge").fit(X, TARGET).linear_shares_ == (0.3,)


@pytest.mark.parametrize("make", [supcr, end_to_end])
def test_a_saved_model_has_it(make, tmp_path, a_third):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(X[:, 0] > 0, "high", "low")
    model = make(validation_fraction=0.2).fit(frame, TARGET)
    assert model.linear_shares_ == (0.3,)
    again = save_and_load(model, tmp_path)
    assert again.linear_shares_ == (0.3,)
    assert_same_model(again, model, frame)


def test_the_network_is_trained_on_all_samples_without_it_and_gets_it_anew(monkeypatch, a_third):
    seen = []
    train_again = contrastive_regressor.TargetRegressor._train_again

    def note(self, *arguments, **options):
        seen.append(type(self.encoder_))
        train_again(self, *arguments, **options)

    monkeypatch.setattr(contrastive_regressor.TargetRegressor, "_train_again", note)
    options = {**OPTIONS, "schedule": "constant", "refit": 0.5, "head": "ridge"}
    plain, model = (supcr(**options, linear=linear).fit(X, TARGET) for linear in (False, True))
    assert len(seen) == 2
    assert LinearPath not in seen
    wanted = 0.7 * plain.predict(X) + 0.3 * ridge(model, X, TARGET)(X)
    assert model.predict(X) == pytest.approx(wanted, rel=1e-4, abs=1e-4)


def test_a_head_that_sees_nothing_is_left_alone(monkeypatch, a_third):
    fit_ridge = contrastive_regressor.fit_ridge

    def blind(embeddings, *arguments):
        head = fit_ridge(embeddings, *arguments)
        with torch.no_grad():
            head.linear.weight.zero_()
        return head

    monkeypatch.setattr(contrastive_regressor, "fit_ridge", blind)
    assert supcr(**OPTIONS, head="ridge").fit(X, TARGET).linear_shares_ == (0.0,)


def test_each_target_has_a_share_of_its_own_whatever_its_unit():
    """One is linear and noisy, in thousands; the other no line follows, and is not handed over with it."""
    X = np.random.default_rng(0).uniform(-2, 2, (160, 1))
    linear = X[:, 0] + np.random.default_rng(1).normal(0, 0.3, 160)
    for unit in (1, 1000):
        model = supcr(**OPTIONS | {"epochs": (12, 1), "learning_rate": 0.01}, head="ridge")
        both = model.fit(X, np.stack([unit * linear, X[:, 0] ** 2], 1)).linear_shares_
        assert both[0] > 0.5
        assert both[1] < 0.2


@pytest.mark.parametrize("other", [0 * TARGET, 2 * TARGET + 1, 3 * TARGET + 1], ids=["constant", "double", "triple"])
def test_targets_that_depend_on_each_other_are_blended_too(other):
    y = np.stack([TARGET + 0.1 * NOISE, other + (0.1 * NOISE * (other[1] - other[0]) / (TARGET[1] - TARGET[0]))], 1)
    model = supcr(**OPTIONS | {"epochs": (2, 2)}, head="ridge").fit(X, y)
    assert model.linear_shares_[0] > 0.5
    assert np.abs(model.predict(X)[:, 0] - y[:, 0]).mean() < 0.2


def test_more_targets_than_dimensions_are_left_to_the_network():
    y = np.stack([TARGET, X[:, 1], X[:, 2]], 1)
    assert supcr(**OPTIONS | {"embedding_dim": 2}, head="ridge").fit(X, y).linear_shares_ == (0.0, 0.0, 0.0)


def test_ridge_regression_on_columns_is_fitted_once_for_each_part_and_on_few_columns(monkeypatch):
    shapes = []
    fit_ridge = contrastive_regressor.fit_ridge

    def note(columns, *arguments):
        shapes.append(tuple(columns.shape))
        return fit_ridge(columns, *arguments)

    for module in (contrastive_regressor, linear_columns):
        monkeypatch.setattr(module, "fit_ridge", note)
    for options in ({"head": "ridge"}, {"head": "neighbours"}):
        supcr(**OPTIONS | {"refit": 0.5, "schedule": "constant"}, **options).fit(X, TARGET)
    width = shapes[1][1]
    assert shapes == [(48, 8), (48, width), (60, 8), (60, width)]  # heads are on 8 dimensions
    shapes.clear()
    monkeypatch.setattr(linear_columns, "MOST_PRODUCTS", 48 * width**2 - 1)
    assert supcr(**OPTIONS, head="ridge").fit(X, TARGET).linear_shares_ == ()
    assert shapes == [(48, 8)]


@pytest.mark.parametrize("make", [supcr, BlendRegressor])
@pytest.mark.parametrize("value", ["no", 3, np.array([True, False]), None])
def test_what_is_no_flag_is_refused(make, value):
    with pytest.raises(ValueError, match=r"linear: got .*, expected True or False"):
        make(linear=value).fit(X, TARGET)
