"""Probabilities of ranks: honest on small tables, never 0, and a function of the embedding alone."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

import ordinate
from ordinate import CLOCClassifier, OTDClassifier, Training
from ordinate.decisions import predict_ranks
from ordinate.estimators.calibration import Scores, fit_calibration, without_last_of_rank
from ordinate.estimators.registry import build
from ordinate.heads.angle_density import PositionDensity
from ordinate.heads.logit_calibration import LogitCalibration
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until

SMALL = {"embedding_dim": 8, "random_state": 0}
EPOCHS = {OTDClassifier: 20, CLOCClassifier: (5, 15)}
both = pytest.mark.parametrize("kind", EPOCHS, ids=["OTD", "CLOC"])


def draw(n, seed=0):
    """A noisy table: the ranks of samples with the same numbers differ."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    score = X[:, 0] + 0.5 * X[:, 1] + random.normal(size=n)
    return X, np.digitize(score, [-1.0, 0.0, 1.0])


def log_loss(model, X, y):
    return -np.log(model.rank_probabilities(X)[np.arange(len(y)), y]).mean()


def fit(kind, n=60, seed=0, training=None, **options):
    X, y = draw(n, seed)
    training = Training() if training is None else training
    return kind(**SMALL, epochs=EPOCHS[kind], training=training).fit(X, y, **options)


@both
def test_the_log_loss_is_below_that_of_equal_probabilities_and_does_not_jump_with_the_number_of_rows(kind):
    X, y = draw(1250, seed=1)
    losses = []
    for rows in range(150, 251, 10):
        model = kind(**SMALL, epochs=EPOCHS[kind], class_order=range(4)).fit(X[:rows], y[:rows])
        losses.append(log_loss(model, X[250:], y[250:]))
    assert max(losses) < np.log(4)
    assert np.abs(np.diff(losses)).max() < 0.1


@both
def test_calibration_leaves_embeddings_as_they_are_and_lowers_the_log_loss_of_an_overfitted_model(kind):
    X, y = draw(100)
    unseen = draw(1000, seed=2)
    options = {**SMALL, "epochs": 150 if kind is OTDClassifier else (50, 100)}
    plain = kind(**options, training=Training(calibration=0)).fit(X, y)
    calibrated = kind(**options, training=Training(calibration=3)).fit(X, y)
    np.testing.assert_array_equal(calibrated.transform(X), plain.transform(X))
    assert log_loss(calibrated, *unseen) < log_loss(plain, *unseen) - 0.02
    assert log_loss(calibrated, *unseen) < np.log(4)


@pytest.mark.parametrize("name", ["cloc", "otd", "cross_entropy", "orcnn", "corn_ranks", "coral", "blend"])
def test_predictions_are_the_rule_on_the_predictor_of_the_embedding(name, tmp_path):
    X, y = draw(60)
    options = {"epochs": (2, 2)} if name == "cloc" else {"epochs": 3}
    model = build(name, "ranks").set_params(random_state=0, **options).fit(X, y)
    embeddings = torch.from_numpy(model.transform(X))
    with torch.no_grad():
        probabilities = model.predictor_(embeddings).numpy()
    np.testing.assert_array_equal(model.predict(X), predict_ranks(probabilities, model.rule))
    np.testing.assert_array_equal(model.rank_probabilities(X), probabilities)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-9)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").rank_probabilities(X), probabilities)


