import tomllib
from importlib.resources import files

import pytest

from ordinate.data.series.options import SeriesOptions
from ordinate.data.volumes.options import VolumeOptions
from ordinate.errors import OrdinateError
from ordinate.estimators.recipes import read_recipe, recipe_names
from ordinate.estimators.registry import model
from ordinate.extensions import load_object
from ordinate_papers.datasets.catalogue import SETS


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_names_its_paper_set_and_method_and_builds_both_ways(name):
    for quick in (False, True):
        recipe = read_recipe(name, quick=quick)
        assert recipe.name == name
        assert recipe.dataset in SETS
        assert name.replace("ukbiobank", "uk_biobank") == f"{recipe.method}-{recipe.dataset}"
        assert "(" in recipe.title
        built = recipe.build(random_state=3)
        assert isinstance(built, next(map(load_object, model(recipe.method).estimators.values())))
        assert built.random_state == 3


def test_the_papers_own_settings_are_those_of_cloc_on_knees():
    built = read_recipe("cloc-koa").build()
    assert (built.encoder, built.epochs) == ("resnet50", (500, 500))
    assert (built.training.patience, built.training.learning_rate) == (10, 1e-3)
    assert (built.data.crop, built.data.equalize, built.data.pretrained) == ((120, 200), True, True)


def test_the_papers_own_settings_are_those_of_supremix_on_uk_biobank():
    built = read_recipe("supremix-ukbiobank").build()
    assert (built.encoder, built.temperature, built.window, built.batch_size) == ("resnet3d18", 0.5, 3, 64)
    assert built.data == VolumeOptions(size=100, spacing=2.0)
    quick = read_recipe("supremix-ukbiobank", quick=True).build()
    assert (quick.temperature, quick.data) == (0.5, VolumeOptions(size=32, spacing=6.0))


def test_the_papers_own_settings_are_those_of_brain_signals():
    tuab, hcp = read_recipe("supcr-tuab").build(), read_recipe("supremix-hcp_aging").build()
    assert (tuab.encoder, tuab.temperature, tuab.batch_size, tuab.epochs) == ("resnet1d24", 2.0, 256, (400, 100))
    assert tuab.data == SeriesOptions(crop=2000)
    assert read_recipe("supcr-tuab", quick=True).build().data == SeriesOptions(crop=400)
    assert (hcp.encoder, hcp.temperature, hcp.window, hcp.batch_size) == ("resnet1d", 0.5, 5, 64)
    assert hcp.data == SeriesOptions()


def test_quick_changes_only_what_it_names():
    content = tomllib.loads(files("ordinate_papers").joinpath("recipes", "cloc-koa.toml").read_text())
    full, quick = read_recipe("cloc-koa").settings, read_recipe("cloc-koa", quick=True).settings
    changed = {name for name in full if full[name] != quick[name]}
    assert changed <= set(content["quick"])
    for group in ("images", "training"):
        changed = {name for name in full[group] if full[group][name] != quick[group][name]}
        assert changed <= set(content["quick"][group])


def test_an_unknown_recipe_is_refused_with_the_nearest():
    with pytest.raises(OrdinateError, match=r"recipe: got 'koa-cloc', expected one of .*; did you mean 'cloc-koa'"):
        read_recipe("koa-cloc")
