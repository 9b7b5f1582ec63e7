"""The demo on the data that dependencies carry: models, pictures, reports and what was measured."""

import json
import sys
from functools import partial

import numpy as np
import pytest

import ordinate
from ordinate.commands import demo

SHORT = {
    "BlendClassifier": {"members": 2, "folds": 2, "epochs": 2},
    "BlendRegressor": {"members": 2, "folds": 2, "epochs": 2},
    "CLOCClassifier": {"epochs": (2, 2)},
    "OTDClassifier": {"epochs": 2},
    "SupCRRegressor": {"epochs": (2, 1)},
    "SupReMixRegressor": {"epochs": (2, 1)},
}


@pytest.fixture
def short(monkeypatch, few_trees):
    """The four methods and the blends, trained for few epochs."""
    for name, epochs in SHORT.items():
        monkeypatch.setattr(demo, name, partial(getattr(demo, name), **epochs))


def test_the_demo_leaves_models_with_reports_beside_simple_baselines(short, tmp_path, capsys):
    demo.demo(str(tmp_path / "out"), seed=0)
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    assert {"CLOC", "OTD", "gradient boosting", "cumulative link model"} <= set(measured["swd"])
    assert {"SupCR", "SupReMix", "ridge regression", "random forest"} <= set(measured["diabetes"])
    folders = ("swd-cloc", "swd-otd", "diabetes-supcr", "diabetes-supremix")
    for folder in folders:
        model = ordinate.load(tmp_path / "out" / folder)
        assert type(model).__name__.lower().startswith(folder.split("-")[1])
    for name, models in measured.items():
        page = (tmp_path / "out" / f"{name}-blend" / "report.html").read_text()
        for baseline in filter(str.islower, models):
            assert f"{round(models[baseline]['mae'], 3):.3g}" in page, baseline
    printed = capsys.readouterr().out
    cloc = next(line.split() for line in printed.splitlines() if line.startswith("* CLOC"))
    assert cloc[2] == f"{measured['swd']['CLOC']['accuracy']:.3f}"


def test_without_skordinal_the_ranks_are_quarters_of_diabetes(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "skordinal.datasets", None)
    job = demo.graded()
    assert (job.name, len(job.X)) == ("grades", 442)
    assert np.bincount(job.y).min() >= 109
    assert 'pip install "ordinate[demo]"' in capsys.readouterr().out
