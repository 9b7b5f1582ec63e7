"""Every recipe trains on generated data of its set's shape, by the optimizer of its paper."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ordinate import ImageOptions
from ordinate.estimators.recipes import read_recipe, recipe_names
from ordinate.training.adam import FusedAdam
from ordinate.training.optimization import Optimization
from ordinate_papers.datasets.catalogue import SETS
from tests.papers.datasets.trees import WORDS

ADAM = Optimization("adam", 1e-3, 0.0, "constant", 0.0)
PAPERS = {  # of every stage, the first where all are the same (CLOC 4.2, SupCR 4, SupReMix 4, OTD Appendix B)
    "cloc": [ADAM, ADAM],
    "supcr": [Optimization("sgd", 0.5, 1e-4, "cosine", 0.0), Optimization("sgd", 0.05, 0.0, "cosine", 0.0)],
    "supremix": [ADAM, ADAM],
    "otd": [replace(ADAM, learning_rate=1e-6)],
}
SHAPES = {"tuab": (21, 2200), "hcp_aging": (400, 60), "uk_biobank": (1, 91, 109, 91), "airfoil": (5,)}
RANKS = {"koa": 5, "retinamnist": 5, "adience": 8, "hid": 5, "idrid": 5, "bracs": 7, "clap2015": 79, "busi": 3,
         "fingers": 6, "fgnet": 4}  # fmt: skip
PIXELS = (100, 120)  # height and width of the images in the file
COUNT = 12


def few_features(embedding_dim):
    """A network of a few weights for images, series, volumes and words alike, in the place of a large one."""

    class Means(nn.Module):
        def __init__(self):
            super().__init__()
            self.scores = nn.LazyLinear(embedding_dim or 6)

        def forward(self, x):
            return self.scores(x.flatten(1)[:, :: max(1, x[0].numel() // 50)])

    return Means()


def draw(recipe):
    """Samples and labels in the shape of the recipe's set."""
    rng = np.random.default_rng(0)
    if recipe.kind == "text":
        return pd.DataFrame([[" ".join(rng.choice(WORDS, 5)) for _ in range(2)] for _ in range(COUNT)]), _targets(rng)
    if recipe.kind == "images":
        X = rng.integers(0, 256, (COUNT, recipe.settings["images"].get("channels", 3), *PIXELS), dtype=np.uint8)
    else:
        X = rng.standard_normal((COUNT, *SHAPES[recipe.dataset]), dtype=np.float32)
    if recipe.dataset == "mpiifacegaze":
        return X, rng.uniform(-0.7, 0.2, (COUNT, 2))
    ranks = min(RANKS.get(recipe.dataset, 0), COUNT // 3)
    return X, np.arange(COUNT) % ranks if ranks else _targets(rng)


def _targets(rng):
    return np.repeat(rng.uniform(0, 5, COUNT // 2), 2)


def trained(recipe, **changes):
    """The recipe's model after an epoch of every stage, without weights from elsewhere."""
    epochs = {"epochs": (1, 1)} if recipe.method == "cloc" else {"epochs": 1 if recipe.method == "otd" else (1, 1)}
    model = recipe.build(training__validation_fraction=0.0, random_state=0, **epochs, **changes)
    if isinstance(model.data, ImageOptions):
        model.data = replace(model.data, pretrained=False, workers=0)
    return model.fit(*draw(recipe))


def steps_are_the_papers(model, paper):
    for stage, expected in zip(model.method_.stages, PAPERS[paper], strict=True):
        assert stage.optimization == expected
        optimizer = stage.optimization.build(model.method_.parameters())
        assert isinstance(
            optimizer, {"adam": (FusedAdam, torch.optim.Adam), "sgd": torch.optim.SGD}[expected.optimizer]
        )
        assert optimizer.param_groups[0]["lr"] == expected.learning_rate
        assert expected.optimizer == "adam" or optimizer.param_groups[0]["momentum"] == 0.9
    assert all(np.isfinite(epoch["train_loss"]) for epoch in model.history_)


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_takes_a_step_as_its_paper_does(name):
    recipe = read_recipe(name)
    assert recipe.dataset in SETS
    model = trained(recipe, **({} if recipe.kind == "tables" else {"encoder": few_features}))
    steps_are_the_papers(model, recipe.method)
    assert model.transform(draw(recipe)[0]).shape == (COUNT, model.embedding_dim_)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in recipe_names() if name not in ("otd-busi", "otd-fingers")])
def test_every_recipe_takes_a_step_with_its_own_network(name):
    """But OTD's convolutions without padding or stride, a step of which takes minutes."""
    recipe = read_recipe(name)
    steps_are_the_papers(trained(recipe), recipe.method)
