"""Probabilities of ranks: honest on small tables, never 0, and a function of the embedding alone."""

import functools

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier

import ordinate
from ordinate import CLOCClassifier, OTDClassifier, Training
from ordinate.decisions import predict_ranks
from ordinate.estimators.pipeline import Fit
from ordinate.estimators.rank_classifier import without_last_of_rank
from ordinate.estimators.registry import build
from ordinate.heads.ranks import Temperature
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until

SMALL = {"embedding_dim": 8, "random_state": 0}
EPOCHS = {OTDClassifier: 5, CLOCClassifier: (4, 8)}
both = pytest.mark.parametrize("kind", EPOCHS, ids=["OTD", "CLOC"])


def draw(n, seed=0):
    """A noisy table: the ranks of samples with the same numbers differ."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    score = X[:, 0] + 0.5 * X[:, 1] + random.normal(size=n)
    return X, np.digitize(score, [-1.0, 0.0, 1.0])


def log_loss(model, X, y):
    return -np.log(model.rank_probabilities(X)[np.arange(len(y)), y]).mean()


def fit(kind, training=None, **options):
    X, y = draw(60)
    training = Training() if training is None else training
    return kind(**SMALL, epochs=EPOCHS[kind], training=training).fit(X, y, **options)


fitted = functools.cache(fit)


@both
def test_calibration_leaves_embeddings_as_they_are_and_lowers_the_log_loss_of_an_overfitted_model(kind):
    X, y = draw(100)
    unseen = draw(1000, seed=2)
    options = {**SMALL, "epochs": 10 if kind is OTDClassifier else (10, 20)}
    plain = kind(**options, training=Training(calibration=False, learning_rate=0.01)).fit(X, y)
    calibrated = kind(**options, training=Training(calibration=True, learning_rate=0.01)).fit(X, y)
    np.testing.assert_array_equal(calibrated.transform(X), plain.transform(X))
    assert log_loss(calibrated, *unseen) < log_loss(plain, *unseen) - 0.02
    assert log_loss(calibrated, *unseen) < np.log(4) - 0.1


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
@pytest.mark.parametrize("calibration", [False, True])
def test_no_probability_is_0_and_rows_sum_to_1(kind, calibration):
    model = fitted(kind, Training(calibration=calibration))
    with pytest.warns(UserWarning, match="outside the range of training"):
        probabilities = model.predict_proba(1000 * draw(200, seed=3)[0])
    assert probabilities.min() > 0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)


@both
def test_probabilities_that_are_not_calibrated_have_a_note_that_says_why(kind):
    cases = [
        (Training(calibration=False), "as Training(calibration=False) asks"),
        (Training(optimization="paper"), "as their papers' are not"),
    ]
    for training, reason in cases:
        notes = " ".join(fitted(kind, training).notes_)
        assert f"the probabilities are not calibrated, {reason}" in notes
    assert "calibrated" not in " ".join(fitted(kind).notes_)


@both
def test_without_time_for_a_second_training_nothing_is_calibrated(kind):
    budget = TimeBudget(1e-3)
    with training_until(TrainingEnd(budget, until=1e-3, least=2.0)):
        model = fit(kind)
    assert "as the time limit is too short for a second training" in " ".join(model.notes_)


@both
@pytest.mark.parametrize("n", [60, 300, 900])
def test_the_second_training_takes_as_many_steps_as_the_first(kind, n, monkeypatch):
    trained = []
    train = Fit._train

    def recorded(self, training, batches, validation, folder):
        trained.append((len(training.x), len(batches), self.module.stages))
        return train(self, training, batches, validation, folder)

    monkeypatch.setattr(Fit, "_train", recorded)
    epochs = 1 if kind is OTDClassifier else (1, 1)
    kind(**SMALL, epochs=epochs).fit(*draw(n))
    (samples, batches, stages), (part, batches_of_part, stages_of_part) = trained
    assert part < 0.7 * samples
    assert batches_of_part in (batches, batches + 1)  # Rounded batch sizes.
    assert stages_of_part == stages


@both
def test_validation_samples_replace_the_second_training(kind):
    X, held_out = draw(60)[0], draw(40, seed=4)
    few = fit(kind, Training(calibration=True), validation=held_out)
    none = fit(kind, Training(calibration=False), validation=held_out)
    np.testing.assert_array_equal(few.rank_probabilities(X), none.rank_probabilities(X))
    assert "calibrated" not in " ".join(none.notes_)
    assert (few.rank_probabilities(X) != fitted(kind).rank_probabilities(X)).any()


@both
def test_calibration_follows_from_the_seed_and_continues_from_checkpoints(kind, tmp_path):
    X = draw(60)[0]
    expected = fitted(kind).predict_proba(X)
    for _ in range(2):
        model = fit(kind, Training(checkpoint_dir=tmp_path))
        assert sorted(path.name for path in tmp_path.glob("part *")) == ["part 1"]
        np.testing.assert_array_equal(model.predict_proba(X), expected)


@both
def test_weights_of_samples_count_in_the_calibration(kind, monkeypatch):
    calls, fit_temperature = [], Temperature.fit
    monkeypatch.setattr(Temperature, "fit", lambda *given: calls.append(given) or fit_temperature(*given))
    fit(kind, sample_weight=np.where(draw(60)[1] == 3, 20.0, 1.0))
    [(_, ranks, weights)] = calls
    np.testing.assert_allclose(weights / weights.min(), np.where(ranks == 3, 20, 1))


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


@pytest.mark.filterwarnings("ignore:rows outside what training had seen")  # It had 40 different ones.
def test_each_group_lies_in_one_fold():
    """Samples that are nearly copies of each other are never trained on by the encoder that scores them."""
    X, y = draw(40)
    X, y, groups = np.repeat(X, 5, axis=0), np.repeat(y, 5), np.repeat(np.arange(40), 5)
    X = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)
    unseen = draw(1000, seed=2)
    grouped = OTDClassifier(**SMALL, epochs=20).fit(X, y, groups=groups)
    plain = OTDClassifier(**SMALL, epochs=20).fit(X, y)
    assert log_loss(grouped, *unseen) < log_loss(plain, *unseen) - 1


@both
def test_calibration_changes_how_sure_a_model_is_and_not_which_rank_is_the_most_probable(kind):
    unseen = draw(200, seed=3)[0]
    plain = fitted(kind, Training(calibration=False)).rank_probabilities(unseen)
    calibrated = fitted(kind).rank_probabilities(unseen)
    np.testing.assert_array_equal(calibrated.argmax(axis=1), plain.argmax(axis=1))
    assert np.abs(calibrated - plain).max() > 0.01


def test_without_calibration_otd_predicts_by_the_votes_of_its_paper():
    X, y = draw(60)
    model = OTDClassifier(**SMALL, epochs=5, n_neighbors=3, training=Training(calibration=False)).fit(X, y)
    probabilities = model.rank_probabilities(X)
    nearest = KNeighborsClassifier(3, metric="cosine").fit(model.transform(X), y)
    shares = nearest.predict_proba(model.transform(X))
    decided = shares.max(axis=1) > 0.5  # Of three ranks with a vote each the nearest wins.
    np.testing.assert_array_equal(probabilities.argmax(axis=1)[decided], shares.argmax(axis=1)[decided])
    assert (np.abs(probabilities - shares) < 0.25).all()