class FirstColumn(torch.nn.Module):
    """An encoder that ignores all columns except the first."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 8)

    def forward(self, x):
        return self.layer(x[:, :1])


@both
def test_samples_with_the_same_embedding_get_the_same_prediction(kind):
    X, y = draw(60)
    model = kind(encoder=FirstColumn(), **SMALL, epochs=EPOCHS[kind]).fit(X, y)
    other = X.copy()
    other[:, 1:] = draw(60, seed=5)[0][:, 1:]
    np.testing.assert_array_equal(model.transform(other), model.transform(X))
    np.testing.assert_array_equal(model.rank_probabilities(other), model.rank_probabilities(X))
    assert len(np.unique(model.rank_probabilities(X), axis=0)) > 1


@both
@pytest.mark.parametrize("folds", [0, 2, "auto"])
def test_no_probability_is_0_and_rows_sum_to_1(kind, folds):
    model = fit(kind, training=Training(calibration=folds))
    probabilities = model.predict_proba(1000 * draw(200, seed=3)[0])
    assert probabilities.min() > 0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)


@both
def test_probabilities_that_are_not_calibrated_have_a_note_that_says_why(kind):
    cases = [
        (Training(calibration=0), "as all samples are trained on"),
        (Training(optimization="paper"), "as their papers' are not"),
    ]
    for training, reason in cases:
        notes = " ".join(fit(kind, training=training).notes_)
        assert f"the probabilities are not calibrated, {reason}" in notes
    assert "calibrated" not in " ".join(fit(kind).notes_)


@both
def test_without_time_for_further_trainings_nothing_is_calibrated(kind):
    budget = TimeBudget(1e-3)
    with training_until(TrainingEnd(budget, until=1e-3, least=2.0)):
        model = fit(kind)
    assert "as the time limit is too short for 3 further trainings" in " ".join(model.notes_)


@both
def test_validation_samples_replace_the_folds(kind):
    X, y = draw(60)
    held_out = draw(40, seed=4)
    options = {**SMALL, "epochs": EPOCHS[kind]}
    few = kind(**options, training=Training(calibration=2)).fit(X, y, validation=held_out)
    none = kind(**options, training=Training(calibration=0)).fit(X, y, validation=held_out)
    np.testing.assert_array_equal(few.rank_probabilities(X), none.rank_probabilities(X))
    assert "calibrated" not in " ".join(none.notes_)
    assert (few.rank_probabilities(X) != fit(kind).rank_probabilities(X)).any()


@both
def test_calibration_follows_from_the_seed_and_continues_from_checkpoints(kind, tmp_path):
    first = fit(kind, training=Training(checkpoint_dir=tmp_path))
    assert sorted(path.name for path in tmp_path.glob("part *")) == ["part 1", "part 2", "part 3"]
    expected = first.predict_proba(draw(60)[0])
    for training in (Training(), Training(checkpoint_dir=tmp_path)):
        np.testing.assert_array_equal(fit(kind, training=training).predict_proba(draw(60)[0]), expected)


@both
def test_weights_of_samples_count_in_the_calibration(kind):
    X, y = draw(60)
    weights = np.where(y == 3, 20.0, 1.0)
    weighted = kind(**SMALL, epochs=EPOCHS[kind]).fit(X, y, sample_weight=weights)
    plain = kind(**SMALL, epochs=EPOCHS[kind]).fit(X, y)
    assert weighted.rank_probabilities(X)[:, 3].mean() > plain.rank_probabilities(X)[:, 3].mean() + 0.1


@both
def test_ranks_with_one_sample_are_trained_on_in_every_fold(kind):
    X, y = draw(30)
    y[:] = np.arange(30) % 2 + 1
    y[0], y[1] = 0, 3
    probabilities = kind(**SMALL, epochs=EPOCHS[kind]).fit(X, y).rank_probabilities(X)
    assert probabilities.shape == (30, 4)
    assert probabilities.min() > 0


@both
def test_too_few_samples_to_leave_some_out_are_not_calibrated(kind):
    X, y = draw(4)
    y[:] = [0, 0, 1, 1]
    model = kind(**SMALL, batch_size=4, epochs=EPOCHS[kind]).fit(X, y)
    assert "as there are too few samples" in " ".join(model.notes_)
    assert model.rank_probabilities(X).min() > 0


def test_a_group_that_holds_the_last_samples_of_a_rank_is_trained_on_whole():
    ranks = np.array([0, 0, 0, 1, 1, 1, 2, 1])
    groups = np.array([0, 1, 1, 2, 2, 3, 4, 4])
    left_out = np.isin(groups, [0, 4])
    assert without_last_of_rank(left_out, ranks, groups).tolist() == [True, *[False] * 7]


def test_each_group_lies_in_one_fold():
    """Samples that are copies of each other are never trained on by the encoder that scores them."""
    X, y = draw(40)
    X, y, groups = np.repeat(X, 5, axis=0), np.repeat(y, 5), np.repeat(np.arange(40), 5)
    unseen = draw(1000, seed=2)
    options = {**SMALL, "epochs": (50, 100)}
    grouped = CLOCClassifier(**options).fit(X, y, groups=groups)
    plain = CLOCClassifier(**options).fit(X, y)
    assert log_loss(grouped, *unseen) < log_loss(plain, *unseen) - 0.1


def test_votes_of_the_paper_remain_on_demand_and_say_that_they_are_not_calibrated():
    X, y = draw(60)
    model = OTDClassifier(**SMALL, epochs=5, n_neighbors=3).fit(X, y)
    votes = 3 * model.rank_probabilities(X)
    np.testing.assert_allclose(votes, votes.round(), atol=1e-4)
    assert "the probabilities are not calibrated, as they are shares of votes" in model.notes_


@pytest.mark.parametrize("kind", ["density", "logits"])
def test_the_fit_finds_the_minimum_that_a_search_without_gradients_finds(kind):
    random = np.random.default_rng(0)
    ranks = torch.from_numpy(random.integers(0, 3, 80))
    if kind == "density":
        calibration: torch.nn.Module = PositionDensity(torch.tensor([0.2, 0.5, 0.3]))
        values = torch.from_numpy(ranks.numpy() + 0.6 * random.normal(size=80))
    else:
        calibration = LogitCalibration(3)
        values = 3 * torch.nn.functional.one_hot(ranks, 3) + torch.from_numpy(4 * random.normal(size=(80, 3)))
    weights = torch.from_numpy(random.uniform(0.5, 1.5, 80))
    start = torch.nn.utils.parameters_to_vector(calibration.parameters()).detach().clone()
    sizes = [(name, parameter.numel()) for name, parameter in calibration.named_parameters()]
    strengths = np.concatenate([[calibration.penalties[name]] * size for name, size in sizes])

    def penalised(vector):
        torch.nn.utils.vector_to_parameters(torch.from_numpy(vector), calibration.parameters())
        with torch.no_grad():
            of_true = calibration(values)[torch.arange(80), ranks].numpy()
        return -weights.numpy() @ np.log(of_true) + strengths @ (vector - start.numpy()) ** 2

    best = minimize(penalised, start.numpy(), method="Powell", options={"xtol": 1e-8, "ftol": 1e-12, "maxiter": 200})
    torch.nn.utils.vector_to_parameters(start.clone(), calibration.parameters())
    fit_calibration(calibration, Scores(values, ranks, weights))
    found = penalised(torch.nn.utils.parameters_to_vector(calibration.parameters()).numpy())
    assert found == pytest.approx(best.fun, abs=1e-4)
    assert found < penalised(start.numpy()) - 1
