"""Ordinal logistic regression on a table's columns beside the classifiers: its share, and that every face has it."""

import threading

import numpy as np
import pandas as pd
import pytest
import torch
from lightning.pytorch.callbacks import Callback
from ordinate.heads.beside_columns import BesideColumns

from ordinate import ParquetTable
from ordinate.errors import OrdinateError
from ordinate.estimators import linear_ranks
from ordinate.estimators.export import export_model
from ordinate.estimators.seed import draw_seed
from ordinate.heads.cumulative_link import fit_cumulative_link
from ordinate.methods.imbalance import Imbalance
from ordinate.metrics import ranked_probability_score
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from tests.estimators.examples import cloc, draw_series, draw_table, for_every_classifier, otd
from tests.estimators.test_persistence import save_and_load

X, TARGET = draw_table(60)
RANKS = np.digitize(TARGET, np.quantile(TARGET, [0.3, 0.7]))
BEYOND = (X[:40], RANKS[:40]), {"validation": (X[40:], RANKS[40:])}


@pytest.fixture
def a_third(monkeypatch):
    """Ordinal logistic regression has a share of 0.3."""

    def third(predictions, losses, start, weights):
        assert start == {"columns": 0.5, "network": 0.5}
        return {"columns": 0.3, "network": 0.7}

    monkeypatch.setattr(linear_ranks, "choose_shares", third)


def by_columns(model, X, ranks, new, weights=None):
    """What ordinal logistic regression says of new samples."""
    x, weights = model.read(X).double(), None if weights is None else torch.from_numpy(weights / weights.mean())
    layer, link = fit_cumulative_link(x, torch.from_numpy(ranks), 3, weights)
    return link(layer(model.read(new).double())).numpy()


@pytest.mark.parametrize("weights", [None, np.linspace(1, 3, 40)], ids=["none", "some"])
@for_every_classifier
def test_what_is_predicted_is_the_mean_by_the_share_and_embeddings_stay(make, weights, a_third):
    training, given = BEYOND
    plain = make(linear=False).fit(*training, weights, **given)
    model = make().fit(*training, weights, **given)
    assert (plain.linear_share_, model.linear_share_) == (0.0, pytest.approx(0.3))
    wanted = 0.7 * plain.rank_probabilities(X) + 0.3 * by_columns(model, *training, X, weights)
    assert model.rank_probabilities(X) == pytest.approx(wanted, abs=1e-5)
    assert (model.transform(X) == plain.transform(X)).all()
    (note,) = model.notes_
    scores = [
        ranked_probability_score(RANKS[40:], found[40:])
        for found in (by_columns(model, *training, X, weights), model.rank_probabilities(X))
    ]
    assert note.startswith("ranked probability score on validation samples: ordinal logistic regression on the columns")
    assert all(f" {score:.4g}" in note for score in scores)
    assert note.endswith("of which it has a share of 30%")


@for_every_classifier
def test_a_saved_and_an_exported_model_have_it(make, a_third, tmp_path):
    training, given = BEYOND
    model = make().fit(*training, **given)
    again = save_and_load(model, tmp_path)
    assert (again.rank_probabilities(X) == model.rank_probabilities(X)).all()
    assert again.linear_share_ == model.linear_share_


def test_an_exported_graph_has_it(a_third, tmp_path):
    pytest.importorskip("onnxruntime")
    training, given = BEYOND
    model = otd().fit(*training, **given)
    export_model(model, tmp_path / "model.onnx")  # which compares what the graph and the estimator predict


