"""What a fitted model is asked in one line: intervals, sets, metrics, contributions, similar samples, a report."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch.utils.data import DataLoader, TensorDataset

from ordinate import BlendClassifier, BlendRegressor, CLOCClassifier, OTDClassifier, SupCRRegressor, Training, load
from ordinate.errors import OrdinateError
from ordinate.metrics import accuracy, mae
from ordinate.model.held_out import HeldOut, predict_sets
from ordinate.model.importance import column_importance
from ordinate.model.neighbour_index import NeighbourIndex

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(160, 3)), columns=["a", "b", "c"])
TARGET = 2 * X["a"] + X["b"] + 0.3 * RANDOM.normal(size=160)
NAMES = np.array(["mild", "moderate", "severe"])
RANKS = NAMES[np.digitize(TARGET, [-1, 1])]
TRAIN, HELD, NEW = np.s_[:80], np.s_[80:140], np.s_[140:]


@pytest.fixture(scope="module")
def ranks():
    model = OTDClassifier(epochs=30, class_order=NAMES.tolist(), random_state=0).fit(X[TRAIN], RANKS[TRAIN])
    return model.calibrate(X[HELD], RANKS[HELD])


@pytest.fixture(scope="module")
def targets():
    model = SupCRRegressor(epochs=(20, 20), random_state=0).fit(X[TRAIN], TARGET[TRAIN])
    return model.calibrate(X[HELD], TARGET[HELD])


def test_an_interval_is_that_of_held_out_samples(ranks, targets):
    for model, y in ((ranks, RANKS), (targets, TARGET)):
        lower, upper = model.predict_interval(X[NEW], 0.8)
        expected = predict_sets(model.fitted, HeldOut.measure(model.fitted, X[HELD], y[HELD]), X[NEW], 0.8)
        np.testing.assert_array_equal([lower, upper], expected)


def test_a_set_has_the_labels_of_the_interval(ranks):
    lower, upper = ranks.predict_interval(X[NEW], 0.95)
    sets = ranks.predict_set(X[NEW], 0.95)
    assert [each[0] for each in sets] == lower.tolist()
    assert [each[-1] for each in sets] == upper.tolist()
    assert {len(each) for each in sets} > {1}
    assert all(each == [name for name in NAMES if each[0] <= name <= each[-1]] for each in sets)


def test_a_model_without_held_out_samples_says_how_to_get_them(tmp_path):
    model = BlendClassifier(members=2, folds=2, epochs=2, class_order=NAMES.tolist(), random_state=0).fit(
        X[TRAIN], RANKS[TRAIN]
    )
    with pytest.raises(OrdinateError, match=r"model: keeps no predictions of held-out samples; calibrate\(X, y\)"):
        model.predict_interval(X[NEW])
    model.save(tmp_path / "model")
    with pytest.raises(OrdinateError, match="keeps no predictions"):
        load(tmp_path / "model").predict_interval(X[NEW])


def test_a_loaded_model_has_the_held_out_samples_of_its_folder(ranks, tmp_path):
    ranks.save(tmp_path / "model")
    HeldOut.measure(ranks.fitted, X[HELD], RANKS[HELD]).write(tmp_path / "model")
    again = load(tmp_path / "model").predict_interval(X[NEW])
    np.testing.assert_array_equal(again, ranks.predict_interval(X[NEW]))


def test_metrics_are_those_of_the_predictions(ranks, targets):
    found = ranks.evaluate(X[NEW], RANKS[NEW])
    places = {name: place for place, name in enumerate(NAMES)}
    true, predicted = ([places[name] for name in labels] for labels in (RANKS[NEW], ranks.predict(X[NEW])))
    assert found["accuracy"] == accuracy(true, predicted)
    assert found["mae"] == mae(true, predicted)
    assert targets.evaluate(X[NEW], TARGET[NEW])["mae"] == pytest.approx(
        np.abs(targets.predict(X[NEW]) - TARGET[NEW]).mean(), rel=1e-6
    )


def test_contributions_and_similar_samples(ranks):
    parts = ranks.explain(X[NEW][:2], X[TRAIN])
    assert parts.columns.tolist() == ["baseline", "a", "b", "c"]
    similarity, rows = ranks.similar(X[NEW], X[TRAIN], k=4)
    expected = NeighbourIndex.build(ranks.fitted, X[TRAIN]).search(X[NEW], 4)
    np.testing.assert_array_equal(rows, expected.rows)
    np.testing.assert_array_equal(similarity, expected.similarity)


@pytest.mark.usefixtures("unpainted")
def test_a_report_is_one_file(ranks, tmp_path):
    path = ranks.report(tmp_path / "report.html", X[HELD], RANKS[HELD], training=(X[TRAIN], RANKS[TRAIN]))
    assert "random forest" in path.read_text().lower()


def test_nothing_is_asked_of_a_model_that_is_not_fitted():
    model = OTDClassifier()
    for question in (
        lambda: model.predict_interval(X), lambda: model.predict_set(X), lambda: model.evaluate(X, RANKS),
        lambda: model.calibrate(X, RANKS), lambda: model.explain(X, X), lambda: model.similar(X, X),
        lambda: model.report("r.html", X, RANKS),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not fitted yet"):
            question()


def test_a_model_of_an_array_answers_with_arrays_and_tables_of_as_many_columns():
    array, others = X.to_numpy(), X.set_axis(["p", "q", "r"], axis=1)
    model = SupCRRegressor(epochs=(5, 5), random_state=0).fit(array[TRAIN], TARGET[TRAIN])
    found = model.explain(array[NEW][:2], array[TRAIN])
    assert found.columns.tolist() == ["baseline", "x0", "x1", "x2"]
    np.testing.assert_allclose(found.sum(axis=1), model.predict(array[NEW][:2]), rtol=1e-6)
    with pytest.warns(UserWarning, match="X has feature names, but SupCR was fitted without feature names"):
        np.testing.assert_array_equal(model.predict(others[NEW]), model.predict(array[NEW]))
    np.testing.assert_array_equal(model.reader_.transform(array[NEW]), model.fitted.read(array[NEW]).numpy())
    with pytest.raises(OrdinateError, match="X has 2 features, but SupCR is expecting 3 features"):
        model.predict(array[:, :2])


@pytest.mark.parametrize("given", [0.2, X, (X,), "validation"])
def test_validation_samples_of_another_form_are_an_error_that_names_it(given):
    with pytest.raises(OrdinateError, match=r"^validation: got \w+, expected \(X, y\)"):
        SupCRRegressor(epochs=(1, 1)).fit(X, TARGET, validation=given)


def test_validation_samples_may_lie_in_a_dataset():
    tensors = torch.from_numpy(X[HELD].to_numpy()), torch.from_numpy(TARGET[HELD].to_numpy())
    fitted = [
        SupCRRegressor(epochs=(3, 1), random_state=0).fit(X[TRAIN].to_numpy(), TARGET[TRAIN], validation=given)
        for given in (
            TensorDataset(*tensors),
            DataLoader(TensorDataset(*tensors), batch_size=7),
            (X[HELD].to_numpy(), TARGET[HELD]),
        )
    ]
    assert fitted[0].history_ == fitted[1].history_ == fitted[2].history_


def test_patience_without_validation_samples_is_told():
    options, ranks = {"epochs": (2, 9), "random_state": 0}, RANKS == "mild"
    with pytest.warns(UserWarning, match="patience counts epochs without a lower training loss"):
        CLOCClassifier(training=Training(patience=2, calibration=False), **options).fit(X, ranks)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CLOCClassifier(training=Training(patience=2), **options).fit(
            X, RANKS == "mild", validation=(X, RANKS == "mild")
        )


def test_an_estimator_whose_fit_has_failed_is_not_fitted():
    blend = BlendClassifier(members=2, folds=2)
    with pytest.raises(OrdinateError, match="different values"):
        blend.fit(X.assign(name=[f"patient {row}x" for row in range(160)]), RANKS == "mild")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        blend.predict(X)
    with pytest.raises(AttributeError, match="CLOCClassifier has no margins_ before it is fitted"):
        CLOCClassifier().margins_  # noqa: B018


def test_samples_that_require_a_gradient_are_read_without_it():
    given = torch.from_numpy(X.to_numpy())
    expected = SupCRRegressor(epochs=(2, 1), random_state=0).fit(given, TARGET).predict(given)
    found = SupCRRegressor(epochs=(2, 1), random_state=0).fit(given.clone().requires_grad_(), TARGET).predict(given)
    np.testing.assert_array_equal(found, expected)


def test_a_comparison_holds_the_metrics_of_evaluate_and_of_simple_models(ranks):
    found = ranks.compare(X[NEW], RANKS[NEW], training=(X[TRAIN], RANKS[TRAIN]))
    own = found.loc["OTD", ["accuracy", "mae", "quadratic_weighted_kappa"]].to_dict()
    assert (found["mae_low"] <= found["mae"]).all()
    assert (found["mae"] <= found["mae_high"]).all()
    assert own == pytest.approx({name: ranks.evaluate(X[NEW], RANKS[NEW])[name] for name in own})
    assert {"linear model", "random forest", "gradient boosting"} < set(found.index)
    assert "grades on average; " in found.attrs["verdict"]
    alone = ranks.compare(X[NEW], RANKS[NEW])
    assert "random forest" not in set(alone.index)


def test_the_importance_of_columns_is_that_of_the_function(ranks):
    found = ranks.importance(X[NEW], RANKS[NEW], repeats=3)
    pd.testing.assert_frame_equal(found, column_importance(ranks.fitted, X[NEW], RANKS[NEW], repeats=3))


def test_a_blend_that_is_one_of_its_parts_says_so():
    line = 3.0 * X["a"] + 0.01 * TARGET
    model = BlendRegressor(members=2, folds=2, epochs=1, trees=False, random_state=0).fit(X[TRAIN], line[TRAIN])
    assert set(model.shares_) == {"linear"}
    verdict = model.compare(X[NEW], line[NEW]).attrs["verdict"]
    assert verdict.endswith("; the blend is its linear model alone")


def test_a_report_on_the_samples_that_calibrate_measures_on_halves(ranks, tmp_path):
    pages = [ranks.report(tmp_path / f"{place}.html", *held) for place, held in enumerate(
        [(X[HELD], RANKS[HELD]), (X[:60], RANKS[:60])]
    )]  # fmt: skip
    says = ["which other held-out samples calibrate" in page.read_text() for page in pages]
    assert says == [False, True]


def test_a_row_of_the_training_samples_is_not_told_to_be_new_by_fit():
    far = X[TRAIN].copy()
    far.iloc[7, 0] = 4000.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BlendClassifier(members=2, folds=2, epochs=2, class_order=NAMES.tolist()).fit(far, RANKS[TRAIN])
