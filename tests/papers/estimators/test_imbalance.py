"""The estimators with LDS, FDS and RankSim: targets in their own units, saving, resuming and what is refused."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import ordinate
from ordinate.errors import OrdinateError
from ordinate.estimators.plain import EndToEndRegressor
from ordinate.training.loop import CHECKPOINT, Checkpoint
from ordinate_papers.methods.imbalance import Imbalance
from ordinate_papers.methods.label_density import label_weights
from tests.estimators.examples import SMALL, draw_table, in_groups, supcr, supremix

X, TARGET = draw_table()
Y = 1e4 + np.round(10 * np.exp(TARGET))  # far from 0, and rare at one end
ALL_THREE = Imbalance(lds="inverse", fds=True, ranksim=0.1)


def end_to_end(**options):
    return EndToEndRegressor(**in_groups(EndToEndRegressor, {**SMALL, "epochs": 5, **options}))


for_every_regressor = pytest.mark.parametrize("make", [supcr, supremix, end_to_end], ids=lambda make: make.__name__)


@for_every_regressor
def test_the_weights_are_those_of_the_targets_in_their_own_units(make):
    model = make(validation_fraction=0, imbalance=Imbalance(lds="inverse", bin_size=5.0)).fit(X, Y)
    assert model.method_.balance.bins.size == (5.0,)
    weights = model.method_.balance.weights(torch.from_numpy(Y[:, None] - model.labels_.offset))
    expected = label_weights(Y, "inverse", bin_size=5.0)
    assert expected.max() > 2 * expected.min()
    np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-5)


@for_every_regressor
def test_a_model_that_is_saved_and_loaded_predicts_the_same(make, tmp_path):
    model = make(imbalance=ALL_THREE).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    assert loaded.imbalance == ALL_THREE
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@for_every_regressor
def test_a_fit_that_is_stopped_resumes_with_the_statistics_it_had(make, tmp_path, monkeypatch):
    epochs = 4 if make is end_to_end else (2, 2)
    whole = make(imbalance=ALL_THREE, epochs=epochs).fit(X, Y)

    write = Checkpoint.on_epoch_end

    def write_and_stop(callback, loop):
        write(callback, loop)
        if len(loop.method.history) == 3:
            raise RuntimeError("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "on_epoch_end", write_and_stop)
        with pytest.raises(RuntimeError, match="stopped"):
            make(imbalance=ALL_THREE, epochs=epochs, checkpoint_dir=tmp_path).fit(X, Y)
    assert (tmp_path / CHECKPOINT).exists()
    resumed = make(imbalance=ALL_THREE, epochs=epochs, checkpoint_dir=tmp_path).fit(X, Y)
    assert resumed.history_ == whole.history_
    for name, value in whole.method_.state_dict().items():
        assert torch.equal(resumed.method_.state_dict()[name], value), name


@pytest.mark.parametrize(
    ("imbalance", "heads"),
    [
        (None, {"ridge", "neighbours"}),
        (Imbalance(ranksim=1.0), {"ridge", "neighbours"}),
        (Imbalance(lds="inverse"), {"linear"}),
        (Imbalance(fds=True), {"linear"}),
    ],
)
def test_the_automatic_head_is_the_trained_one_where_lds_or_fds_acts_on_it(imbalance, heads):
    assert set(supcr(imbalance=imbalance).fit(X, Y).head_scores_) == heads


def test_targets_of_several_dimensions_are_taken():
    model = supcr(imbalance=ALL_THREE).fit(X, np.column_stack([Y, -Y, X[:, 0]]))
    assert len(model.method_.balance.bins.counts) == 3
    assert model.predict(X).shape == (48, 3)


def test_options_are_kept_by_a_clone_and_anything_else_is_refused():
    assert clone(supcr(imbalance=ALL_THREE)).imbalance == ALL_THREE
    with pytest.raises(OrdinateError, match=r"imbalance: got 'lds', expected Imbalance\(...\) or None"):
        supcr(imbalance="lds").fit(X, Y)