def ordered(n, noise, seed=0):
    """Ranks that follow a line, with noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, np.digitize(X[:, 0] - X[:, 1] + noise * random.normal(size=n), [-1, 0.3, 1.5])


@pytest.mark.parametrize("make", [cloc, otd])
def test_a_training_on_all_samples_has_the_share_of_a_shorter_one_that_held_some_out(make, monkeypatch):
    monkeypatch.setattr(linear_ranks, "FEWEST_TO_TRY", 100)
    X, ranks = ordered(160, 1.0)
    model = make().fit(X, ranks)
    assert model.linear_share_ >= 0.5
    assert model.columns_.share.item() == pytest.approx(model.linear_share_)
    assert "ordinal logistic regression" in model.notes_[-1]
    again = make().fit(X, ranks)
    assert (again.rank_probabilities(X) == model.rank_probabilities(X)).all()
    plain = make(linear=False).fit(X, ranks)
    share = model.linear_share_
    wanted = (1 - share) * plain.rank_probabilities(X) + share * model.columns_.by_columns(model.read(X)).numpy()
    assert model.rank_probabilities(X) == pytest.approx(wanted, abs=1e-12)  # the trial leaves the training as it is


def test_several_devices_have_the_share_of_one(monkeypatch):
    monkeypatch.setattr(linear_ranks, "FEWEST_TO_TRY", 100)
    X, ranks = ordered(160, 1.0)
    model = otd().fit(X, ranks)
    model.set_params(training__devices=2, training__strategy="ddp_spawn")
    assert model._share_on_trial(X, ranks, None, None, seed=draw_seed(0, None)) == model.linear_share_


def test_few_samples_and_very_many_have_no_trial(monkeypatch):
    X, ranks = ordered(60, 1.0)
    assert otd().fit(X, ranks).linear_share_ == 0
    monkeypatch.setattr(linear_ranks, "FEWEST_TO_TRY", 60)
    assert otd().fit(X, ranks).linear_share_ > 0
    monkeypatch.setattr(linear_ranks, "MOST_TO_TRY", 59)
    assert otd().fit(X, ranks).linear_share_ == 0


def test_a_trial_holds_groups_together_and_has_a_fifth_of_the_epochs(monkeypatch):
    monkeypatch.setattr(linear_ranks, "FEWEST_TO_TRY", 100)
    X, ranks = ordered(160, 1.0)
    seen = []
    evaluate = linear_ranks.LinearRanks._evaluate
    monkeypatch.setattr(
        linear_ranks.LinearRanks, "_evaluate",
        lambda model, validation: (seen.append((model.n_iter_, len(validation.y))), evaluate(model, validation)),
    )  # fmt: skip
    otd(epochs=90, batch_size=64).fit(X, ranks, groups=np.arange(160) // 40)
    assert seen == [(30, 40)]  # 60 steps
    otd(epochs=200, batch_size=64).fit(X, ranks)
    assert seen[1] == (40, 32)
    otd(epochs=12, batch_size=64).fit(X, ranks)
    assert seen[2] == (12, 32)


def test_what_no_line_follows_is_left_to_the_network():
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, (300, 1))
    ranks = np.digitize(np.abs(X[:, 0]), [0.7, 1.4])
    model = otd(epochs=40, learning_rate=0.01, validation_fraction=0.2).fit(X, ranks)
    assert model.linear_share_ < 0.2


@pytest.mark.parametrize(
    "options",
    [
        {"linear": False},
        {"optimization": "paper"},
        {"validation_fraction": 0.0},
        {"encoder": torch.nn.Linear(3, 5)},
        {"imbalance": Imbalance(lds="inverse", kernel_size=1)},
        {"critical_margins": {(0, 1): 0.5}},
    ],
    ids="-".join,
)
def test_there_is_none_where_it_was_not_asked_for_or_has_no_place(options, a_third):
    model = cloc(**{"validation_fraction": 0.2, **options}).fit(X, RANKS)
    assert (model.linear_share_, model.columns_) == (0.0, None)


def test_series_have_none(a_third):
    series, target = draw_series(40)
    model = otd(validation_fraction=0.2).fit(series, np.digitize(target, np.quantile(target, [0.3, 0.7])))
    assert model.linear_share_ == 0


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("groups", [None, np.arange(200) // 2], ids=["one sample per rank", "few groups per rank"])
def test_ranks_with_too_few_samples_to_hold_some_out_have_none(groups):
    X, ranks = ordered(200, 1.0)
    ranks = np.arange(200) if groups is None else np.arange(200) // 4
    assert otd(batch_size=64).fit(X, ranks, groups=groups).linear_share_ == 0


def test_few_held_out_samples_leave_half():
    X, ranks = ordered(60, 1.0)
    assert otd().fit(X[:50], ranks[:50], validation=(X[50:51], ranks[50:51])).linear_share_ == 0.5


def test_a_resumed_fit_without_a_seed_has_its_share(monkeypatch, tmp_path):
    monkeypatch.setattr(linear_ranks, "FEWEST_TO_TRY", 100)
    X, ranks = ordered(160, 1.0)
    fits = [otd(random_state=None, checkpoint_dir=tmp_path).fit(X, ranks) for _ in range(3)]
    assert len({fit.rank_probabilities(X).tobytes() for fit in fits}) == 1


def test_settings_that_cannot_be_copied_are_left_alone(monkeypatch):
    monkeypatch.setattr(linear_ranks, "FEWEST_TO_TRY", 100)
    X, ranks = ordered(160, 1.0)
    callback = Callback()
    callback.lock = threading.Lock()
    assert otd(callbacks=[callback], random_state=np.random).fit(X, ranks).linear_share_ > 0


def test_a_training_with_a_time_limit_has_the_same_share(monkeypatch):
    monkeypatch.setattr(linear_ranks, "FEWEST_TO_TRY", 100)
    X, ranks = ordered(160, 1.0)
    share = otd().fit(X, ranks).linear_share_
    with training_until(TrainingEnd(TimeBudget(1000), until=900)):
        assert otd().fit(X, ranks).linear_share_ == share


def test_a_table_that_streams_may_validate(tmp_path, a_third):
    X, ranks = ordered(60, 1.0)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.to_parquet(tmp_path / "part.parquet")
    part = ParquetTable(tmp_path / "part.parquet", stream=True)
    one, other = (otd().fit(frame, ranks, validation=(held_out, ranks)) for held_out in (frame, part))
    assert one.linear_share_ == other.linear_share_ == pytest.approx(0.3)
    assert one.notes_[-1] == other.notes_[-1]


def test_linear_is_a_flag():
    with pytest.raises(OrdinateError, match=r"linear: got 'no', expected True or False"):
        otd(linear="no").fit(X, RANKS)


def test_a_frame_with_categories_has_it_and_predicts_in_parts(a_third):
    frame = pd.DataFrame(X).assign(kind=np.where(X[:, 0] > 0, "a", "b"))
    frame.columns = frame.columns.astype(str)
    model = otd(validation_fraction=0.2).fit(frame, RANKS)
    whole = model.rank_probabilities(frame)
    assert np.concatenate([model.rank_probabilities(part) for part in (frame[:7], frame[7:])]) == pytest.approx(whole)


def test_probabilities_of_columns_sum_to_1():
    beside = BesideColumns.fit(torch.from_numpy(X), torch.from_numpy(RANKS), 3, None)
    assert beside.by_columns(torch.from_numpy(X)).sum(1).numpy() == pytest.approx(1)
