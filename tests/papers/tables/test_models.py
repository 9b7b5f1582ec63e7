"""How a name becomes an estimator."""

import inspect
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from ordinate.data.series.options import SeriesOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.volumes.options import VolumeOptions
from ordinate.errors import OrdinateError
from ordinate.estimators.registry import models
from ordinate_papers.datasets.catalogue import TABLE_SETS
from ordinate_papers.tables.budgets import budget
from ordinate_papers.tables.models import build
from tests.papers.datasets import trees

BUDGET = replace(budget("airfoil"), epochs=30, phase_one=10, head_epochs=7, weight_decay=0.25)


@pytest.mark.parametrize("name", models())
def test_every_name_builds_an_estimator_for_each_of_its_tasks(name):
    for task, place in models()[name].estimators.items():
        module, _, attribute = place.partition(":")
        estimator = build(name, task, budget=BUDGET, seed=5)
        assert isinstance(estimator, getattr(import_module(module), attribute))
        assert models()[name].settings.items() <= estimator.get_params().items()


@pytest.mark.parametrize("name", models())
def test_the_budget_is_the_same_for_every_model_that_trains(name):
    for task in models()[name].estimators:
        estimator = build(name, task, budget=BUDGET, seed=5)
        takes = inspect.signature(type(estimator)).parameters
        if "encoder" not in takes:
            continue
        assert (estimator.encoder, estimator.embedding_dim, estimator.batch_size) == ("auto", 64, 256)
        assert (estimator.training.learning_rate, estimator.training.weight_decay) == (1e-3, 0.25)
        assert (estimator.random_state, estimator.training.validation_fraction, estimator.training.patience) == (
            5,
            0.0,
            None,
        )
        epochs = estimator.epochs
        assert epochs in (30, (30, 7), (10, 20))


def test_text_series_and_volumes_are_options(tmp_path, monkeypatch):
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path))
    trees.plant_pairs(tmp_path)
    made = {name: build("l1", "continuous", budget=budget(name, quick=True)) for name in ("stsb_dir", "tuab")}
    vectors = tmp_path / "glove100_subset" / "few.npz"
    assert made["stsb_dir"].data == TextOptions(vectors, max_length=40, hidden=128)
    assert made["tuab"].data == SeriesOptions(crop=400)
    assert build("supcon", "continuous", budget=budget("uk_biobank")).data == VolumeOptions(100, 2.0)
    assert build("supremix", "continuous", budget=budget("hcp_aging")).data == SeriesOptions()


@pytest.mark.parametrize("name", TABLE_SETS)
def test_every_set_has_a_budget_and_a_smaller_one(name):
    for paper in ("", "cloc", "supcr", "supremix", "otd"):
        full, small = budget(name, paper), budget(name, paper, quick=True)
        assert small.epochs <= full.epochs
        assert 0 < full.phase_one < full.epochs


def test_a_budget_is_that_of_the_paper_and_the_set():
    cloc, otd = budget("adience", "cloc"), budget("adience", "otd")
    assert (cloc.epochs, cloc.images["size"], cloc.embedding_dim, cloc.learning_rate) == (1000, 224, None, 1e-3)
    assert (otd.epochs, otd.images["size"], otd.embedding_dim, otd.learning_rate) == (20, 150, 100, 1e-6)
    supcr, supremix = budget("agedb_dir", "supcr"), budget("agedb_dir", "supremix")
    assert (supcr.encoder, supcr.optimizer, supcr.batch_size) == ("resnet18", "sgd", 256)
    assert (supremix.encoder, supremix.optimizer, supremix.batch_size) == ("resnet50", "adam", 128)
    assert budget("car", "otd").optimizer == "adam"
    assert budget("car").optimizer is None  # another paper's table, moved to it


def test_a_paper_may_give_a_model_its_own_learning_rate():
    spent = budget("fgnet", "otd")
    rates = {
        name: build(name, "ranks", budget=spent).training.learning_rate for name in ("otd", "quadruplet", "siamese")
    }
    assert rates == {"otd": 1e-6, "quadruplet": 1e-6, "siamese": 1e-4}


def test_what_a_model_lacks_is_named():
    with pytest.raises(OrdinateError, match="settings: got 'window' for otd"):
        build("otd", "ranks", window=3)
    with pytest.raises(OrdinateError, match="model: got 'otd', which is for ranks"):
        build("otd", "continuous")
    with pytest.raises(OrdinateError, match="did you mean 'supremix'"):
        build("supremx", "continuous")


X, Y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 4


def fitted(name, task, y, **settings):
    small = {"epochs": (1, 1)}
    return build(name, task, **small, **settings).fit(X, y)


def test_options_of_the_loss_reach_it():
    model = fitted("supremix", "continuous", Y / 4, loss={"mix_negatives": False})
    assert (model.method_.supremix.options.mix_negatives, model.method_.supremix.options.mix_positives) == (False, True)
    with pytest.raises(OrdinateError, match="loss: got the option 'tempo'"):
        fitted("supremix", "continuous", Y / 4, loss={"tempo": 1})


def test_the_small_network_sees_the_numbers_of_the_file():
    model = build("supcr", "continuous", encoder="airfoil", embedding_dim=10, epochs=(1, 1)).fit(1000 + 7 * X, Y / 4)
    numbers, *layers = model.encoder_
    read = model.fitted.read(1000 + 7 * X).double()
    np.testing.assert_allclose(numbers(read), 1000 + 7 * X, rtol=1e-5)
    assert [layer.out_features for layer in layers[::2]] == [20, 30, 10]


def test_precautions_can_be_left_out_one_by_one():
    first = {kept: fitted("cloc", "ranks", Y, precautions=kept) for kept in (0, 2, 3)}
    margins = {kept: model.history_[0]["margin_0|1"] for kept, model in first.items()}
    assert margins[0] < 0.5 < margins[2] + 0.1
    assert margins[2] == margins[3]
    assert [model.method_.target_accuracy for model in first.values()] == [2.0, 2.0, 0.95]


@pytest.mark.parametrize("variant", [{"margins": 1.0}, {"precautions": 0}])
def test_variants_of_the_margins_keep_the_options_of_the_loss(variant):
    options = fitted("cloc", "ranks", Y, reduction="sum", **variant).method_.mmnp.options
    assert options == fitted("cloc", "ranks", Y, reduction="sum").method_.mmnp.options
    assert options.reduction == "sum"
