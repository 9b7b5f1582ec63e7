"""The blend: samples unseen, saving, export, kills, and the estimators' contracts."""

import signal
from itertools import count

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_info, threadpool_limits
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from ordinate import BlendClassifier, BlendRegressor
from ordinate.blend.task import RankTask, TargetTask
from ordinate.errors import OrdinateError
from ordinate.estimators import blend_method
from ordinate.estimators.blend_method import Blend
from ordinate.heads.cumulative_fit import fit_cumulative_link
from ordinate.heads.linear import fit_ridge
from ordinate.methods.members import Members
from ordinate.methods.unseen_folds import UnseenSamples
from ordinate.metrics import ranked_probability_score
from ordinate.model.export import export_model
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from tests import processes
from tests.estimators.conformity import EQUIVALENCE, parametrize_with_essential_checks, run_check
from tests.estimators.examples import draw_series, draw_table, in_groups, ranks_of
from tests.estimators.test_kill_and_resume import assert_same_fit
from tests.model.test_saving import assert_same_model, save_and_load

QUICK = {"members": 4, "folds": 4, "embedding_dim": 4, "epochs": 8, "random_state": 0}
X, TARGET = draw_table(80)
RANKS = ranks_of(TARGET, 4)


def ranks(**options):
    return BlendClassifier(**in_groups(BlendClassifier, {**QUICK, **options}))


def targets(**options):
    return BlendRegressor(**in_groups(BlendRegressor, {**QUICK, **options}))


def share_equally(monkeypatch):
    """Give every part the same weight, whatever it gains."""
    monkeypatch.setattr("ordinate.estimators.blend_method.choose_shares", lambda residuals, *_: {
        name: 1 / len(residuals) for name in residuals
    })  # fmt: skip


pytestmark = pytest.mark.usefixtures("few_trees")
both = pytest.mark.parametrize(("make", "y"), [(ranks, RANKS), (targets, TARGET)], ids=["ranks", "targets"])


@parametrize_with_essential_checks(
    [BlendClassifier(members=2, folds=2, epochs=10, decision="mode"), BlendRegressor(members=2, folds=2, epochs=10)],
    expected_failed_checks=lambda _: EQUIVALENCE,
)
def test_scikit_learn_checks_the_estimators(estimator, check):
    run_check(estimator, check)


@both
@pytest.mark.parametrize(("refit", "unchanged"), [(0, [False, True, False, False]), (0.5, [False] * 4)])
def test_no_member_learns_from_its_own_fold_but_at_the_end(make, y, refit, unchanged, monkeypatch):
    """Labels of one fold change places: the member that holds it out stays as it was, bit for bit, others do not."""
    fold = np.arange(80) % 4
    monkeypatch.setattr("ordinate.estimators.blend_method.assign_folds", lambda *_: fold)
    other = y.copy()
    other[fold == 1] = y[fold == 1][::-1]
    options = {"epochs": 3, "patience": None, "refit": refit, "linear": False, "trees": False}
    labels = {"before": y, "after": other}
    kept = {name: make(**options).fit(X, values).method_.state_dict() for name, values in labels.items()}
    for name, values in kept["before"].items():
        if values.ndim > 1 and values.shape[0] == 4:
            same = [torch.equal(values[member], kept["after"][name][member]) for member in range(4)]
            assert same == unchanged, name


@pytest.mark.thorough
@pytest.mark.typical("ranks")
@both
def test_unseen_losses_are_those_of_new_samples(make, y):
    """What is measured in training on samples unseen is near what new ones show, and far from that of samples seen."""
    random = np.random.default_rng(6)
    X, new = random.normal(size=(400, 5)), random.normal(size=(4000, 5))
    label = lambda x: x[:, 0] + random.normal(scale=1.0, size=len(x))  # noqa: E731
    y, truth = label(X), label(new)
    if make is ranks:
        y, truth = np.digitize(y, [-1, 0, 1]), np.digitize(truth, [-1, 0, 1])
    model = make(epochs=50, batch_size=64, members=8, patience=None, trees=False, linear=False).fit(X, y)

    def loss(X, y):
        if make is ranks:
            return ranked_probability_score(y, model.predict_proba(X))
        return ((model.predict(X) - y) ** 2).mean() / np.var(label(new))

    assert model.unseen_losses_["blend"] == pytest.approx(loss(new, truth), rel=0.15)
    assert model.unseen_losses_["blend"] > 1.1 * loss(X, y)
    errors = model.unseen_errors_["blend"]
    assert errors.mean() == pytest.approx(np.abs(model.predict(new) - truth).mean(), rel=0.1)
    assert errors.shape == (400,)


