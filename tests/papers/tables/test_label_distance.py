"""The label distance of every model that a table builds is the paper's: angular for gaze, L1 otherwise."""

import numpy as np
import pytest
import torch
from torch import nn

from ordinate.data.tables.features import TableFeatures
from ordinate.estimators.method import Facts
from ordinate.estimators.registry import models
from ordinate.model.labels import TargetLabels
from ordinate_papers.datasets.catalogue import TABLE_SETS
from ordinate_papers.tables.budgets import Budget, budget
from ordinate_papers.tables.catalogue import CATALOGUE
from ordinate_papers.tables.models import build, task_of

CELLS = [cell for table in CATALOGUE.values() for cells in table.cells for cell in cells if cell.choice.model]
BINNED = {"dex", "dldl_v2", "or", "corn"}


def expected(dataset):
    return "angular" if dataset == "mpiifacegaze" else "l1"


def distances_of(estimator):
    """The setting of an estimator, and what its method computes with; nothing where it has no label distance."""
    if "label_distance" not in estimator.get_params():
        return set()
    method = estimator.checked_method()
    method.labels = TargetLabels(np.zeros(2), is_vector=False)
    facts = Facts(TableFeatures([]), torch.rand(8, 2), 2, 4, n_batches=1, batch_size=8, is_validated=False)
    module = method.module(nn.Linear(3, 4), facts)
    return {estimator.label_distance, module.supcr.options.label_distance}


@pytest.mark.parametrize("dataset", TABLE_SETS)
def test_every_model_on_every_data_set(dataset):
    spent = Budget(**budget(dataset, quick=False).to_dict())  # A run keeps it in this form.
    found = set()
    for name in models():
        task = task_of(name, TABLE_SETS[dataset].task)
        if task is not None:
            found |= distances_of(build(name, task, budget=spent))
    assert found <= {expected(dataset)}
    assert found or TABLE_SETS[dataset].task == "ranks"


@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_of_every_table(quick):
    on_gaze = 0
    for cell in CELLS:
        run = cell.run(0, quick=quick)
        trained_on = cell.choice.conditions.get("source", run.dataset)
        spent = Budget(**run.facts["budget"])
        given = {name: value for name, value in run.settings.get("model", {}).items() if name != "projection"}
        if run.model.startswith("supcr"):
            found = distances_of(build(run.model, "continuous", budget=spent, **given))
            assert found == {expected(trained_on)}, (cell.choice, found)
            on_gaze += "angular" in found
    assert on_gaze > 10


def test_bins_of_gaze_years_and_degrees_are_the_papers_in_every_table():
    sizes = {"mpiifacegaze": (0.00873, 0.01745), "tuab": 1.0, "skyfinder": 1.0, "agedb_dir": 1.0}
    for name, table in CATALOGUE.items():
        for cell in (cell for cells in table.cells for cell in cells if name.startswith("supcr")):
            if cell.choice.model and cell.choice.model.removeprefix("supcr_") in BINNED:
                assert cell.choice.on_its_data["bin_size"] == sizes[cell.choice.dataset], (name, cell.choice)
