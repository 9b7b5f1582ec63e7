"""The simple parts of a blend: what they predict of samples that they have not seen, and as modules."""

import itertools
import warnings

import numpy as np
import pytest
import torch
from joblib import parallel_config
from sklearn.ensemble import ExtraTreesRegressor

from ordinate.blend import forest
from ordinate.blend.boosting import fit_boosting
from ordinate.blend.forest import fit_forest, out_of_bag
from ordinate.blend.linear import fit_linear
from ordinate.blend.samples import FoldedSamples
from ordinate.blend.task import RankTask, TargetTask
from ordinate.metrics import ranked_probability_score
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until

PARTS = {"linear": fit_linear, "forest": fit_forest, "boosting": fit_boosting}
of_all = pytest.mark.parametrize("fit", PARTS.values(), ids=PARTS.keys())


def samples(kind, n=240, *, grouped=False, weights=None, noise=0.3):
    random = np.random.default_rng(1)
    x = random.normal(size=(n, 3)).astype(np.float32)
    score = x[:, 0] + noise * random.normal(size=n)
    y = np.digitize(score, [-0.7, 0.0, 0.7]) if kind == "ranks" else (score / score.std())[:, None]
    fold = np.arange(n) % 4
    task = RankTask(4) if kind == "ranks" else TargetTask()
    return task, FoldedSamples(torch.from_numpy(x), torch.from_numpy(y), weights, fold, np.arange(3), grouped)


both = pytest.mark.parametrize("kind", ["ranks", "target"])


@both
@of_all
def test_a_part_predicts_unseen_samples_nearly_as_well_as_new_ones(fit, kind):
    task, all_samples = samples(kind, 600)
    first = np.arange(600) < 300
    part = fit(task, all_samples.part(first))
    new = all_samples.part(~first)
    predicted = part.predict(new.x)
    assert predicted.shape == part.unseen.shape == (300, task.outputs)
    of_new = task.losses(predicted, new.y.numpy()).mean()
    of_unseen = task.losses(part.unseen, all_samples.y.numpy()[first]).mean()
    of_seen = task.losses(part.predict(all_samples.x[:300]), all_samples.y.numpy()[first]).mean()
    assert of_unseen == pytest.approx(of_new, rel=0.2)
    if fit is not fit_linear:
        assert of_seen < 0.8 * of_unseen


@of_all
def test_probabilities_are_positive_and_sum_to_1(fit):
    task, some = samples("ranks")
    for predicted in ((part := fit(task, some)).unseen, part.predict(some.x)):
        assert predicted.min() > -1e-6
        np.testing.assert_allclose(predicted.sum(1), 1, atol=1e-6)


def test_losses_of_ranks_are_their_ranked_probability_score():
    random = np.random.default_rng(0)
    predictions, y = random.dirichlet(np.ones(4), 50), random.integers(4, size=50)
    assert RankTask(4).losses(predictions, y).mean() == pytest.approx(ranked_probability_score(y, predictions))


@pytest.mark.parametrize("options", [{"grouped": True}, {"weights": torch.ones(240, dtype=torch.float64)}])
@both
def test_forests_of_grouped_or_weighted_samples_are_measured_by_fold(kind, options, monkeypatch):
    grown, grow = [], forest._grow
    monkeypatch.setattr(forest, "_grow", lambda *arguments: grown.append(arguments[1]) or grow(*arguments))
    task, some = samples(kind, **options)
    fit_forest(task, some)
    assert [len(each.x) for each in grown] == [240, 180, 180, 180, 180]


def test_unseen_samples_of_a_forest_are_out_of_bag():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(80, 2)).astype(np.float32), random.normal(size=80)
    model = ExtraTreesRegressor(60, bootstrap=True, oob_score=True, random_state=0).fit(x, y)
    np.testing.assert_allclose(out_of_bag(model, x)[:, 0], model.oob_prediction_)


def test_samples_that_all_trees_saw_have_the_mean_of_the_others():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(80, 2)).astype(np.float32), random.normal(size=80)
    model = ExtraTreesRegressor(2, bootstrap=True, random_state=0).fit(x, y)
    seen = np.all([np.isin(np.arange(80), bag) for bag in model.estimators_samples_], axis=0)
    found = out_of_bag(model, x)[:, 0]
    assert seen.any()
    assert len(np.unique(found[seen])) == 1
    assert y.min() < found[seen][0] < y.max()


def ending_at(seconds):
    """Let time move on by 100 seconds whenever it is asked for."""
    clock = itertools.count(0.0, 100.0).__next__
    return training_until(TrainingEnd(TimeBudget(1e5, clock=clock, start=0.0), until=seconds))


@both
def test_limited_time_gives_fewer_trees_and_no_boosting(kind):
    task, some = samples(kind)
    with ending_at(900), warnings.catch_warnings():
        warnings.simplefilter("error")
        part = fit_forest(task, some)
    assert len(part.encoder.roots) == forest.FEWEST_TREES
    assert np.isfinite(part.unseen).all()
    with ending_at(10_000):  # 4 rounds took 100 seconds, so that 60 in each of 4 folds take 6,000.
        assert fit_boosting(task, some) is None
    with ending_at(50_000):
        assert fit_boosting(task, some) is not None


def test_boosting_of_very_many_columns_is_left_out():
    task, some = samples("ranks")
    assert fit_boosting(task, some, most_columns=2) is None


def test_a_link_knows_how_wide_boosted_trees_err():
    """Where ranks are chance, trees that have learned them by heart are given the shares of the ranks."""
    task, some = samples("ranks", noise=100.0)
    part = fit_boosting(task, some)
    shares = np.bincount(some.y.numpy()) / len(some.x)
    np.testing.assert_allclose(part.predict(some.x).mean(0), shares, atol=0.1)
    assert (
        task.losses(part.unseen, some.y.numpy()).mean()
        < 1.1 * task.losses(shares[None].repeat(240, 0), some.y.numpy()).mean()
    )


@of_all
def test_fits_spread_over_workers_are_the_same(fit):
    task, some = samples("ranks")
    alone = fit(task, some)
    with parallel_config("threading", n_jobs=2):
        spread = fit(task, some)
    np.testing.assert_allclose(spread.unseen, alone.unseen, rtol=1e-12)
