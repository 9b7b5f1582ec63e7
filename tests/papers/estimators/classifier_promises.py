"""What every baseline that classifies ranks promises: functions that are each given what makes one."""

import copy
import signal

import numpy as np
import pandas as pd
import pytest
import torch

import ordinate
from ordinate import ImageOptions
from ordinate.errors import OrdinateError
from ordinate.training.staged_method import StagedMethod
from tests import processes
from tests.data import pictures
from tests.estimators.examples import draw_frame, draw_table, ranks_of
from tests.model.test_saving import assert_same_model, save_and_load

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)
HELD_OUT, NEW_TARGET = draw_table(seed=1)
NEW_RANKS = np.digitize(NEW_TARGET, np.quantile(TARGET, [1 / 3, 2 / 3]))
TINY = {"encoder": "test_resnet", "data": ImageOptions(augmentation="none", workers=0)}


def the_same_seed_gives_the_same_weights_and_another_seed_others(make, tmp_path):
    first, again, other = (make(random_state=seed).fit(X, RANKS).method_.state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first if name.endswith("weight"))


def ranks_that_are_easy_are_learned(make, tmp_path):
    model = make(epochs=40, learning_rate=0.01, weight_decay=0.0).fit(X, RANKS)
    assert model.score(X, RANKS) > 0.9
    assert np.abs(model.predict(HELD_OUT) - NEW_RANKS).mean() < 0.3


def probabilities_are_those_of_the_predicted_classes(make, tmp_path):
    model = make().fit(X, np.array([10, 20, 30])[RANKS])
    probability = model.predict_proba(X)
    assert probability.shape == (48, 3)
    assert probability.min() >= 0
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (model.set_params(decision="mode").predict(X) == model.classes_[probability.argmax(axis=1)]).all()


def a_prediction_does_not_depend_on_the_samples_beside_it(make, tmp_path):
    model = make().fit(X, RANKS)
    np.testing.assert_allclose(model.transform(X[:1]), model.transform(X)[:1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X[:1]), model.predict_proba(X)[:1], rtol=0, atol=1e-9)


def pictures_are_learned_and_kept_over_a_save(make, tmp_path):
    ranks = np.arange(60) % 3
    drawn, new = pictures.draw(ranks), pictures.draw(ranks[:30], seed=1)
    model = make(**TINY, epochs=15, learning_rate=3e-3).fit(drawn, ranks)
    assert model.score(new, ranks[:30]) > 0.9
    assert model.transform(new).shape == (30, 8)
    loaded = save_and_load(model, tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    np.testing.assert_array_equal(copy.deepcopy(model).predict_proba(new), model.predict_proba(new))


def a_loaded_model_is_the_saved_one(make, tmp_path):
    model = make().fit(X, RANKS)
    assert_same_model(save_and_load(model, tmp_path / "array"), model, HELD_OUT)
    assert ordinate.load(tmp_path / "array").get_params() == model.get_params()
    frame, target = draw_frame()
    model = make().fit(frame, pd.Categorical.from_codes(ranks_of(target), ["low", "mid", "high"], ordered=True))
    assert_same_model(save_and_load(model, tmp_path / "frame"), model, draw_frame(seed=1)[0])


def a_class_without_samples_is_never_predicted_as_nan(make, tmp_path):
    model = make(class_order=[0, 1, 2, 3, 4]).fit(X, np.array([0, 2, 3])[RANKS])
    probability = model.predict_proba(X)
    assert probability.shape == (48, 5)
    assert np.isfinite(probability).all()
    assert_same_model(save_and_load(model, tmp_path / "model"), model, HELD_OUT)


def a_fit_killed_twice_ends_with_the_weights_of_one_that_was_not(make, tmp_path):
    options = {"epochs": 7, "patience": 6, "validation_fraction": 0.3}
    uninterrupted = make(**options).fit(X, RANKS)
    for epoch, batch in [(2, 1), (5, 0)]:
        assert processes.run(_fit_and_die, make, {**options, "checkpoint_dir": tmp_path}, epoch, batch) == (
            -signal.SIGKILL
        )
    resumed = make(**options, checkpoint_dir=tmp_path).fit(X, RANKS)
    again = make(**options, checkpoint_dir=tmp_path).fit(X, RANKS)  # finished, and not trained again
    for model in (resumed, again):
        weights, wanted = model.method_.state_dict(), uninterrupted.method_.state_dict()
        assert [name for name in wanted if not torch.equal(weights[name], wanted[name])] == []
        assert (model.predict_proba(X) == uninterrupted.predict_proba(X)).all()
        assert model.history_ == uninterrupted.history_
    with pytest.raises(OrdinateError, match="checkpoint_dir"):
        make(**options, random_state=1, checkpoint_dir=tmp_path).fit(X, RANKS)


def _fit_and_die(make, options, epoch, batch):
    step = StagedMethod.training_step

    def step_and_die(method, *data):
        loss = step(method, *data)
        if (method.current_epoch, method.step) == (epoch, batch):
            processes.kill_me()
        return loss

    StagedMethod.training_step = step_and_die
    make(**options).fit(X, RANKS)


PROMISES = [
    the_same_seed_gives_the_same_weights_and_another_seed_others,
    ranks_that_are_easy_are_learned,
    probabilities_are_those_of_the_predicted_classes,
    a_prediction_does_not_depend_on_the_samples_beside_it,
    pictures_are_learned_and_kept_over_a_save,
    a_loaded_model_is_the_saved_one,
    a_class_without_samples_is_never_predicted_as_nan,
    a_fit_killed_twice_ends_with_the_weights_of_one_that_was_not,
]
for_every_promise = pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)


def for_typical_promises(test):
    """Mark those promises thorough whose code is the same for every baseline, which :mod:`test_poe` keeps."""
    typical = pytest.mark.typical(
        "ranks_that_are_easy_are_learned",
        "a_loaded_model_is_the_saved_one",
        "a_class_without_samples_is_never_predicted_as_nan",
        "a_fit_killed_twice_ends_with_the_weights_of_one_that_was_not",
    )
    return typical(for_every_promise(test))


def assert_refused(make, options, message):
    """A setting is an error before an epoch is trained."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StagedMethod, "training_step", lambda *_: pytest.fail("trained an epoch"))
        with pytest.raises(OrdinateError) as caught:
            make(**options).fit(X, RANKS)
    assert str(caught.value).startswith(message)
