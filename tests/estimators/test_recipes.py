import tomllib
from importlib.resources import files

import pytest

from ordinate.data.image_sets import IMAGE_SETS
from ordinate.errors import OrdinateError
from ordinate.estimators.recipes import METHODS, read_recipe, recipe_names


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_names_its_paper_set_and_method_and_builds_both_ways(name):
    for quick in (False, True):
        recipe = read_recipe(name, quick=quick)
        assert recipe.dataset in IMAGE_SETS
        assert name == f"{recipe.method}-{recipe.dataset}"
        assert "(" in recipe.title
        built = recipe.build(random_state=3)
        assert type(built) is METHODS[recipe.method]
        assert built.random_state == 3


def test_the_papers_own_settings_are_those_of_cloc_on_knees():
    built = read_recipe("cloc-koa").build()
    assert (built.encoder, built.phase_epochs, built.patience, built.learning_rate) == (
        "resnet50",
        [500, 500],
        10,
        1e-3,
    )
    assert (built.images.crop, built.images.equalize, built.images.pretrained) == ((120, 200), True, True)


def test_quick_changes_only_what_it_names():
    content = tomllib.loads(files("ordinate").joinpath("recipes", "cloc-koa.toml").read_text())
    full, quick = read_recipe("cloc-koa").settings, read_recipe("cloc-koa", quick=True).settings
    changed = {name for name in full if full[name] != quick[name]}
    assert changed <= set(content["quick"])
    assert {name for name in full["images"] if full["images"][name] != quick["images"][name]} <= set(
        content["quick"]["images"]
    )


def test_an_unknown_recipe_is_refused_with_the_nearest():
    with pytest.raises(OrdinateError, match=r"recipe: got 'koa-cloc', takes one of .*; did you mean 'cloc-koa'"):
        read_recipe("koa-cloc")