@both
def test_errors_of_unseen_samples_are_those_of_a_model_without_their_fold(make, y, monkeypatch):
    """Of the linear model, which can be fitted again by hand; in ranks, or in the target's own units."""
    fold = np.arange(80) % 4
    monkeypatch.setattr("ordinate.estimators.blend_method.assign_folds", lambda *_: fold)
    y = y if make is ranks else 100 * y
    model = make(epochs=1, trees=False).fit(X, y)
    own = model.fitted.read(X).double()
    expected = np.empty(80)
    for number in range(4):
        unseen = fold == number
        if make is ranks:
            linear = torch.nn.Sequential(*fit_cumulative_link(own[~unseen], torch.as_tensor(y[~unseen]), 4))
            predicted = model.decide(linear(own[unseen]).detach().numpy())
        else:
            head = fit_ridge(own[~unseen], torch.as_tensor(y[~unseen, None], dtype=torch.float64))
            predicted = head(own[unseen]).detach().numpy()[:, 0]
        expected[unseen] = np.abs(predicted - y[unseen])
    np.testing.assert_allclose(model.unseen_errors_["linear"], expected, rtol=1e-4, atol=1e-4)


@both
def test_a_saved_model_is_the_same_with_every_part(make, y, tmp_path, monkeypatch):
    share_equally(monkeypatch)
    model = make().fit(X, y)
    assert sorted(model.shares_) == ["boosting", "linear", "members", "trees"]
    assert model.transform(X).shape == (80, model.embedding_dim_)
    assert_same_model(model, (loaded := save_and_load(model, tmp_path / "model")), X)
    assert loaded.shares_ == model.shares_


@both
@pytest.mark.typical(".pt2-ranks", ".onnx-targets")
@pytest.mark.parametrize("suffix", [".pt2", ".onnx"])
def test_an_exported_blend_has_every_part(make, y, suffix, tmp_path, monkeypatch):
    share_equally(monkeypatch)
    exported = export_model(make().fit(X, y).fitted, tmp_path / f"model{suffix}")
    assert max(exported.differences.values()) < 1e-4


def fit_and_die_in_step(fit, options, step):
    """Die in a training step, with a checkpoint after every step."""
    Blend.checkpoint_seconds = 0.0
    steps, batch_loss = count(1), Members.batch_loss

    def loss_and_die(*arguments):
        loss = batch_loss(*arguments)
        if next(steps) == step:
            processes.kill_me()
        return loss

    Members.batch_loss = loss_and_die
    fit(**options)


@both
@pytest.mark.typical("second_stage")
@pytest.mark.parametrize(("step", "left"), [(18, 33), (48, 3)], ids=["first_stage", "second_stage"])
def test_a_killed_fit_is_continued_to_the_same_model(make, y, step, left, tmp_path, monkeypatch):
    """Eight epochs of five steps and two more are trained in all; the step that was under way is made again."""
    (tmp_path / "state").mkdir()
    training = {"batch_size": 16, "patience": None}
    options = {**training, "checkpoint_dir": tmp_path / "state"}
    process = processes.start(fit_and_die_in_step, make(**options).fit, {"X": X, "y": y}, step)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    undisturbed = make(**training).fit(X, y)
    steps, batch_loss = [], Members.batch_loss
    monkeypatch.setattr(Members, "batch_loss", lambda *arguments: steps.append(1) or batch_loss(*arguments))
    continued = make(**options).fit(X, y)
    assert len(steps) == left
    assert_same_fit(continued, undisturbed, X)
    assert continued.unseen_losses_ == undisturbed.unseen_losses_
    assert continued.history_ == undisturbed.history_


