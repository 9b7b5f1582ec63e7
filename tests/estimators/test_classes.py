"""scikit-learn's contract of classes, whatever kind of labels: its scorers and ensembles see the same model."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import cross_val_predict

from ordinate.errors import OrdinateError
from ordinate_papers.estimators import OrdinalClassifier
from tests.estimators.examples import SMALL, cloc, draw_table, otd, ranks_of

X, TARGET = draw_table(90)
RANKS = ranks_of(TARGET + np.random.default_rng(1).normal(scale=0.7, size=90), 3)  # hard enough to be unsure of
NAMES = ["low", "mid", "high"]  # sorted they are high, low, mid
TEXT = np.array(NAMES, dtype=object)[RANKS]
LABELS = {
    "text with class_order": (TEXT, {"class_order": NAMES}),
    "ordered categorical": (pd.Series(pd.Categorical(TEXT, NAMES, ordered=True)), {}),
    "polars Enum": (pl.Series(TEXT, dtype=pl.Enum(NAMES)), {}),
    "whole numbers that fall": (2 - RANKS, {"class_order": [2, 1, 0]}),
}
every_kind_of_label = pytest.mark.parametrize(("y", "options"), LABELS.values(), ids=LABELS)
recoded = pytest.mark.filterwarnings("ignore:y holds whole numbers that class_order does not:UserWarning")


def coral(**options):
    return OrdinalClassifier(loss="coral", **{**SMALL, "epochs": 6, **options})


every_model = pytest.mark.parametrize(
    "make", [cloc, coral, pytest.param(otd, marks=pytest.mark.thorough)], ids=lambda make: make.__name__
)


def scores(model, y):
    found = {}
    for name in get_scorer_names():
        try:
            found[name] = get_scorer(name)(model, X, y)
        except (ValueError, TypeError):  # a scorer of regression, of two classes, or of clusters
            continue
    return found


@cache
def plain(make):
    """The model of the ranks themselves."""
    return make().fit(X, RANKS)


@cache
def plain_scores(make):
    return scores(plain(make), RANKS)


@pytest.mark.typical(
    "text with class_order-cloc",
    "ordered categorical-coral",
    "polars Enum-cloc",
    "whole numbers that fall-coral",
)
@every_model
@every_kind_of_label
def test_every_scorer_sees_the_same_model_whatever_the_labels(make, y, options):
    expected = plain_scores(make)
    found = scores(make(**options).fit(X, y), y)
    assert {"accuracy", "neg_log_loss", "roc_auc_ovr", "roc_auc_ovo", "f1_macro"} <= found.keys()
    of_classes = {name: value for name, value in expected.items() if name in found}
    if np.asarray(y).dtype.kind == "i":  # scorers of numbers that count from 0, or of numbers at all, see other numbers
        of_classes = {name: of_classes[name] for name in ("accuracy", "neg_log_loss", "roc_auc_ovr", "roc_auc_ovo")}
    for name, value in of_classes.items():
        assert found[name] == pytest.approx(value, rel=0, abs=1e-12), name


@every_model
@every_kind_of_label
def test_classes_are_sorted_and_columns_follow_them(make, y, options):
    model = make(**options).fit(X, y)
    assert model.classes_.tolist() == sorted(set(np.asarray(y).tolist()))
    assert model.ordered_classes_.tolist() == (NAMES if isinstance(model.classes_[0], str) else [2, 1, 0])
    by_class, by_rank = model.predict_proba(X), model.rank_probabilities(X)
    for place, label in enumerate(model.classes_.tolist()):
        assert (by_class[:, place] == by_rank[:, model.ordered_classes_.tolist().index(label)]).all()
    np.testing.assert_array_equal(by_rank, plain(make).predict_proba(X))


ENSEMBLES = {
    "voting": lambda model: VotingClassifier([("a", model), ("b", LogisticRegression())], voting="soft"),
    "stacking": lambda model: StackingClassifier([("a", model)], LogisticRegression(), cv=2),
    "calibrated": lambda model: CalibratedClassifierCV(model, cv=2),
    "bagging": lambda model: BaggingClassifier(model, n_estimators=2, random_state=0),
}


@recoded
@pytest.mark.parametrize("build", ENSEMBLES.values(), ids=ENSEMBLES)
@pytest.mark.parametrize(
    "kind",
    [
        "text with class_order",
        *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("ordered categorical", "polars Enum")),
    ],
)
def test_ensembles_of_scikit_learn_keep_the_order(build, kind):
    # they replace labels by codes, so that the order comes by class_order
    y = LABELS[kind][0]
    expected = build(cloc()).fit(X, RANKS)
    found = build(cloc(class_order=NAMES)).fit(X, np.asarray(y))
    by_rank = [found.classes_.tolist().index(name) for name in NAMES]
    np.testing.assert_allclose(found.predict_proba(X)[:, by_rank], expected.predict_proba(X), rtol=0, atol=1e-9)
    assert (found.predict(X) == np.array(NAMES)[expected.predict(X)]).mean() > 0.95  # ties fall by sorted labels


@recoded
def test_cross_validation_gives_probabilities_in_the_order_of_sorted_labels():
    expected = cross_val_predict(cloc(), X, RANKS, cv=3, method="predict_proba")
    found = cross_val_predict(cloc(class_order=NAMES), X, TEXT, cv=3, method="predict_proba")
    np.testing.assert_array_equal(found[:, np.argsort(np.argsort(NAMES))], expected)


def test_codes_in_the_place_of_text_are_said():
    codes = np.unique(TEXT, return_inverse=True)[1]
    with pytest.warns(UserWarning, match="0 = high, 1 = low, 2 = mid"):
        model = cloc(class_order=NAMES).fit(X, codes)
    assert model.ordered_classes_.tolist() == [1, 2, 0]
    np.testing.assert_array_equal(model.rank_probabilities(X), plain(cloc).rank_probabilities(X))


NO_CODES = {"too high": RANKS + 1, "too low": RANKS - 1, "not all": np.minimum(RANKS, 1)}


@pytest.mark.parametrize("codes", NO_CODES.values(), ids=NO_CODES)
def test_numbers_that_are_no_codes_of_the_text_are_refused(codes):
    with pytest.raises(OrdinateError, match=r"y: got unknown labels"):
        cloc(class_order=NAMES).fit(X, codes)


@recoded
def test_a_class_that_no_sample_has_leaves_codes_without_a_meaning():
    model = cloc(class_order=[*NAMES, "absent"])  # which would come first among the sorted labels
    with pytest.raises(OrdinateError, match=r"y: got unknown labels"):
        VotingClassifier([("a", model)]).fit(X, TEXT)
    assert model.fit(X, TEXT).ordered_classes_.tolist() == [*NAMES, "absent"]


@recoded
def test_margins_of_labels_that_start_at_one_are_theirs_in_an_ensemble_too():
    expected = cloc(critical_margins={(1, 2): 1.25}).fit(X, RANKS + 1)
    model = cloc(critical_margins={(1, 2): 1.25}, class_order=[1, 2, 3])
    inside = VotingClassifier([("a", model)]).fit(X, RANKS + 1).estimators_[0]
    np.testing.assert_array_equal(inside.margins_, expected.margins_)


@recoded
@pytest.mark.parametrize(("y", "options"), [*LABELS.values()][:3], ids=[*LABELS][:3])
def test_critical_margins_are_named_by_labels(y, options):
    model = cloc(critical_margins={("mid", "high"): 1.25}, **options).fit(X, y)
    assert model.margins_[1] == 1.25 != model.margins_[0]
    codes = np.unique(TEXT, return_inverse=True)[1]  # as in an ensemble
    inside = cloc(critical_margins={("mid", "high"): 1.25}, class_order=NAMES).fit(X, codes)
    np.testing.assert_array_equal(inside.margins_, model.margins_)


def test_the_boundary_between_labels_that_start_at_one_is_theirs():
    model = cloc(critical_margins={(1, 2): 1.25}).fit(X, RANKS + 1)
    assert model.margins_[0] == 1.25 != model.margins_[1]
    with pytest.raises(OrdinateError, match=r"critical_margins: got boundary \(0, 1\), expected two adjacent labels"):
        cloc(critical_margins={(0, 1): 1.25}).fit(X, RANKS + 1)


NULLABLE = {
    "Int64": pd.Series(RANKS, dtype="Int64"),
    "an array of UInt8": pd.array(RANKS, dtype="UInt8"),
    "a column of Int16": pd.DataFrame({"grade": pd.Series(RANKS, dtype="Int16")}),
    "of Arrow": pd.Series(RANKS).astype("int64[pyarrow]"),
    "ordered categories": pd.Series(RANKS, dtype="Int64").astype(pd.CategoricalDtype([0, 1, 2], ordered=True)),
    "boolean": pd.Series(RANKS > 0, dtype="boolean"),
    "truth values of Arrow": pd.Series(RANKS > 0).astype("bool[pyarrow]"),
}


@pytest.mark.parametrize("y", NULLABLE.values(), ids=NULLABLE)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_nullable_whole_numbers_and_truth_values_come_back_as_such(y):
    usual = np.asarray(y).ravel().astype(int)
    model = otd(epochs=1).fit(X, y)
    expected = "b" if set(usual) == {0, 1} else "iu"
    assert model.classes_.dtype.kind in expected
    assert model.predict(X).dtype == model.classes_.dtype
    assert model.classes_.tolist() == sorted(set(usual))
    assert model.predict(X).tolist() == otd(epochs=1).fit(X, usual).predict(X).tolist()
