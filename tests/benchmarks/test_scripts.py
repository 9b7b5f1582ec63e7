"""Benchmarks keep up with the library: scripts import, and every model that they compare can be built."""

import importlib
from dataclasses import replace

import pytest

import claims
import images
import pays
from ordinate_papers.datasets.catalogue import dataset
from ordinate_papers.tables.models import build, task_of
from small_recipes import small_recipe
from tests.benchmarks.conftest import BENCHMARKS


@pytest.mark.parametrize("script", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_a_script_can_be_imported(script):
    importlib.import_module(script)


@pytest.mark.parametrize("name", pays.EXPERIMENTS)
def test_models_of_promises_can_be_built(name):
    experiment = pays.EXPERIMENTS[name]
    for model in experiment.models:
        assert experiment.build(model, 3).random_state == 3


@pytest.mark.parametrize("name", images.RECIPES)
def test_models_of_images_can_be_built(name, tmp_path):
    recipe = small_recipe(images.RECIPES[name], is_larger=name not in images.SMALLER)
    for model in images.MODELS[name]:
        built = images.build(recipe, model, 3, tmp_path)
        assert built.random_state == 3
        assert built.training.checkpoint_dir == str(tmp_path)


@pytest.mark.parametrize("name", claims.CLAIMS)
def test_arms_of_claims_can_be_built(name):
    claim = claims.CLAIMS[name]
    for arm in claim.arms.values():
        budget = replace(claim.budget, **arm.budget)
        task = task_of(arm.model, dataset(claim.dataset).task)
        built = build(arm.model, task, budget=budget, seed=3, **arm.settings)
        assert built.random_state == 3