@both
@pytest.mark.typical("targets")
def test_a_fit_killed_after_its_best_epoch_goes_back_to_it(make, y, tmp_path):
    (tmp_path / "state").mkdir()
    training = {"batch_size": 16, "patience": 3, "epochs": 30, "learning_rate": 0.03, "trees": False}
    undisturbed = make(**training).fit(X, y)
    losses = [epoch["val_loss"] for epoch in undisturbed.history_ if epoch["stage"] == 0]
    best = int(np.argmin(losses))
    assert len(losses) == best + 4 < 30
    options = {**training, "checkpoint_dir": tmp_path / "state"}
    step = 5 * (best + 2) + 3  # Epochs have five steps; this one is in the second after the best.
    assert processes.run(fit_and_die_in_step, make(**options).fit, {"X": X, "y": y}, step) == -signal.SIGKILL
    continued = make(**options).fit(X, y)
    assert_same_fit(continued, undisturbed, X)
    assert continued.unseen_losses_ == undisturbed.unseen_losses_
    assert continued.history_ == undisturbed.history_


class Clock:
    """A clock that every step of the networks moves on by a second."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        batch_loss = Members.batch_loss

        def timed(*arguments):
            self.now += 1
            return batch_loss(*arguments)

        monkeypatch.setattr(Members, "batch_loss", timed)

    def until(self, end):
        return training_until(TrainingEnd(TimeBudget(1000, clock=lambda: self.now, start=0.0), end))


NETWORKS = {"batch_size": 16, "trees": False, "linear": False}


def test_a_killed_fit_that_continues_under_a_time_limit_ends_in_time(tmp_path, monkeypatch):
    """Of eight epochs of five steps and two more, 33 steps are left, and there is time for 20."""
    (tmp_path / "state").mkdir()
    options = {**NETWORKS, "patience": None, "checkpoint_dir": tmp_path / "state"}
    died = processes.run(fit_and_die_in_step, ranks(**options).fit, {"X": X, "y": RANKS}, 18)
    assert died == -signal.SIGKILL
    clock = Clock(monkeypatch)
    with clock.until(20):
        model = ranks(**options).fit(X, RANKS)
    assert 19 <= clock.now <= 21
    assert {epoch["stage"] for epoch in model.history_ if "passed" in epoch} == {0, 1}


@both
@pytest.mark.parametrize("patience", [99, None])
def test_a_fit_that_runs_out_of_time_has_the_best_mean_of_the_weights(make, y, patience, monkeypatch):
    """Of labels that are chance, what is learned later is worse; without patience the last mean counts as the best."""
    means, predictions, validate = [], [], Members.validate

    def recorded(members, batches):
        means.append(Members.weights_to_keep(members))
        figures = validate(members, batches)
        predictions.append(members.predicted.numpy())
        return figures

    monkeypatch.setattr(Members, "validate", recorded)
    chance = np.random.default_rng(0).permutation(y)
    with Clock(monkeypatch).until(58):
        model = make(**NETWORKS, patience=patience, epochs=200, learning_rate=0.02, refit=0).fit(X, chance)
    losses = [epoch["val_loss"] for epoch in model.history_]
    assert 0 < model.history_[-1]["passed"] < 1
    assert int(np.argmin(losses)) < len(losses) - 1
    best = len(losses) - 1 if patience is None else int(np.argmin(losses))
    weights = model.method_.state_dict()
    compared = [name for name in means[best] if name.startswith("encoder.members")]
    assert [name for name in compared if not torch.equal(weights[name], means[best][name])] == []
    assert any(not torch.equal(means[best][name], means[best - 1][name]) for name in compared)
    labels = chance if make is ranks else (chance[:, None] - chance.mean()) / chance.std()
    task = RankTask(4) if make is ranks else TargetTask()
    unseen = task.losses(predictions[best], labels).mean()
    assert model.unseen_losses_["members"] == pytest.approx(unseen, rel=1e-5)


def test_predictions_of_unseen_samples_are_on_the_cpu_wherever_the_members_are():
    """Tensors that only know their device stand in for those of a GPU."""
    fold = torch.arange(7) % 3
    unseen = UnseenSamples(torch.zeros(7, 2), fold, unseen_fold=torch.arange(4) % 3, at_once=2)
    with FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv()):
        predicted = unseen.mean_prediction(lambda part: torch.empty(*part.shape[:2], 5, device="cuda"))
    assert predicted.device.type == "cpu"
    assert predicted.shape == (7, 5)


@both
def test_the_second_stage_lasts_a_share_of_the_first_and_leaves_the_shares_to_it(make, y, monkeypatch):
    monkeypatch.setattr("ordinate.estimators.blend_method.assign_folds", lambda *_: np.arange(80) % 4)
    options = {"epochs": 20, "patience": 3, "learning_rate": 0.01, "trees": False}
    first, whole = make(**options, refit=0).fit(X, y), make(**options, refit=0.5).fit(X, y)
    best = 1 + int(np.argmin([epoch["val_loss"] for epoch in first.history_]))
    assert [epoch["stage"] for epoch in whole.history_].count(1) == -(-best // 2)
    assert whole.unseen_losses_["members"] == pytest.approx(first.unseen_losses_["members"], rel=1e-5)


def test_groups_are_in_one_fold_and_trees_do_not_see_them():
    """Each group's label is chance, which a tree that has seen a sample of the group would know."""
    random = np.random.default_rng(5)
    groups = np.repeat(np.arange(40), 6)
    X = random.normal(size=(40, 3))[groups] + 1e-3 * random.normal(size=(240, 3))
    y = random.integers(3, size=40)[groups]
    model = ranks(epochs=30).fit(X, y, groups=groups)
    chance = ranked_probability_score(y, np.full((240, 3), 1 / 3))
    losses = dict(model.unseen_losses_)
    assert losses.pop("blend") > 0.9 * chance  # Its weights were chosen by these losses.
    assert min(losses.values()) > 0.95 * chance
    assert ranks(epochs=30).fit(X, y).unseen_losses_["blend"] < 0.5 * chance


