"""The demo on two small tables: models, pictures, reports and what was measured."""

import json
import re
from dataclasses import replace
from functools import partial

import pytest

import ordinate
from ordinate.commands import demo

SHORT = {
    "BlendClassifier": {"members": 2, "folds": 2, "epochs": 2},
    "BlendRegressor": {"members": 2, "folds": 2, "epochs": 2},
    "CLOCClassifier": {"epochs": (2, 2)},
    "SupReMixRegressor": {"epochs": (2, 1)},
}


@pytest.fixture
def short(monkeypatch, few_trees):
    """The models, trained for few epochs."""
    for name, epochs in SHORT.items():
        monkeypatch.setattr(demo, name, partial(getattr(demo, name), **epochs))
    for name in ("_wines", "_diabetes"):
        monkeypatch.setattr(demo, name, partial(first_rows, getattr(demo, name)))


def first_rows(read, count=160):
    job = read()
    return replace(job, X=job.X[:count], y=job.y[:count])


def mean_error_on(page, predictor):
    """The mean error of a predictor in the table of scores of a report, as it is shown."""
    row = re.search(rf'<th scope="row">{predictor}</th>(.*?)</tr>', page, re.DOTALL)[1]
    return re.search(r'data-metric="MAE"><span class="value">(\S+) ', row)[1]


def test_the_demo_leaves_models_with_reports_beside_simple_baselines(short, tmp_path, capsys):
    demo.demo(str(tmp_path / "out"), seed=0)
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    assert {"Blend", "CLOC", "gradient boosting", "linear model"} <= set(measured["wine"])
    assert {"Blend", "SupReMix", "linear model", "random forest"} <= set(measured["diabetes"])
    folders = ("wine-blend", "wine-cloc", "diabetes-blend", "diabetes-supremix")
    for folder in folders:
        model = ordinate.load(tmp_path / "out" / folder)
        assert type(model).__name__.lower().startswith(folder.split("-")[1])
    for name, models in measured.items():
        model = {"wine": "cloc", "diabetes": "supremix"}[name]
        page = (tmp_path / "out" / f"{name}-{model}" / "report.html").read_text()
        on_page = {baseline: mean_error_on(page, baseline) for baseline in models if baseline.islower()}
        assert on_page == {baseline: f"{round(models[baseline]['mae'], 3):.3g}" for baseline in on_page}
    printed = re.findall(r"^[* ] (\S.*?)  +((?: *-?\d+\.\d{3}){3,4})$", capsys.readouterr().out, re.MULTILINE)
    columns = {"wine": ("accuracy", "mae", "quadratic_weighted_kappa"), "diabetes": ("mae", "rmse", "r2", "spearman")}
    assert [(name, numbers.split()) for name, numbers in printed] == [
        (model, [f"{metrics[column]:z.3f}" for column in columns[name]])
        for name, models in measured.items()
        for model, metrics in models.items()
    ]