@both
def test_samples_count_by_their_weight(make, y, monkeypatch):
    monkeypatch.setattr("ordinate.estimators.blend_method.assign_folds", lambda *_: np.arange(80) % 4)
    weights = np.r_[np.ones(40), np.full(40, 1e-6)]
    other = np.r_[y[:40], y[40:][::-1]]  # of the same mean
    first, second = (make(epochs=30, trees=False).fit(X, labels, weights) for labels in (y, other))
    np.testing.assert_allclose(first.transform(X)[:, :16], second.transform(X)[:, :16], rtol=0.02, atol=0.05)


@both
def test_the_heaviest_samples_are_unseen_by_the_trees_that_are_measured_on_them(make, y):
    """scikit-learn draws bags by the weights: a forest's own predictions of a heavy sample rest on no tree at all."""
    heaviest = int(np.argmax(TARGET))
    weights = np.where(np.arange(80) == heaviest, 1000.0, 1.0)
    with training_until(TrainingEnd(TimeBudget(1000), until=900)):
        error = make(epochs=2).fit(X, y, weights).unseen_errors_["trees"][heaviest]
    assert error < 0.7 * np.abs(y - np.mean(y))[heaviest]


def test_median_and_mode_are_measured_on_samples_unseen():
    model = ranks().fit(X, RANKS)
    assert set(model.decision_scores_) == {"mode", "median"}
    assert ranks(validation_fraction=0.25).fit(X, RANKS).decision_scores_ != model.decision_scores_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": 1, "folds": 1}, "members: got 1"),
        ({"embedding_dim": 0}, "embedding_dim"),
        ({"refit": 1.5}, "refit: got 1.5, expected a share from 0 to 1"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        ranks(**options).fit(X, RANKS)


def test_several_processes_are_refused(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(OrdinateError, match="processes: got 2, expected 1"):
        ranks().fit(X, RANKS)


def test_other_data_and_too_few_samples_are_refused():
    with pytest.raises(OrdinateError, match="X: got series, expected a table"):
        ranks().fit(draw_series(12)[0], np.arange(12) % 3)
    with pytest.raises(OrdinateError, match="got 3, expected at least 4"):
        ranks().fit(X[:3], [0, 1, 0])
    with pytest.raises(OrdinateError, match="2 targets per sample"):
        targets().fit(X, np.stack([TARGET, TARGET], 1))


def test_categories_missing_values_and_columns_of_one_value_are_read():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y"), "c": 1.0})
    frame.loc[3, "a"] = np.nan
    assert np.isfinite(ranks().fit(frame, RANKS).predict_proba(frame)).all()


@both
def test_an_error_of_a_simple_part_ends_the_fit(make, y, monkeypatch):
    monkeypatch.setattr(blend_method, "fit_forest", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make().fit(X, y)


def test_boosted_trees_grow_in_one_thread(monkeypatch):
    """Several wait for each other: under the command's waiting that leaves cores free, five times as long."""
    counts, fit = [], HistGradientBoostingRegressor.fit

    def counted(model, *data):
        counts.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp")
        return fit(model, *data)

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", counted)
    with threadpool_limits(2):
        ranks().fit(X, RANKS)
        after = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"}
    assert set(counts) == {1}
    assert after == {2}
